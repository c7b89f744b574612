#include "muffle/bounds/bounds.hpp"

#include <fmt/format.h>

#include "muffle/core/error.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/core/text.hpp"

namespace muffle::bounds {
namespace {

void check(double weight) {
  if (!(weight >= 1e-6 && weight <= 1e6))
    throw ConfigError(fmt::format("a feature block's weight is {}; it must be a number from {} to {}",
                                  exact_text(weight), 1e-6, 1e6));
}

}  // namespace

void require_no_overflow(std::uint64_t records, const Lattice& lattice) {
  if (lattice.bits < 8 || lattice.bits > 24)
    throw ConfigError(fmt::format("lattice bits is {}; it must be 8 to 24", lattice.bits));
  const std::uint64_t limit = std::uint64_t{1} << (62 - lattice.bits);
  if (records >= limit)
    throw ConfigError(
        fmt::format("{} records on a lattice of {} bits could overflow a 64-bit sum: the number of records "
                    "must be below 2^{}; lower the lattice's bits or split the data set",
                    records, lattice.bits, 62 - lattice.bits));
}

BlockBound weighted(BlockBound bound, double weight) {
  check(weight);
  if (weight == 1.0) return bound;
  bound.norm = multiply_up(bound.norm, weight);
  bound.scale *= weight;
  return bound;
}

BlockBound in_minibatches(BlockBound bound, std::uint64_t epochs) {
  bound.norm = multiply_up(bound.norm, sqrt_up(static_cast<double>(epochs)));
  bound.epochs = epochs;
  return bound;
}

std::vector<CoordinateRun> weighted(std::vector<CoordinateRun> runs, double weight) {
  check(weight);
  for (CoordinateRun& run : runs) run.unit = divide_up(run.unit, weight);
  return runs;
}

}  // namespace muffle::bounds
