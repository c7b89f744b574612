#include "whole_steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace muffle::pair_graph {
namespace {

constexpr int kBits = 20;
/// Builds differ by less than this share of a step.
constexpr double kDiffer = 1.0 / 1024;
/// Sums of 2^16 such numbers do not overflow. What is larger is equal.
constexpr double kMost = 0x1p46;

}  // namespace

Steps in_steps(double x, double scale) {
  const double steps = std::clamp(std::ldexp(x, kBits - std::ilogb(scale)), -kMost, kMost);
  const double nearest = std::nearbyint(steps);
  return {static_cast<std::int64_t>(nearest), std::fabs(steps - nearest) > 0.5 - kDiffer ? 1 : 0};
}

bool Comparisons::less(const Steps& a, const Steps& b) {
  const Steps apart = a - b;
  if (apart.doubt > 0 && std::abs(apart.value) <= apart.doubt) steady_ = false;
  return apart.value < 0;
}

}  // namespace muffle::pair_graph
