#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muffle/features/block.hpp"

namespace muffle::features {

class FeatureMap;

inline constexpr std::size_t kMostCountTables = std::size_t{1} << 16;

/// One table: how many records of a class have which codes in one, two or three columns.
struct CountTable {
  std::vector<std::size_t> columns;  ///< numbers of a record (0 .. d-1), ascending
  /// For each of `columns`, which group each of its codes is counted in: groups numbered from 0, none empty.
  /// An empty list: every code by itself; no lists: so for all columns.
  std::vector<std::vector<std::uint32_t>> groups = {};
  double weight = 1.0;    ///< w, above 0: its noise is proportional to 1 / w
  std::size_t first = 0;  ///< of its cells among a class's numbers
  std::size_t cells = 0;  ///< product of the columns' sizes; row-major, the last column's fastest

  /// Groups, or codes, of column `c` of the table. @param codes  of each number of a record
  std::size_t size(std::size_t c, const std::vector<std::size_t>& codes) const;
};

/// The tables that a map counts, class by class. A record adds units()[t] to one cell of every table t:
/// phi(x) = W^(-1/2) (w_t e_{cell of x in t}), W the sum of w_t^2 (docs/math.md, "feature maps"). Public.
struct CountTables {
  std::vector<std::size_t> codes;  ///< of each number of a record, d
  std::vector<CountTable> tables;
  /// d, or empty: none. Of a number whose bins are learned (schema::Column::learned), how many of its codes,
  /// the first ones, are cells of its grid; 0: any other column.
  std::vector<std::size_t> grid_cells = {};

  /// The number of a record that says which of its person's records it is (schema::Column::rows): counted by
  /// a table of its own, in none with others. None: there is no such.
  std::optional<std::size_t> row_number = {};

  bool learns() const;
  /// Whether this is the table of the row_number.
  bool counts_rows(const CountTable& table) const {
    return row_number && table.columns == std::vector{*row_number};
  }
  /// The weight of the row_number's table beside others whose weights have this sum of squares: 8 % of it, so
  /// that their noise grows by 4 %, in whole 64ths so that every build finds the same.
  static double rows_weight(double others, double share = kRowsShare);
  static constexpr double kRowsShare = 0.08;

  /// Of all tables, of one class: the map's D.
  std::size_t cells() const { return tables.empty() ? 0 : tables.back().first + tables.back().cells; }
  /// 2^k w_t / sqrt(W), rounded down: their squares sum to at most 2^(2k), so that every record's norm is at
  /// most 1, in integers. @throws ConfigError  the lattice is too coarse for some table: it would get 0.
  std::vector<std::int64_t> units(const Lattice& lattice) const;
  /// units()[0], 0 where the lattice is too coarse for it.
  std::int64_t first_unit(const Lattice& lattice) const;
  /// W.
  double sum_of_squares() const;
  /// Says of each table where its cells lie, in the order in which they stand.
  void lay_out();
  /// The same, once the table that tells the number of records best is the first: that with the least noise
  /// in the sum of its cells (FeatureMap::counts_inside()).
  void place();
};

/// The capability of a map that counts tables: FeatureMap::tables(). After resolve().
class TableFeatures {
 public:
  virtual const CountTables& counted() const = 0;
  /// A map like this that counts these instead, for a later round of the release.
  /// @throws ConfigError  they are no tables of its records, or too many.
  virtual std::shared_ptr<const FeatureMap> counting(std::vector<CountTable> tables) const = 0;
  /// The names of the tables that FeatureMap::outlook() says drown in that noise, the worst first.
  virtual std::vector<std::string> drowned(double noise) const = 0;

 protected:
  ~TableFeatures() = default;
};

}  // namespace muffle::features
