#pragma once

#include <cstdint>
#include <vector>

#include "muffle/privacy/release.hpp"

namespace muffle::privacy {

/// Longest vector that distributed noise may cover; the bound on log_closeness is stated for it.
inline constexpr std::uint64_t kMaxDistributedLength = std::uint64_t{1} << 35;
/// What the calibration's margin covers with ease (docs/explanation/secure-aggregation.md): ln(1e-40).
inline constexpr double kMaxLogCloseness = -92.1034037197618;

/// Shares of the noise such that any `colluding` ranks, the coordinator counted among them, may pool what
/// they know (records, keys and shares) and the shares of the others are still the full noise. Public.
struct DistributedNoisePlan {
  int ranks = 1;      ///< P
  int colluding = 0;  ///< t: 0 <= t < P. 0: against those who see the release alone
  /// NoisePlan::parts with the share's sigma_lattice, the least integer s with (P - t) s^2 >= planned^2.
  std::vector<NoisePart> shares;
  /// Upper bound of ln(d tau) for every d up to kMaxDistributedLength and every coalition of at most t: the
  /// release is (eps + 2 d tau, e^{d tau} delta)-DP (docs/explanation/secure-aggregation.md, theorem 2).
  /// Minus infinity for one rank. Below ln(1e-40) in every plan, which the calibration's own margin covers.
  double log_closeness = 0.0;

  /// sqrt(P - t) s of a run of `shares`, rounded down, lattice units. Never below what was planned.
  double honest_sigma(const NoiseRun& share) const;
  /// sqrt(P) s: what the released numbers carry, lattice units.
  double total_sigma(const NoiseRun& share) const;
};

/// @throws ConfigError  t outside 0 .. P-1; a share too small for the theorem (s < 4: no real release comes
///                      near); a total beyond the sampler's range of 2^50 lattice units.
DistributedNoisePlan plan_distributed_noise(const NoisePlan& plan, int ranks, int colluding);

/// Upper bound of ln(d tau), tau = 10 sum_{k=1}^{P-1} exp(-2 pi^2 s^2 k / (k+1)), d = kMaxDistributedLength;
/// minus infinity for P = 1. Rounded up. (Kairouz, Liu & Steinke, ICML 2021, arXiv 2102.06387; its proof for
/// cosets is in docs/explanation/secure-aggregation.md.)
double log_closeness_bound(std::uint64_t share_sigma, int ranks);

/// One rank's share of the noise: a draw of round(N(0, s^2)) for each released number, from its own entropy,
/// before it embeds its records (the sampler's time depends on what it draws). Secret: whoever knows P - t
/// shares and the total knows the sum. Move-only; wiped; spent once.
class NoiseShare {
 public:
  /// @throws InvariantError  the plan covers no numbers or more than kMaxDistributedLength, or entropy fails.
  /// @param shares  of a DistributedNoisePlan or a SiteNoisePlan
  NoiseShare(const std::vector<NoisePart>& shares, EntropySource& entropy, const Heartbeat& heartbeat = {});

  /// False: seeded noise, for tests; the release is NOT PRIVATE if one rank's is.
  bool is_secure() const { return secure_; }
  /// This rank's partial sum with its share added, modulo 2^64. Consumes both. For a secure sum alone: the
  /// share is only a part of the noise. @throws InvariantError  lengths differ, or a second use.
  std::vector<std::uint64_t> cover(std::vector<std::uint64_t>&& partial) &&;

 private:
  Wiped<std::int64_t> noise_;
  bool secure_;
};

}  // namespace muffle::privacy
