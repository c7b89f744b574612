#include "muffle/privacy/distributed_noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lattice_squares.hpp"
#include "muffle/core/error.hpp"
#include "muffle/privacy/aggregation.hpp"

namespace muffle::privacy {
namespace {

constexpr int kMaxRanks = 1 << 20;

constexpr char kNotPlanned[] =
    "noise was to be distributed that had not been planned: this is a bug in muffle.";

}  // namespace

double log_closeness_bound(std::uint64_t share_sigma, int ranks) {
  require(share_sigma >= 1 && ranks >= 1,
          "a bound was asked for no noise or no ranks: this is a bug in muffle.");
  if (ranks == 1) return -std::numeric_limits<double>::infinity();
  // The first of the P - 1 terms, k / (k + 1) = 1/2, is the largest. Below pi^2; the last factor and addend
  // are far more than the rounding errors.
  constexpr double kPiSquared = 9.8696;
  const auto s = static_cast<double>(share_sigma);
  const double d = std::ldexp(1.0, 35);
  static_assert(kMaxDistributedLength == std::uint64_t{1} << 35);
  return std::log(10.0) + std::log(d) + std::log(static_cast<double>(ranks - 1)) + 1e-9 -
         kPiSquared * s * s * (1 - 1e-12);
}

DistributedNoisePlan plan_distributed_noise(const NoisePlan& plan, int ranks, int colluding) {
  settings::Problems problems;
  require_valid(DistributedNoise{ranks, colluding});
  problems.unless(ranks <= kMaxRanks,
                  fmt::format("{} ranks take part, and it must be 1 to {}", ranks, kMaxRanks));
  problems.throw_if_any("the noise cannot be distributed", settings::Problems::kNotReleased);

  DistributedNoisePlan out;
  out.ranks = ranks;
  out.colluding = colluding;
  out.shares = plan.parts;
  std::uint64_t least = 0, most = 0;
  for (NoisePart& part : out.shares) {
    for (NoiseRun& run : part.runs) {
      require(run.sigma_lattice >= 1 && run.sigma_lattice <= kMaxSigmaLattice, kNotPlanned);
      run.sigma_lattice =
          least_root(square(run.sigma_lattice), static_cast<std::uint64_t>(ranks - colluding));
      least = least == 0 ? run.sigma_lattice : std::min(least, run.sigma_lattice);
      most = std::max(most, run.sigma_lattice);
    }
  }
  require(least > 0, kNotPlanned);
  // Theorem 2 adds up a tau for every number: the one with the least noise has the largest.
  out.log_closeness = log_closeness_bound(least, ranks);
  problems.unless(out.log_closeness <= kMaxLogCloseness,
                  fmt::format("each rank's share would have sigma {} lattice units, too few for the sum of "
                              "shares to pass for a Gaussian: use more lattice bits or a smaller epsilon",
                              least));
  const double total = out.total_sigma({1, 1.0, most});
  problems.unless(total <= static_cast<double>(kMaxSigmaLattice),
                  fmt::format("all {} shares together have sigma {:.6g} lattice units, beyond 2^50: use "
                              "fewer ranks or colluding ranks, or a larger epsilon",
                              ranks, total));
  problems.throw_if_any("the noise cannot be distributed", settings::Problems::kNotReleased);
  return out;
}

double DistributedNoisePlan::honest_sigma(const NoiseRun& share) const {
  const auto honest = static_cast<std::uint64_t>(ranks - colluding), s = share.sigma_lattice;
  const double root = std::sqrt(static_cast<double>(honest)) * static_cast<double>(s);
  // The planned sigma is a whole number at most as large: where one is that near, the comparison is exact.
  const auto whole = static_cast<std::uint64_t>(std::llround(root));
  const bool reached = square(whole) <= square(s) * honest;
  return std::fmax(root * (1 - 1e-15), reached ? static_cast<double>(whole) : 0.0);
}

double DistributedNoisePlan::total_sigma(const NoiseRun& share) const {
  return std::sqrt(static_cast<double>(ranks)) * static_cast<double>(share.sigma_lattice);
}

NoiseShare::NoiseShare(const std::vector<NoisePart>& shares, EntropySource& entropy,
                       const Heartbeat& heartbeat)
    : secure_(entropy.is_secure()) {
  const std::uint64_t n = length_of(shares);
  require(
      n > 0 && n <= kMaxDistributedLength,
      "a share of noise was asked for a vector without numbers, or with too many: this is a bug in muffle.");
  noise_.values = draw_noise(shares, entropy, heartbeat);
}

std::vector<std::uint64_t> NoiseShare::cover(std::vector<std::uint64_t>&& partial) && {
  std::vector<std::int64_t>& noise = noise_.values;
  require(!noise.empty(), "this share of noise was already spent, and noise is never used twice.");
  // Lengths are public; the sums are not.
  require(partial.size() == noise.size(), fmt::format("a partial sum has {} numbers, but its share of noise "
                                                      "{}: nothing was released. This is a bug in muffle.",
                                                      partial.size(), noise.size()));
  for (std::size_t i = 0; i < noise.size(); ++i) partial[i] += static_cast<std::uint64_t>(noise[i]);
  wipe(noise);
  noise.clear();  // spent
  return std::move(partial);
}

}  // namespace muffle::privacy
