#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "muffle/schema/schema.hpp"

namespace muffle::features {

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

/// @throws ConfigError  w is not a number from 1e-6 to 1e6; both of these.
BlockBound weighted(BlockBound bound, double weight);
std::vector<CoordinateRun> weighted(std::vector<CoordinateRun> runs, double weight);

/// What is proven about one-hot features x / sqrt(d) of k categorical columns with d categories in all: k
/// ones a record: norm sqrt(k/d), rounded up (DP-MERF takes the loose bound 1), and no entry is negative.
/// @throws ConfigError  not 1 <= k <= d.
BlockBound one_hot_bound(std::uint64_t columns, std::uint64_t categories);

/// The name of the inner loops that this processor runs: "generic", "avx2" or "avx512".
const char* kernel_variant();

/// Scratch memory of one thread, reused between tiles; made by Block::make_workspace().
class Workspace {
 public:
  virtual ~Workspace() = default;
};

/// A feature map as it sums records, per class, on the integer lattice. Immutable and thread-safe.
class Block {
 public:
  virtual ~Block() = default;
  /// d: numbers per record.
  virtual std::size_t dims() const = 0;
  /// D_b: numbers per class.
  virtual std::size_t features() const = 0;
  virtual std::unique_ptr<Workspace> make_workspace() const = 0;
  /// Threads at a time that are of use: few keep a GPU busy, and each has a workspace in its memory.
  virtual int useful_threads() const { return std::numeric_limits<int>::max(); }
  /// Records one call of accumulate() works on at a time; callers pass at most this many.
  virtual std::size_t tile() const = 0;
  /// Adds phi(x_i) to row y_i of sums for i < n, after the integer norm check; a record that fails it, or
  /// whose label is schema::kNoClass, adds nothing. A record's contribution does not depend on its place in
  /// the tile, on n, or on other records.
  /// @param x     n x dims, row-major, in [0, 1]
  /// @param y     n labels
  /// @param sums  C x D_b, class-major, modulo 2^64, lattice units
  /// @returns how many records contributed nothing (private: rank-local, never logged elsewhere).
  /// Privacy: sums are raw.
  virtual std::uint64_t accumulate(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
                                   std::span<std::uint64_t> sums) const = 0;
  /// Can accumulate_bytes() be called? Then records of bytes need not be widened first.
  virtual bool takes_bytes() const { return false; }
  /// accumulate() of the records whose numbers are scale[x]: the same integers.
  virtual std::uint64_t accumulate_bytes(const std::uint8_t* x, const schema::ByteScale& scale,
                                         const std::int32_t* y, std::size_t n, Workspace& workspace,
                                         std::span<std::uint64_t> sums) const;
};

}  // namespace muffle::features
