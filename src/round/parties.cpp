#include "muffle/round/parties.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/core/wipe.hpp"
#include "muffle/release/contribution_book.hpp"
#include "muffle/round/covered.hpp"

namespace muffle::round {

using release::Contribution;
using release::MessageKind;
using release::Opening;
using release::Seal;
using release::SignedHeader;

namespace {

crypto::PairContext pair_of(const ProposedRound& round, std::size_t site, std::size_t holder,
                            const crypto::ExchangePoint& site_point) {
  const release::HolderKey& h = round.proposal.holders[holder];
  return {round.id, round.proposal.sites[site].key, h.holder.key, site_point, h.point};
}

/// Each holder's shares of the keys toward the others, in the proposal's order, in a box for its eyes alone.
std::vector<std::string> boxes_of(const ProposedRound& round, const std::vector<crypto::PairKey>& pairs) {
  constexpr std::size_t kShare = sizeof(crypto::KeyShare);
  const std::size_t m = pairs.size();
  const auto least = m - static_cast<std::size_t>(round.proposal.parties.missing_holders);
  std::vector<crypto::SecretBytes> split;
  for (const crypto::PairKey& pair : pairs) split.push_back(pair.stream().split(m, least));
  std::vector<std::string> out;
  for (std::size_t g = 0; g < m; ++g) {
    const crypto::SecretBytes shares((m - 1) * kShare);
    unsigned char* next = shares.get();
    for (std::size_t h = 0; h < m; ++h) {
      if (h != g) next = std::copy_n(split[h].get() + g * kShare, kShare, next);
    }
    const std::string box = pairs[g].box({shares.get(), (m - 1) * kShare});
    out.push_back(to_hex({reinterpret_cast<const unsigned char*>(box.data()), box.size()}));
  }
  return out;
}

/// Opens a holder's own box into its shares of the seal's site. @returns whether it is good.
bool open_box(const Contribution& contribution, const crypto::PairKey& pair, std::size_t own,
              std::size_t site, crypto::HeldShares& into) {
  constexpr std::size_t kShare = sizeof(crypto::KeyShare);
  const std::size_t m = contribution.boxes.size();
  std::vector<unsigned char> box(release::box_bytes(m));
  if (!crypto::from_hex(contribution.boxes[own], box)) return false;
  const crypto::SecretBytes shares((m - 1) * kShare);
  if (!pair.open_box({reinterpret_cast<const char*>(box.data()), box.size()},
                     {shares.get(), (m - 1) * kShare}))
    return false;
  const unsigned char* next = shares.get();
  for (std::size_t h = 0; h < m; ++h) {
    if (h == own) continue;
    std::copy_n(next, kShare, into.at(site, h).data());
    next += kShare;
  }
  return true;
}

}  // namespace

Contributor::Contributor(const ProposedRound& round, const crypto::SiteKey& key) : round_(round), key_(key) {
  if (!round.site(key.public_key()))
    throw ConfigError(
        fmt::format("the key of '{}' is none of the round's sites': this site is not invited.", key.name()));
}

std::string Contributor::contribute(embed::PartialSum&& sums, privacy::NoiseShare&& share,
                                    const release::Charge& charge, std::uint64_t records) const {
  require(charge.run() == release::charged_as(round_.first()),
          "a contribution was to be made for another release's charge: this is a bug in muffle.");
  Covered covered(std::move(sums), std::move(share));
  std::vector<std::uint64_t>& values = covered.values.values;
  Contribution body{.charge = charge.id(),
                    .data_id = charge.data_id(),
                    .records = records,
                    .secure_noise = covered.secure_noise};
  require(values.size() == round_.length,
          "a contribution was to be made of another number of values than the round sums: this is a bug in "
          "muffle.");
  const crypto::ExchangeKey exchange = crypto::ExchangeKey::for_vector(round_.id, values);
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
  if (round_.shares_keys()) body.boxes = boxes_of(round_, for_macs);
  for (crypto::PairKey& pair : pairs) std::move(pair).add_to(values);
  // The MACs are of all else that is signed, the masked vector's hash among it.
  SignedHeader header{.kind = MessageKind::kContribution, .round = round_.id, .answers = round_.id};
  header.body = body_of(body);
  header = sign(std::move(header), key_, values);
  const std::string under_macs = text_under_macs(header);
  for (const crypto::PairKey& pair : for_macs) body.macs.push_back(pair.mac(under_macs));
  header.body = body_of(body);
  header = sign(std::move(header), key_, values);
  return message_bytes(header, values);
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

KeyHolder::Opened KeyHolder::open(const SealedRound& seal, privacy::EntropySource& entropy,
                                  const Heartbeat& heartbeat) && {
  Opening body{.objections = {}, .secure_noise = entropy.is_secure()};
  const auto top_ups = round_.noise.top_ups(static_cast<int>(seal.sites.size()));
  // Before anything secret is there that the sampler's time could tell of.
  const Wiped<std::int64_t> top_up{privacy::draw_top_up(top_ups, entropy, heartbeat)};
  Wiped<std::uint64_t> values{std::vector<std::uint64_t>(round_.length)};
  for (std::size_t i = 0; i < values.values.size(); ++i)
    values.values[i] = static_cast<std::uint64_t>(top_up.values[i]);
  const crypto::ExchangeKey round_key = std::move(round_key_);
  std::optional<crypto::HeldShares> shares;
  if (round_.shares_keys()) shares.emplace(seal.id, seal.sites.size(), round_.proposal.holders.size());
  for (std::size_t i = 0; i < seal.sites.size(); ++i) {
    const SignedHeader& header = seal.seal.contributions[i];
    const Contribution contribution =
        read_contribution(header, round_.proposal.holders.size(), round_.shares_keys());
    crypto::PairKey pair(round_key, pair_of(round_, seal.sites[i], place_, contribution.point));
    if (!pair.has_made(contribution.macs[place_], text_under_macs(header)) ||
        pair.commitment() != contribution.commitments[place_] ||
        (shares && !open_box(contribution, pair, place_, i, *shares)))
      body.objections.push_back(header.sender);
    std::move(pair).add_to(values.values);
    if (heartbeat) heartbeat();
  }
  SignedHeader header{.kind = MessageKind::kOpening, .round = round_.id, .answers = seal.id};
  header.body = body_of(body);
  header = sign(std::move(header), key_, values.values);
  return {message_bytes(header, values.values), std::move(shares)};
}

std::string make_stand_in_request(const ProposedRound& round, const SealedRound& seal,
                                  const crypto::SiteKey& key, const std::vector<std::size_t>& missing) {
  release::StandInRequest body;
  for (const std::size_t h : missing) body.missing.push_back(round.proposal.holders.at(h).holder.key);
  SignedHeader header{.kind = MessageKind::kStandInRequest, .round = round.id, .answers = seal.id};
  header.body = body_of(body);
  header = sign(std::move(header), key);
  (void)release::AskedRound(round, seal, header);  // what nobody would answer is not asked
  return message_bytes(header);
}

std::optional<std::string> make_stand_in(const ProposedRound& round, const SealedRound& seal,
                                         const release::AskedRound& request, const crypto::SiteKey& key,
                                         const crypto::HeldShares& shares,
                                         const std::vector<std::size_t>& opened) {
  const std::size_t own = round.holder(key.public_key()).value();
  if (std::ranges::binary_search(request.missing, own))
    throw ProtocolError(
        "the coordinator says that this key holder is missing, and asks others for its keys, though it has "
        "opened the seal. It says nothing to that; ask the coordinator, and tell the other key holders.");
  release::StandIn body;
  for (const std::size_t h : request.missing) {
    if (std::ranges::count(opened, h) > 0) continue;
    release::StandIn::Missing& m = body.missing.emplace_back();
    m.holder = round.proposal.holders[h].holder.key;
    for (std::size_t s = 0; s < seal.sites.size(); ++s) m.shares.push_back(shares.share(own, s, h).bytes);
  }
  if (body.missing.empty()) return std::nullopt;
  SignedHeader header{.kind = MessageKind::kStandIn, .round = round.id, .answers = request.id};
  header.body = body_of(body);
  return message_bytes(sign(std::move(header), key));
}

}  // namespace muffle::round
