#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "crypto/mask_exchange.hpp"
#include "muffle/job/drive.hpp"
#include "support/made_up_charge.hpp"
#include "support/raw_access.hpp"

// Rounds with known sums and known noise.
namespace muffle::test {

inline constexpr std::size_t kNumbers = 50;

inline privacy::NoisePlan noise_of(std::size_t n = kNumbers) {
  privacy::NoisePlan plan;
  plan.parts = {{{{n, 1.0, 100'000}}, 1}};
  return plan;
}

inline privacy::AggregationMode mode_of(int sites, bool masked, bool distributed = false, int colluding = 0) {
  if (distributed) return privacy::DistributedNoise{sites, colluding};
  if (masked) return privacy::Masked{sites};
  return privacy::SingleCoordinator{sites};
}

inline job::Proposal proposal_of(const privacy::NoisePlan& noise, const privacy::AggregationMode& mode) {
  release::ReleasePlan plan;
  plan.noise = noise;
  return {std::move(plan), mode, 1, "records"};
}

inline job::ProposedRound round_of(int sites, bool masked, bool distributed = false, int colluding = 0) {
  return job::ProposedRound(proposal_of(noise_of(), mode_of(sites, masked, distributed, colluding)));
}

inline std::unique_ptr<privacy::EntropySource> entropy_at(int site) {
  return privacy::insecure_seeded_entropy(static_cast<std::uint64_t>(site) + 9);
}

/// From its beginning to embedded, with contribution(party) as this party's sums.
inline void embed(job::Contributor& own, job::Together& together) {
  job::agree_on_keys(own, together, nullptr);
  job::draw_shares(own, together, *entropy_at(together.party()), [](std::string_view) {});
  own.embed(embed::TestAccess::make(contribution(together.party(), kNumbers)));
}

/// From embedded to published. @returns the released numbers, at the coordinator.
inline privacy::NoisySum finish(job::Contributor& own, job::Together& together) {
  own.close();
  std::optional<job::Coordinator> coordinator;
  if (together.coordinates()) {
    const release::Charge charge = release::TestAccess::charge();
    coordinator.emplace(own.round()).draw_noise(charge, entropy_at(0).get(), {});
    own.note_charge(charge);
  }
  return job::sum_up(own, coordinator ? &*coordinator : nullptr, together);
}

/// All of a round. @returns the released numbers, at the coordinator.
inline privacy::NoisySum run_round(job::Together& together, const job::ProposedRound& round) {
  job::Contributor own(round, together.party());
  embed(own, together);
  return finish(own, together);
}

/// What comes out: the sums, with the coordinator's noise or every party's share.
inline std::vector<std::int64_t> expected_release(int sites, const job::ProposedRound& round) {
  std::vector<std::uint64_t> sum(kNumbers, 0);
  for (int s = 0; s < sites; ++s) add_to(sum, contribution(s, kNumbers));
  const auto add_noise = [&](const std::vector<privacy::NoisePart>& parts, int site) {
    const auto noise = privacy::draw_noise(parts, *entropy_at(site));
    for (std::size_t i = 0; i < kNumbers; ++i) sum[i] += static_cast<std::uint64_t>(noise[i]);
  };
  if (!round.shares) add_noise(round.summed.noise.parts, 0);
  for (int s = 0; s < sites && round.shares; ++s) add_noise(round.shares->shares, s);
  return {sum.begin(), sum.end()};
}

}  // namespace muffle::test
