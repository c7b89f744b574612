#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muffle::bounds {

/// The integer lattice of docs/math.md, "lattice": a feature value v is held as trunc(v (2^k - 1)).
/// Sums are unsigned 64-bit modulo 2^64, read back as two's complement.
struct Lattice {
  int bits = 24;  ///< k, 8..24: |value| <= B <= 1 fits a float's 24-bit mantissa and an int32

  /// 2^k - 1: lattice units per 1.0.
  std::int64_t scale() const { return (std::int64_t{1} << bits) - 1; }
  /// The bound that is checked, per record and in integers: squared norm <= B^2 2^{2k} (here for B = 1).
  std::uint64_t max_squared_norm() const { return std::uint64_t{1} << (2 * bits); }
};

/// m records cannot overflow a 64-bit sum: m 2^k < 2^62. @throws ConfigError otherwise.
void require_no_overflow(std::uint64_t records, const Lattice& lattice);

/// What is proven about one block's feature vectors; the only thing the accountant needs from a block.
struct BlockBound {
  double norm = 1.0;  ///< B: ||phi_b(x)||_2 <= B for every record, enforced in integers
  /// <phi(x), phi(x')> >= 0 for every pair, after rounding: sqrt(2) B replace-one
  bool nonnegative_kernel = false;
  std::string theorem;  ///< one sentence with its source, printed in the privacy statement: of the map alone,
  double scale = 1.0;   ///< by which weighted() multiplied it
  bool labelled =
      true;  ///< a record's vector is added to its class's row; false: to the one row that there is
  /// A record's vector is added to one minibatch of each of so many epochs, by its place alone, and `norm` is
  /// that of all of it; 0: the block is released whole.
  std::uint64_t epochs = 0;
};

/// Consecutive numbers of one class's D_b that carry the same weight in the norm.
struct CoordinateRun {
  std::uint64_t count = 0;
  /// Lattice units per 1.0 of the feature: a record's integer v stands for v / unit, whose norm over all
  /// coordinates is what BlockBound bounds. Rounded up, so that noise of sigma x unit is enough.
  double unit = 0.0;
  bool operator==(const CoordinateRun&) const = default;
};

/// A stretch of the released vector: `runs`, `repeat` times over, such as a block's numbers, once per class.
struct CoordinatePart {
  std::vector<CoordinateRun> runs;
  std::uint64_t repeat = 1;
};

// A public weight w shifts budget between blocks: one sigma in feature units covers all of them, so a block
// of weight w gets noise sigma / w in its own. The integers that are summed stay as they are; the bound and
// the units change, rounded up, so that a bound is never too small nor noise too little; exact for w = 1.

/// The bound of a block whose records are each in one minibatch of each of `epochs` epochs: sqrt(epochs) B.
BlockBound in_minibatches(BlockBound bound, std::uint64_t epochs);

/// @throws ConfigError  w is not a number from 1e-6 to 1e6; both of these.
BlockBound weighted(BlockBound bound, double weight);
std::vector<CoordinateRun> weighted(std::vector<CoordinateRun> runs, double weight);

/// A bound that follows from sizes, as `muffle account --block NAME=SIZES` states it: a kind of map may have
/// one.
struct NamedBound {
  std::string_view name;
  std::string_view form;     ///< of the sizes: "COLUMNS/CATEGORIES"
  std::string_view example;  ///< "3/11"
  std::string_view meaning;  ///< of the example: "3 columns with 11 categories in all"
  /// Nothing: the text is not of that form. @throws ConfigError  no such sizes can be.
  std::optional<BlockBound> (*of)(std::string_view sizes) = nullptr;
};

}  // namespace muffle::bounds
