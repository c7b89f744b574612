#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/data/source.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::evaluate {

/// A number, date or time of a table, by its raw values.
struct NumberColumn {
  std::size_t column;             ///< of Table::columns
  std::optional<std::size_t> at;  ///< number of a record; none: it is derived from others of its row
  schema::ColumnText text;

  const std::string& name() const { return text.column().name; }
};
/// In the table's order.
std::vector<NumberColumn> numbers_of(const schema::Table& table);

/// Each column's values, NaN where one is missing, of at most `most` rows, evenly spread; rows whose label is
/// no class are left out. What is derived is computed, whatever files say of it.
/// @param columns  numbers_of() the same table  @throws DataError, IoError.
std::vector<std::vector<double>> values_of(const data::DataSpec& spec, std::span<const NumberColumn> columns,
                                           std::uint64_t most, const Heartbeat& heartbeat);

}  // namespace muffle::evaluate
