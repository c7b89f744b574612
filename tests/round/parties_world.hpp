#pragma once

#include <algorithm>
#include <numeric>

#include "crypto/mask_exchange.hpp"
#include "muffle/release/contribution_book.hpp"
#include "muffle/round/parties.hpp"
#include "support/made_up_charge.hpp"
#include "support/maps.hpp"
#include "support/raw_access.hpp"

// A round between institutions whose keys, sums and noise a test knows.
namespace muffle::round {

inline release::ReleasePlan plan_of(std::uint64_t records,
                                    const std::vector<std::size_t>& categories = {3, 4, 2}) {
  const schema::Schema schema = test::table_schema(categories, 2);
  privacy::PrivacySpec spec;
  spec.epsilon = 1.0;
  spec.max_records_per_person = 1;
  spec.adjacency = privacy::Adjacency::kAddRemoveOne;
  if (records > 0) spec.adjacency = privacy::Adjacency::kReplaceOne;
  return release::make_plan(
      {schema, {}, {test::named("all", test::make_map("pairs", {}, schema))}, spec, false, records});
}

/// A proposal's message.
inline std::string proposal_bytes(const release::Proposal& proposal, const crypto::SiteKey& coordinator) {
  release::SignedHeader header{.kind = release::MessageKind::kProposal};
  header.body = release::body_of(proposal);
  return release::message_bytes(release::sign(std::move(header), coordinator));
}

/// Everybody's keys, and what they send one another.
struct World {
  explicit World(privacy::RoundParties parties = {4, 4, 3, 1, 3, 1, 0}, std::uint64_t records = 0,
                 const std::vector<std::size_t>& categories = {3, 4, 2})
      : World(parties, plan_of(records, categories)) {}
  World(privacy::RoundParties parties, release::ReleasePlan plan) {
    release::Proposal proposal;
    proposal.title = "stays of 2026";
    proposal.plan = std::move(plan);
    proposal.parties = parties;
    for (int i = 0; i < parties.sites; ++i) {
      sites.push_back(crypto::SiteKey::generate("site" + std::to_string(i)));
      proposal.sites.push_back({sites.back().name(), sites.back().public_key()});
    }
    for (int h = 0; h < parties.holders; ++h) {
      holders.push_back(crypto::SiteKey::generate("holder" + std::to_string(h)));
      crypto::SecretBytes secret(32), same(32);
      for (int b = 0; b < 32; ++b)
        secret.get()[b] = same.get()[b] = static_cast<unsigned char>(31 * h + 7 * b + 1);
      proposal.holders.push_back({{holders.back().name(), holders.back().public_key()},
                                  static_cast<std::uint64_t>(h),
                                  crypto::ExchangeKey(std::move(secret)).point()});
      secrets.push_back(std::move(same));
    }
    proposal.contribute_until = 1'800'000'000;
    proposal.open_until = 1'800'600'000;
    if (parties.missing_holders > 0) proposal.stand_in_until = 1'801'200'000;
    proposed = proposal_bytes(proposal, coordinator);
  }
  ProposedRound round() const { return {release::parse_message(proposed, "proposal"), "proposal"}; }
  /// A round key, as often as a test needs it: a real holder's is used once.
  crypto::ExchangeKey round_key(std::size_t h) const {
    crypto::SecretBytes secret(32);
    std::copy(secrets[h].get(), secrets[h].get() + 32, secret.get());
    return crypto::ExchangeKey(std::move(secret));
  }
  static std::uint64_t seed_of_site(std::size_t i) { return 100 + i; }
  static std::uint64_t seed_of_holder(std::size_t h) { return 200 + h; }
  static std::vector<std::uint64_t> sums_of(const ProposedRound& round, std::size_t i) {
    std::vector<std::uint64_t> sums(round.length);
    for (std::size_t n = 0; n < sums.size(); ++n) sums[n] = 1000 * (i + 1) + n;
    return sums;
  }
  std::string contribution(const ProposedRound& round, std::size_t i) const {
    const auto entropy = privacy::insecure_seeded_entropy(seed_of_site(i));
    return Contributor(round, sites[i])
        .contribute(embed::TestAccess::make(sums_of(round, i)),
                    privacy::NoiseShare(round.noise.shares(), *entropy),
                    release::TestAccess::charge(release::charged_as(round.first())), 0);
  }
  SealedRound seal(const ProposedRound& round, const std::vector<release::Message>& contributions) const {
    std::vector<release::SignedHeader> headers;
    for (const release::Message& m : contributions) headers.push_back(m.header);
    return {round, release::parse_message(make_seal(round, coordinator, std::move(headers)), "seal").header};
  }
  release::Message opening(const ProposedRound& round, const SealedRound& sealed, std::size_t h) const {
    const auto entropy = privacy::insecure_seeded_entropy(seed_of_holder(h));
    return release::parse_message(KeyHolder(round, holders[h], round_key(h)).open(sealed, *entropy).message,
                                  "opening");
  }

  crypto::SiteKey coordinator = crypto::SiteKey::generate("coordinator");
  std::vector<crypto::SiteKey> sites, holders;
  std::vector<crypto::SecretBytes> secrets;
  std::string proposed;
};

/// What is released, minus all noise that was drawn: everybody's seeds are known here.
/// @param holders  who have opened
inline std::vector<std::uint64_t> without_noise(const privacy::NoisySum& noisy, const ProposedRound& round,
                                                const std::vector<std::size_t>& sites,
                                                const std::vector<std::size_t>& holders) {
  std::vector<std::uint64_t> out(noisy.values.begin(), noisy.values.end());
  const auto take_off = [&](const std::vector<std::int64_t>& noise, bool added) {
    for (std::size_t n = 0; n < out.size(); ++n)
      out[n] -= static_cast<std::uint64_t>(noise[n]) * (added ? 1 : ~std::uint64_t{0});
  };
  for (const std::size_t i : sites)
    take_off(
        privacy::draw_noise(round.noise.shares(), *privacy::insecure_seeded_entropy(World::seed_of_site(i))),
        true);
  for (const std::size_t h : holders)
    take_off(privacy::draw_top_up(round.noise.top_ups(static_cast<int>(sites.size())),
                                  *privacy::insecure_seeded_entropy(World::seed_of_holder(h))),
             false);
  return out;
}
/// Likewise, of the first so many.
inline std::vector<std::uint64_t> without_noise(const privacy::NoisySum& noisy, const ProposedRound& round,
                                                const std::vector<std::size_t>& sites, std::size_t holders) {
  std::vector<std::size_t> first(holders);
  std::iota(first.begin(), first.end(), std::size_t{0});
  return without_noise(noisy, round, sites, first);
}

}  // namespace muffle::round
