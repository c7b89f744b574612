#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muffle/release/artifact.hpp"
#include "muffle/schema/table.hpp"

namespace muffle::release {

/// Counts over the values of one, two or three columns, class by class, with noise of a known standard
/// deviation. Public.
struct NoisyTable {
  std::vector<std::size_t> columns;  ///< numbers of a record (0 .. d-1), ascending
  /// For each of `columns`, which group each of its codes is counted in, groups numbered from 0; empty: every
  /// code by itself. Later rounds count on coarser codes where noise would drown finer ones.
  std::vector<std::vector<std::uint32_t>> groups;
  std::vector<std::size_t> sizes;  ///< of each of `columns`: its groups
  /// C x product of sizes, row-major, the last column's the fastest: numbers of records plus noise,
  /// independent from cell to cell.
  std::vector<double> counts;
  double sigma = 0.0;  ///< standard deviation of the noise in a cell, records

  std::size_t cells() const;  ///< of one class
  std::span<const double> of_class(std::size_t c) const {
    return std::span(counts).subspan(c * cells(), cells());
  }
};

/// Which codes of two columns go together (schema::Constraint::Kind::kAmong). Counts of others are of no
/// record, or of one that its schema calls impossible.
struct Combination {
  /// Numbers of a record (0 .. d-1), first < second; kLabel: the class.
  std::size_t first = 0, second = 0;
  static constexpr std::size_t kLabel = ~std::size_t{0};
  std::vector<std::size_t> codes = {0, 0};  ///< of both, or classes
  std::vector<bool> allowed;                ///< codes of first x codes of second
  bool holds(std::size_t x, std::size_t y) const { return allowed[x * codes[1] + y]; }
};

/// All tables of counts in a release. Public; everything computed from it is post-processing.
struct NoisyTables {
  std::size_t classes = 1;         ///< C
  std::vector<std::size_t> codes;  ///< of each number of a record, d
  std::vector<NoisyTable> tables;
  /// m; estimated from the tables' noisy totals under add/remove-one, and where they say that fewer count (of
  /// a person, or because the others cannot be used); at least 1.
  double records = 0.0;
  bool records_known = true;                 ///< it is m
  std::vector<std::size_t> grid_cells = {};  ///< features::CountTables::grid_cells
  /// d: of columns with grid_cells, values in each cell; empty: of others, and where no schema tells.
  std::vector<std::vector<double>> cell_values = {};
  std::vector<Combination> combinations = {};
  std::optional<std::size_t> row_number = {};  ///< features::CountTables::row_number
};

/// What a table's schema says of them; a missing value goes with all codes. Public.
std::vector<Combination> combinations_of(const schema::Table& table);
/// Likewise: NoisyTables::cell_values.
std::vector<std::vector<double>> cell_values_of(const schema::Table& table);

/// The tables of all maps of counts, one map after the other; two maps may count the same columns.
/// @throws ConfigError  the release holds none (the message says which setting makes some), or its lattice is
/// too coarse for them.
/// @throws ProtocolError  this muffle rebuilds another map than the release's.
NoisyTables make_noisy_tables(const Artifact& artifact);

/// Without the number that says which of its person's records one is (row_number), and what was counted of
/// it.
NoisyTables without_row_number(NoisyTables tables);

}  // namespace muffle::release
