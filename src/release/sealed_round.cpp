#include "muffle/release/sealed_round.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "muffle/core/error.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::release {
namespace {

/// A number of a sum with somebody's masks still in it is uniform modulo 2^64, and passes for one in range
/// with a chance of about 1/2 at most.
constexpr std::size_t kTellingNumbers = 64;
constexpr char kNotRevealed[] = "Nothing was revealed.";

/// Of a message that is no part of this round; the reader says what came of it.
[[noreturn]] void refuse(const std::string& what) { throw ProtocolError(what + " " + kNotRevealed); }

template <class List, class Project>
std::optional<std::size_t> place(const List& list, const crypto::SitePublicKey& key, const Project& project) {
  const auto at = std::ranges::find(list, key, project);
  if (at == list.end()) return std::nullopt;
  return static_cast<std::size_t>(at - list.begin());
}

}  // namespace

void require_of_round(const ProposedRound& round, const SignedHeader& header, MessageKind kind,
                      const Sha256Digest& answers) {
  if (header.kind != kind)
    refuse(fmt::format("a {} was needed, and this is a {}.", name_of(kind), name_of(header.kind)));
  if (header.round != round.id)
    refuse(fmt::format("this {} is of another round, {}.", name_of(kind), to_hex(header.round)));
  if (header.answers != answers)
    refuse(fmt::format("this {} answers another message than the round has, {}.", name_of(kind),
                       to_hex(header.answers)));
}

ProposedRound::ProposedRound(const Message& message, const std::string& name)
    : id(message.header.id()),
      coordinator(message.header.sender),
      proposal(read_proposal(message.header, name)),
      summed(proposal.plan.rounds() > 1 ? proposal.plan.of_round(proposal.number()) : proposal.plan),
      noise(summed.noise, proposal.parties),
      length(summed.size()) {}

std::uint64_t most_bytes_sealed(const Proposal& p) {
  constexpr std::size_t kLongestId = 128;
  const std::size_t m = p.holders.size();
  Contribution body{.commitments = std::vector<crypto::PairCommitment>(m),
                    .macs = std::vector<crypto::PairMac>(m),
                    .charge = std::string(32, '0'),
                    .data_id = std::string(kLongestId, '0'),
                    .records = std::numeric_limits<std::uint64_t>::max(),
                    .secure_noise = false};
  if (p.parties.missing_holders > 0) body.boxes.assign(m, std::string(2 * box_bytes(m), '0'));
  SignedHeader header{.kind = MessageKind::kContribution};
  header.body = body_of(body);
  header.numbers = std::numeric_limits<std::uint64_t>::max();
  return header_json(header).dump().size() + 1;  // and a comma
}

Sum sum_in(const ProposedRound& round, const SignedHeader& header) {
  return read_sum(header, round.proposal.holders.size(),
                  static_cast<std::size_t>(round.proposal.parties.missing_holders));
}

std::uint64_t ProposedRound::most_release_bytes() const {
  constexpr std::uint64_t kMostOfItsHeader = std::uint64_t{64} << 20;  // who took part in each of its rounds
  return most_bytes(proposal.plan.size()) + kMostOfItsHeader;
}

std::optional<std::size_t> ProposedRound::site(const crypto::SitePublicKey& key) const {
  return place(proposal.sites, key, [](const auto& s) { return s.key; });
}

std::optional<std::size_t> ProposedRound::holder(const crypto::SitePublicKey& key) const {
  return place(proposal.holders, key, [](const auto& h) { return h.holder.key; });
}

std::size_t check_contribution(const ProposedRound& round, const SignedHeader& header) {
  require_of_round(round, header, MessageKind::kContribution, round.id);
  const std::optional<std::size_t> site = round.site(header.sender);
  if (!site)
    refuse(fmt::format("a contribution is of a key that was not invited, {}.", to_hex(header.sender)));
  const std::string& name = round.proposal.sites[*site].name;
  if (header.numbers != round.length)
    refuse(fmt::format("the contribution of '{}' has {} numbers, and the round sums {}.", name,
                       header.numbers, round.length));
  (void)read_contribution(header, round.proposal.holders.size(), round.shares_keys());
  return *site;
}

SealedRound::SealedRound(const ProposedRound& round, const SignedHeader& header)
    : id(header.id()), seal(read_seal(header, round.proposal.sites.size())) {
  require_of_round(round, header, MessageKind::kSeal, round.id);
  if (header.sender != round.coordinator || header.numbers != 0)
    refuse("this seal is not the coordinator's.");
  for (const SignedHeader& contribution : seal.contributions) {
    const std::size_t site = check_contribution(round, contribution);
    if (!sites.empty() && site <= sites.back())
      refuse("a seal counts a site twice, or not in the proposal's order.");
    sites.push_back(site);
  }
  if (sites.size() < static_cast<std::size_t>(round.proposal.parties.least))
    refuse(fmt::format("a seal counts {} contributions, and the round needs {}.", sites.size(),
                       round.proposal.parties.least));
}

