#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/data/source.hpp"

namespace muffle::report {

/// A column that records have; of what is no table, one of their numbers.
struct Column {
  std::string name;
  bool is_number = true;
  bool may_be_missing = false;
  bool is_label = false;
  bool follows = false;  ///< computed from others of its row, whatever files say: no release tells of it
  double lo = 0.0, hi = 1.0;
  std::vector<std::string> categories;
  std::optional<schema::Column> schema;  ///< of a table

  /// A value in the column's own notation.
  std::string text(double value) const;
  /// A number, short: of a datetime the date, of a difference of dates days in three digits.
  std::string short_text(double value) const;
};
Column column_of(const schema::Column& column);
/// In the order of the records' numbers; of tables the label is next, and what follows from others the last.
std::vector<Column> columns_of(const schema::Schema& schema);

/// Records in memory, column after column: numbers in the column's units, categories by their index, NaN
/// where a value is missing. What is no table has its labels in `labels`.
struct Rows {
  std::vector<Column> columns;
  std::vector<std::vector<double>> values;  ///< columns x n
  std::vector<std::int32_t> labels;         ///< n
  std::uint64_t in_file = 0;                ///< of which `n` are here, evenly spread
  /// How many of these rows break each of the table's constraints, and how many any.
  std::vector<std::size_t> breaks;
  std::size_t breaks_any = 0;

  std::size_t size() const { return labels.size(); }
};
/// Rows whose label is no class are left out. @throws DataError, IoError; DataError: there are none.
Rows read_rows(const data::DataSpec& spec, const Heartbeat& heartbeat);

/// Those of one class.
Rows rows_of_class(const Rows& rows, std::int32_t label);
/// Those of these numbers, in this order.
Rows rows_at(const Rows& rows, std::span<const std::size_t> at);

/// At most `most` of the rows, evenly spread, by their numbers.
std::vector<std::size_t> some_rows(std::size_t n, std::size_t most);

}  // namespace muffle::report
