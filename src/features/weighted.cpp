#include "muffle/features/weighted.hpp"

#include <fmt/format.h>

#include "muffle/core/error.hpp"
#include "muffle/core/float_text.hpp"
#include "muffle/core/round_up.hpp"

namespace muffle::features {
namespace {

constexpr double kLeast = 1e-6, kMost = 1e6;

void check(double weight) {
  if (!(weight >= kLeast && weight <= kMost))
    throw ConfigError(fmt::format("a feature block's weight is {}; it must be a number from {} to {}",
                                  exact_text(weight), kLeast, kMost));
}

}  // namespace

BlockBound weighted(BlockBound bound, double weight) {
  check(weight);
  if (weight == 1.0) return bound;
  bound.norm = multiply_up(bound.norm, weight);
  bound.theorem = fmt::format("Scaled by {}: {}", exact_text(weight), bound.theorem);
  return bound;
}

std::vector<CoordinateRun> weighted(std::vector<CoordinateRun> runs, double weight) {
  check(weight);
  for (CoordinateRun& run : runs) run.unit = divide_up(run.unit, weight);
  return runs;
}

}  // namespace muffle::features