const SignedHeader* SealedRound::contribution_of(std::size_t site) const {
  const auto at = std::ranges::lower_bound(sites, site);
  if (at == sites.end() || *at != site) return nullptr;
  return &seal.contributions[static_cast<std::size_t>(at - sites.begin())];
}

Opening check_opening(const ProposedRound& round, const SealedRound& seal, const SignedHeader& header) {
  require_of_round(round, header, MessageKind::kOpening, seal.id);
  if (!round.holder(header.sender))
    refuse("an opening is of a key that is none of the round's key holders'.");
  if (header.numbers != round.length) refuse("an opening has another number of values than the round.");
  Opening body = read_opening(header, seal.sites.size());
  for (const crypto::SitePublicKey& key : body.objections) {
    if (!round.site(key)) refuse("an opening objects to a site that was not invited.");
  }
  return body;
}

Summation::Summation(const ProposedRound& round, const SealedRound& seal)
    : round_(round),
      seal_(seal),
      total_(round.length),
      added_(seal.sites.size()),
      opened_(round.proposal.holders.size()),
      stand_ins_(round, seal) {}

void Summation::add_contribution(const Message& contribution) {
  const Sha256Digest id = contribution.header.id();
  const auto at =
      std::ranges::find(seal_.seal.contributions, id, [](const SignedHeader& h) { return h.id(); });
  if (at == seal_.seal.contributions.end())
    refuse(fmt::format("a contribution is not among those that were sealed, {}.", to_hex(id)));
  const auto i = static_cast<std::size_t>(at - seal_.seal.contributions.begin());
  if (added_[i]) refuse("a contribution was to be added twice.");
  added_[i] = true;
  secure_ =
      secure_ && read_contribution(contribution.header, opened_.size(), round_.shares_keys()).secure_noise;
  for (std::size_t n = 0; n < total_.size(); ++n) total_[n] += contribution.numbers[n];
}

void Summation::take_opening(const Message& opening) {
  const Opening body = check_opening(round_, seal_, opening.header);
  const std::optional<std::size_t> holder = round_.holder(opening.header.sender);
  if (opened_[*holder])
    refuse(fmt::format("'{}' has opened the seal already.", round_.proposal.holders[*holder].holder.name));
  for (const crypto::SitePublicKey& key : body.objections)
    objections_.push_back(round_.proposal.sites[*round_.site(key)].name);
  opened_[*holder] = opening.header.id();
  secure_ = secure_ && body.secure_noise;
  for (std::size_t n = 0; n < total_.size(); ++n) total_[n] -= opening.numbers[n];
}

void Summation::take_stand_in(const AskedRound& request, const SignedHeader& stand_in) {
  stand_ins_.take(request, stand_in);
}

std::vector<OpenedBy> Summation::opened() const {
  std::vector<OpenedBy> out(opened_.size());
  for (std::size_t h = 0; h < opened_.size(); ++h) {
    out[h].opening = opened_[h];
    if (!opened_[h]) out[h].stand_ins = stand_ins_.used(h);
  }
  return out;
}

std::vector<std::size_t> Summation::wrong_stand_ins() const {
  std::vector<std::size_t> out;
  for (std::size_t h = 0; h < opened_.size(); ++h) {
    if (opened_[h]) continue;
    for (const std::size_t wrong : stand_ins_.wrong(h)) out.push_back(wrong);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

privacy::NoisySum Summation::finish() && {
  for (std::size_t i = 0; i < added_.size(); ++i) {
    if (!added_[i])
      refuse(fmt::format("the contribution of '{}' was sealed, and is missing.",
                         round_.proposal.sites[seal_.sites[i]].name));
  }
  int openings = 0;
  for (std::size_t h = 0; h < opened_.size(); ++h) {
    if (opened_[h]) {
      ++openings;
    } else if (stand_ins_.used(h).empty()) {
      refuse(fmt::format("'{}' has not opened the seal{}.", round_.proposal.holders[h].holder.name,
                         round_.shares_keys() ? ", and too few stand in for it" : ""));
    } else {
      stand_ins_.take_off(h, total_);
    }
  }
  privacy::NoisySum out{std::vector<std::int64_t>(total_.begin(), total_.end()), secure_};
  const auto sealed = static_cast<int>(seal_.sites.size());
  const auto carried = [&](std::size_t part, std::size_t run) {
    return round_.noise.total_sigma(sealed, openings, part, run);
  };
  if (const auto index = out_of_range(round_.summed, out.values, carried))
    refuse(fmt::format(
        "number {} of the sum is larger than records and noise can make it: somebody's vector is not what "
        "the protocol says{}. There is no release.",
        *index,
        objections_.empty() ? "" : fmt::format("; key holders object to {}", fmt::join(objections_, ", "))));
  if (!objections_.empty() && out.values.size() < kTellingNumbers)
    refuse(
        fmt::format("key holders object to {}, and a sum of {} numbers does not tell who is right. There is "
                    "no release.",
                    fmt::join(objections_, ", "), out.values.size()));
  return out;
}

}  // namespace muffle::release
