#pragma once

#include <memory>
#include <vector>

#include "arrays.hpp"
#include "muffle/data/format.hpp"

namespace muffle::data {

/// An array of one number a record, and which column of the schema it is.
struct ColumnArray {
  std::size_t column;
  ArrayReader reader;
};

/// A table's records out of an array for each column that TableFields needs. @throws DataError  one is no
/// such array, or they hold different numbers of records.
std::unique_ptr<RecordStream> column_records(const DataSpec& spec, std::vector<ColumnArray> columns);

/// A table's records out of one array, records x columns, in the schema's order, the ignored ones among them.
/// @throws DataError  another shape.
std::unique_ptr<RecordStream> matrix_records(const DataSpec& spec, ArrayReader matrix);

}  // namespace muffle::data
