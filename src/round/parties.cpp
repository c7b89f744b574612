#include "muffle/round/parties.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/core/wipe.hpp"

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

}  // namespace

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

}  // namespace muffle::round
