#include "muffle/features/block.hpp"

#include <fmt/format.h>

#include "muffle/core/error.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/core/text.hpp"

namespace muffle::features {
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

std::vector<CoordinateRun> weighted(std::vector<CoordinateRun> runs, double weight) {
  check(weight);
  for (CoordinateRun& run : runs) run.unit = divide_up(run.unit, weight);
  return runs;
}

BlockBound one_hot_bound(std::uint64_t columns, std::uint64_t categories) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;  // beyond, a double is no whole number
  if (!(columns >= 1 && columns <= categories && categories <= kMost))
    throw ConfigError(fmt::format(
        "a one-hot block of {} columns with {} categories in all: there must be at least one column, and a "
        "category for each",
        columns, categories));
  return {
      .norm = sqrt_up(divide_up(static_cast<double>(columns), static_cast<double>(categories))),
      .nonnegative_kernel = true,
      .theorem = fmt::format(
          "One-hot features of k = {} columns with d = {} categories in all, each scaled by 1/sqrt(d), have "
          "exactly k entries of 1/sqrt(d) and so norm sqrt(k/d), and no entry is negative.",
          columns, categories)};
}

std::uint64_t Block::accumulate_bytes(const std::uint8_t*, const schema::ByteScale&, const std::int32_t*,
                                      std::size_t, Workspace&, std::span<std::uint64_t>) const {
  throw InvariantError("a block was given bytes, which it does not take");
}

}  // namespace muffle::features
