#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "muffle/bounds/bounds.hpp"

namespace muffle::features {

using bounds::BlockBound;
using bounds::CoordinatePart;
using bounds::CoordinateRun;
using bounds::Lattice;
using bounds::require_no_overflow;
using bounds::weighted;

/// The inner loops, once per instruction set (src/features/kernels.hpp). All return the same bits.
struct Kernels;
/// The fastest that this processor can run.
const Kernels& best_kernels();
class OuterProducts;

/// What every record keeps to that is added to a sum, checked in integers: BlockBound rests on it.
struct Guard {
  int bits = 24;                       ///< of |value|: 2^bits and above are no lattice values
  std::uint64_t max_squared_norm = 0;  ///< of what one record adds
  bool nonnegative = false;            ///< no value is below 0, where the kernel's sign rests on that

  /// Norm 1 on that lattice.
  static Guard of(const Lattice& lattice, bool nonnegative = false) {
    return {lattice.bits, lattice.max_squared_norm(), nonnegative};
  }
};

/// Lattice values of records, one after the other: each has `runs` stretches of `length` values, `pitch`
/// apart, which are its features one after the other.
struct LatticeRows {
  const std::int32_t* values = nullptr;
  std::size_t stride = 0;  ///< from record to record
  std::size_t length = 0;
  std::size_t runs = 1;
  std::size_t pitch = 0;
};

/// Tables of which a record adds one number, the table's unit, to one cell each.
class CellUnits {
 public:
  struct Table {
    std::uint64_t first = 0;  ///< of its cells among a class's numbers
    std::uint64_t cells = 0;
    std::int64_t unit = 0;
  };
  /// @throws InvariantError  tables share cells, are empty, or a unit is not positive or no lattice value.
  explicit CellUnits(std::vector<Table> tables);

  std::span<const Table> tables() const { return tables_; }
  std::uint64_t numbers() const { return tables_.empty() ? 0 : tables_.back().first + tables_.back().cells; }
  /// Of what one record adds.
  std::uint64_t squared_norm() const { return squares_; }

 private:
  std::vector<Table> tables_;
  std::uint64_t squares_ = 0;
};

/// The only thing that adds a record's features to sums. It looks at the very integers that it adds: a record
/// without a class, beyond the norm or of the wrong sign adds nothing, whatever the block made of it.
/// Block::accumulate() alone makes one.
class Accumulator {
 public:
  Accumulator(const Accumulator&) = delete;
  Accumulator& operator=(const Accumulator&) = delete;

  bool is_class(std::int32_t label) const {
    return label >= 0 && static_cast<std::uint64_t>(label) < classes_;
  }
  std::size_t classes() const { return classes_; }
  /// Records that were added so far. Private.
  std::uint64_t added() const { return added_; }

  /// Adds the records' lattice values, at most kMostRows.
  void add(const LatticeRows& rows, std::span<const std::int32_t> labels,
           const Kernels& kernels = best_kernels());
  static constexpr std::size_t kMostRows = 127;

  /// Has z z^T of one record added with the next add() of these products. @param z  integers
  /// @returns whether it will be.
  bool take(std::span<const double> z, OuterProducts& products) const;
  /// Adds what was taken, all of one class, and empties the products.
  void add(OuterProducts& products, std::int32_t label);

  /// Adds each table's unit to one cell for each of at most kMostCells records.
  /// @param labels  classes, every one @param cells_of  writes where in table t each record is: 0 .. cells -
  /// 1
  void add(const CellUnits& units, std::span<const std::int32_t> labels,
           const std::function<void(std::size_t t, std::uint32_t* cells)>& cells_of);
  static constexpr std::size_t kMostCells = 256;

  /// Adds what a GPU's kernels have added up on the device, after the same checks there
  /// (rff_cuda_kernels.cuh). @param sums  classes x features @param records  how many
  void add_from_device(std::span<const unsigned long long> sums, std::uint64_t records);

 private:
  friend class Block;
  /// @throws InvariantError  the sums are not a whole number of classes.
  Accumulator(std::span<std::uint64_t> sums, std::size_t features, const Guard& guard);

  bool keeps_to_guard(const std::int32_t* record, const LatticeRows& rows, const Kernels& kernels) const;
  std::uint64_t* row_of(std::int32_t label) const {
    return sums_.data() + static_cast<std::size_t>(label) * features_;
  }

  std::span<std::uint64_t> sums_;
  std::size_t features_;
  std::size_t classes_;
  Guard guard_;
  std::uint64_t added_ = 0;
};

}  // namespace muffle::features
