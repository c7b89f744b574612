#include "muffle/round/parties.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/core/wipe.hpp"

namespace muffle::round {
namespace {

constexpr char kNotRevealed[] = "Nothing was revealed.";

/// Of a message that is no part of this round; the reader says what came of it.
[[noreturn]] void refuse(const std::string& what) { throw ProtocolError(what + " " + kNotRevealed); }

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

template <class List, class Project>
std::optional<std::size_t> place(const List& list, const crypto::SitePublicKey& key, const Project& project) {
  const auto at = std::ranges::find(list, key, project);
  if (at == list.end()) return std::nullopt;
  return static_cast<std::size_t>(at - list.begin());
}

crypto::PairContext pair_of(const ProposedRound& round, std::size_t site, std::size_t holder,
                            const crypto::ExchangePoint& site_point) {
  const HolderKey& h = round.proposal.holders[holder];
  return {round.id, round.proposal.sites[site].key, h.holder.key, site_point, h.point};
}

}  // namespace

ProposedRound::ProposedRound(const Message& message, const std::string& name)
    : id(message.header.id()),
      coordinator(message.header.sender),
      proposal(read_proposal(message.header, name)),
      noise(proposal.plan.noise, proposal.parties),
      length(proposal.plan.size()) {
  if (proposal.parties.missing_holders > 0)
    throw ConfigError(
        "key holders may be missing in this round, and this muffle makes no stand-ins for them.");
}

std::optional<std::size_t> ProposedRound::site(const crypto::SitePublicKey& key) const {
  return place(proposal.sites, key, [](const auto& s) { return s.key; });
}

std::optional<std::size_t> ProposedRound::holder(const crypto::SitePublicKey& key) const {
  return place(proposal.holders, key, [](const auto& h) { return h.holder.key; });
}

Contributor::Contributor(const ProposedRound& round, const crypto::SiteKey& key) : round_(round), key_(key) {
  if (!round.site(key.public_key()))
    throw ConfigError(
        fmt::format("the key of '{}' is none of the round's sites': this site is not invited.", key.name()));
}

std::string Contributor::contribute(embed::PartialSum&& sums, privacy::NoiseShare&& share,
                                    const release::Charge& /*charge*/, const std::string& charge_id,
                                    std::uint64_t records) const {
  Contribution body{.charge = charge_id, .records = records, .secure_noise = share.is_secure()};
  Wiped<std::uint64_t> values{std::move(share).cover(std::move(sums).take(embed::PartialSum::Key()))};
  require(values.values.size() == round_.length,
          "a contribution was to be made of another number of values than the round sums: this is a bug in "
          "muffle.");
  const crypto::ExchangeKey exchange = crypto::ExchangeKey::for_vector(round_.id, values.values);
  body.point = exchange.point();
  const std::size_t own = *round_.site(key_.public_key());
  std::vector<crypto::PairKey> pairs;
  for (std::size_t h = 0; h < round_.proposal.holders.size(); ++h) {
    pairs.emplace_back(exchange, pair_of(round_, own, h, body.point));
    body.commitments.push_back(pairs.back().commitment());
  }
  std::vector<crypto::PairKey> for_macs;
  for (std::size_t h = 0; h < pairs.size(); ++h)
    for_macs.emplace_back(exchange, pair_of(round_, own, h, body.point));
  for (crypto::PairKey& pair : pairs) std::move(pair).add_to(values.values);
  // The MACs are of all else that is signed, the masked vector's hash among it.
  SignedHeader header{.kind = MessageKind::kContribution, .round = round_.id, .answers = round_.id};
  header.body = body_of(body);
  header = sign(std::move(header), key_, values.values);
  const std::string under_macs = text_under_macs(header);
  for (const crypto::PairKey& pair : for_macs) body.macs.push_back(pair.mac(under_macs));
  header.body = body_of(body);
  header = sign(std::move(header), key_, values.values);
  return message_bytes(header, values.values);
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
  (void)read_contribution(header, round.proposal.holders.size());
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

std::string make_seal(const ProposedRound& round, const crypto::SiteKey& key,
                      std::vector<SignedHeader> contributions) {
  if (key.public_key() != round.coordinator)
    throw ConfigError(fmt::format("the key of '{}' is not that of the round's coordinator.", key.name()));
  const auto least = static_cast<std::size_t>(round.proposal.parties.least);
  if (contributions.size() < least)
    throw ConfigError(fmt::format("{} contributions are there, and the round needs {}: it cannot be sealed.",
                                  contributions.size(), least));
  std::ranges::sort(contributions, {}, [&](const SignedHeader& h) { return check_contribution(round, h); });
  SignedHeader header{.kind = MessageKind::kSeal, .round = round.id, .answers = round.id};
  header.body = body_of(Seal{std::move(contributions)});
  header = sign(std::move(header), key);
  (void)SealedRound(round, header);  // what no holder would open is not sealed
  return message_bytes(header);
}

KeyHolder::KeyHolder(const ProposedRound& round, const crypto::SiteKey& key, crypto::ExchangeKey round_key)
    : round_(round), key_(key), place_(0), round_key_(std::move(round_key)) {
  const std::optional<std::size_t> place = round.holder(key.public_key());
  if (!place)
    throw ConfigError(fmt::format("the key of '{}' is none of the round's key holders'.", key.name()));
  place_ = *place;
  if (round.proposal.holders[place_].point != round_key_.point())
    throw ConfigError(fmt::format("the round names another round key of '{}' than this one, number {}.",
                                  key.name(), round.proposal.holders[place_].number));
}

std::string KeyHolder::open(const SealedRound& seal, privacy::EntropySource& entropy,
                            const Heartbeat& heartbeat) && {
  Opening body{.objections = {}, .secure_noise = entropy.is_secure()};
  const auto top_ups = round_.noise.top_ups(static_cast<int>(seal.sites.size()));
  // Before anything secret is there that the sampler's time could tell of.
  const Wiped<std::int64_t> top_up{privacy::draw_top_up(top_ups, entropy, heartbeat)};
  Wiped<std::uint64_t> values{std::vector<std::uint64_t>(round_.length)};
  for (std::size_t i = 0; i < values.values.size(); ++i)
    values.values[i] = static_cast<std::uint64_t>(top_up.values[i]);
  const crypto::ExchangeKey round_key = std::move(round_key_);
  for (std::size_t i = 0; i < seal.sites.size(); ++i) {
    const SignedHeader& header = seal.seal.contributions[i];
    const Contribution contribution = read_contribution(header, round_.proposal.holders.size());
    crypto::PairKey pair(round_key, pair_of(round_, seal.sites[i], place_, contribution.point));
    if (!pair.has_made(contribution.macs[place_], text_under_macs(header)) ||
        pair.commitment() != contribution.commitments[place_])
      body.objections.push_back(header.sender);
    std::move(pair).add_to(values.values);
    if (heartbeat) heartbeat();
  }
  SignedHeader header{.kind = MessageKind::kOpening, .round = round_.id, .answers = seal.id};
  header.body = body_of(body);
  header = sign(std::move(header), key_, values.values);
  return message_bytes(header, values.values);
}

Summation::Summation(const ProposedRound& round, const SealedRound& seal)
    : round_(round),
      seal_(seal),
      total_(round.length),
      added_(seal.sites.size()),
      opened_(round.proposal.holders.size()) {}

void Summation::add_contribution(const Message& contribution) {
  const Sha256Digest id = contribution.header.id();
  const auto at =
      std::ranges::find(seal_.seal.contributions, id, [](const SignedHeader& h) { return h.id(); });
  if (at == seal_.seal.contributions.end())
    refuse(fmt::format("a contribution is not among those that were sealed, {}.", to_hex(id)));
  const auto i = static_cast<std::size_t>(at - seal_.seal.contributions.begin());
  if (added_[i]) refuse("a contribution was to be added twice.");
  added_[i] = true;
  secure_ = secure_ && read_contribution(contribution.header, opened_.size()).secure_noise;
  for (std::size_t n = 0; n < total_.size(); ++n) total_[n] += contribution.numbers[n];
}

void Summation::take_opening(const Message& opening) {
  require_of_round(round_, opening.header, MessageKind::kOpening, seal_.id);
  const std::optional<std::size_t> holder = round_.holder(opening.header.sender);
  if (!holder) refuse("an opening is of a key that is none of the round's key holders'.");
  if (opened_[*holder])
    refuse(fmt::format("'{}' has opened the seal already.", round_.proposal.holders[*holder].holder.name));
  if (opening.numbers.size() != round_.length)
    refuse("an opening has another number of values than the round.");
  const Opening body = read_opening(opening.header, seal_.sites.size());
  for (const crypto::SitePublicKey& key : body.objections) {
    const std::optional<std::size_t> site = round_.site(key);
    if (!site) refuse("an opening objects to a site that was not invited.");
    objections_.push_back(round_.proposal.sites[*site].name);
  }
  opened_[*holder] = true;
  secure_ = secure_ && body.secure_noise;
  for (std::size_t n = 0; n < total_.size(); ++n) total_[n] -= opening.numbers[n];
}

privacy::NoisySum Summation::finish() && {
  for (std::size_t i = 0; i < added_.size(); ++i) {
    if (!added_[i])
      refuse(fmt::format("the contribution of '{}' was sealed, and is missing.",
                         round_.proposal.sites[seal_.sites[i]].name));
  }
  for (std::size_t h = 0; h < opened_.size(); ++h) {
    if (!opened_[h])
      refuse(fmt::format("'{}' has not opened the seal.", round_.proposal.holders[h].holder.name));
  }
  privacy::NoisySum out{std::vector<std::int64_t>(total_.begin(), total_.end()), secure_};
  const auto sealed = static_cast<int>(seal_.sites.size());
  const auto holders = static_cast<int>(opened_.size());
  const auto carried = [&](std::size_t part, std::size_t run) {
    return round_.noise.total_sigma(sealed, holders, part, run);
  };
  if (const auto index = release::out_of_range(round_.proposal.plan, out.values, carried))
    refuse(fmt::format(
        "number {} of the sum is larger than records and noise can make it: somebody's vector is not what "
        "the "
        "protocol says{}. There is no release.",
        *index,
        objections_.empty() ? "" : fmt::format("; key holders object to {}", fmt::join(objections_, ", "))));
  return out;
}

}  // namespace muffle::round
