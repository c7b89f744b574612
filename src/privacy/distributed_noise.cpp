#include "muffle/privacy/distributed_noise.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <cmath>
#include <limits>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/privacy/gaussian.hpp"
#include "problems.hpp"

namespace muffle::privacy {
namespace {

__extension__ using Uint128 = unsigned __int128;

/// What the calibration's margin covers with ease (docs/secure-aggregation.md): ln(1e-30).
constexpr double kMaxLogCloseness = -69.0775527898214;

constexpr int kMaxRanks = 1 << 20;

/// The least integer s with parts s^2 >= sigma^2; sigma <= 2^50 and parts <= 2^20: the products fit.
std::uint64_t least_share(std::uint64_t sigma, std::uint64_t parts) {
  const Uint128 wanted = Uint128{sigma} * sigma;
  std::uint64_t low = 0, high = sigma;  // low fails, high holds
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (Uint128{middle} * middle * parts >= wanted ? high : low) = middle;
  }
  return high;
}

template <class T>
void wipe(std::vector<T>& values) {
  if (!values.empty()) sodium_memzero(values.data(), values.size() * sizeof(T));
  values.clear();
}

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
  Problems problems;
  if (ranks < 1 || ranks > kMaxRanks)
    problems.add(fmt::format("{} ranks take part, and it must be 1 to {}", ranks, kMaxRanks));
  if (colluding < 0 || colluding >= ranks) {
    problems.add(
        fmt::format("{} of {} ranks may collude, but at least one must be honest: "
                    "privacy.colluding_ranks is a number from 0 to {}",
                    colluding, ranks, ranks - 1));
  }
  problems.throw_if_any("the noise cannot be distributed");
  require(plan.sigma_lattice >= 1 && plan.sigma_lattice <= kMaxSigmaLattice,
          "noise was to be distributed that had not been planned: this is a bug in muffle.");

  DistributedNoisePlan out;
  out.ranks = ranks;
  out.colluding = colluding;
  const auto honest = static_cast<std::uint64_t>(ranks - colluding);
  out.share_sigma = least_share(plan.sigma_lattice, honest);
  const auto s = static_cast<double>(out.share_sigma);
  // Exactly, honest_sigma >= sigma_lattice; in doubles it may come out one step below.
  out.honest_sigma = std::fmax(std::sqrt(static_cast<double>(honest)) * s * (1 - 1e-15),
                               static_cast<double>(plan.sigma_lattice));
  out.total_sigma = std::sqrt(static_cast<double>(ranks)) * s;
  out.log_closeness = log_closeness_bound(out.share_sigma, ranks);
  if (!(out.log_closeness <= kMaxLogCloseness)) {
    problems.add(
        fmt::format("each rank's share would have sigma {} lattice units, too few for the sum of shares "
                    "to pass for a Gaussian: use more lattice bits or a smaller epsilon",
                    out.share_sigma));
  }
  if (!(out.total_sigma <= static_cast<double>(kMaxSigmaLattice))) {
    problems.add(
        fmt::format("all {} shares together have sigma {:.6g} lattice units, beyond 2^50: use fewer "
                    "ranks or colluding ranks, or a larger epsilon",
                    ranks, out.total_sigma));
  }
  problems.throw_if_any("the noise cannot be distributed");
  return out;
}

NoiseShare::NoiseShare(std::size_t n, const DistributedNoisePlan& plan, EntropySource& entropy)
    : secure_(entropy.is_secure()) {
  require(
      n > 0 && n <= kMaxDistributedLength,
      "a share of noise was asked for a vector without numbers, or with too many: this is a bug in muffle.");
  noise_ = draw_noise(n, plan.share_sigma, entropy);
}

NoiseShare::~NoiseShare() { wipe(noise_); }

std::vector<std::uint64_t> NoiseShare::cover(std::vector<std::uint64_t>&& partial) && {
  require(!noise_.empty(), "this share of noise was already spent, and noise is never used twice.");
  // Lengths are public; the sums are not.
  require(
      partial.size() == noise_.size(),
      fmt::format("a partial sum has {} numbers, but its share of noise {}: nothing was released. This is a "
                  "bug in muffle.",
                  partial.size(), noise_.size()));
  for (std::size_t i = 0; i < noise_.size(); ++i) partial[i] += static_cast<std::uint64_t>(noise_[i]);
  wipe(noise_);
  return std::move(partial);
}

}  // namespace muffle::privacy
