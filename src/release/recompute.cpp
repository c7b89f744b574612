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
  long double norm_squares = 0, distance_squares = 0, other_squares = 0;
  for (const bounds::BlockBound& block : input.blocks) {
    const long double square = static_cast<long double>(block.norm) * block.norm;
    norm_squares += square;
    distance_squares += (block.nonnegative_kernel ? 2 : 4) * square;
    other_squares += (block.labelled || block.nonnegative_kernel ? 2 : 4) * square;
  }
  const long double lambda = input.counts ? input.counts_weight : 0.0;
  const long double own = norm_squares + lambda * lambda;
  const long double squares = input.adjacency == privacy::Adjacency::kReplaceOne
                                  ? std::max(distance_squares, other_squares + 2 * lambda * lambda)
                                  : own;
  return static_cast<long double>(input.max_records_per_person) * std::sqrt(squares);
}

}  // namespace muffle::release
