#include "recompute.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace muffle::release {
namespace {

constexpr long double kLeastMultiplier = 1e-4L, kMostMultiplier = 1e7L;

long double normal_cdf(long double x) { return std::erfc(-x / std::numbers::sqrt2_v<long double>) / 2; }

}  // namespace

long double plain_delta(double epsilon, long double mu) {
  const long double centre = epsilon / mu;
  return normal_cdf(mu / 2 - centre) -
         std::exp(static_cast<long double>(epsilon)) * normal_cdf(-mu / 2 - centre);
}

long double plain_multiplier(double epsilon, double delta) {
  long double low = std::log(kLeastMultiplier), high = std::log(kMostMultiplier);
  for (int i = 0; i < 100; ++i) {
    const long double middle = (low + high) / 2;
    (plain_delta(epsilon, std::exp(-middle)) > delta ? low : high) = middle;
  }
  return std::exp(high);
}

long double plain_sensitivity(const privacy::SensitivityInput& input) {
  long double norm_squares = 0, distance_squares = 0;
  for (const features::BlockBound& block : input.blocks) {
    const long double square = static_cast<long double>(block.norm) * block.norm;
    norm_squares += square;
    distance_squares += (block.nonnegative_kernel ? 2 : 4) * square;
  }
  const long double lambda = input.counts ? input.counts_weight : 0.0;
  const long double own = norm_squares + lambda * lambda;
  const long double squares =
      input.adjacency == privacy::Adjacency::kReplaceOne ? std::max(distance_squares, 2 * own) : own;
  return static_cast<long double>(input.max_records_per_person) * std::sqrt(squares);
}

long double plain_norm(const features::BlockSpec& spec) { return spec.weight; }

bool plain_nonnegative(const features::BlockSpec& spec) { return spec.moments() != nullptr; }

std::vector<PlainRun> plain_runs(const features::BlockSpec& spec, int lattice_bits) {
  const long double weight = spec.weight;
  if (const features::RffSpec* rff = spec.rff())
    return {{static_cast<long double>(rff->features), std::pow(2.0L, lattice_bits) / weight}};
  const features::MomentsSpec& m = *spec.moments();
  long double dims = 1;
  for (const std::size_t n : m.shape) dims *= static_cast<long double>(n);
  const auto k = static_cast<long double>(m.coefficients);
  long double q = 1;
  switch (m.kind) {
    case features::MomentLiftKind::kImage:
      q += static_cast<long double>(m.shape.front()) * k * k;
      break;
    case features::MomentLiftKind::kVector:
      q += dims;
      break;
    case features::MomentLiftKind::kFourier:
      q += k;
      break;
    case features::MomentLiftKind::kHermite:
      q += dims * k;
      break;
  }
  const long double unit = std::pow(2.0L, 2 * m.bits) / weight;
  std::vector<PlainRun> runs{{q, unit}};
  if (q > 1) runs.push_back({q * (q - 1) / 2, unit / std::numbers::sqrt2_v<long double>});
  return runs;
}

}  // namespace muffle::release
