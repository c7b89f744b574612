#pragma once

#include <memory>
#include <optional>

#include "array_reader.hpp"
#include "muffle/data/format.hpp"

namespace muffle::data {

/// Records in one array (records x shape), their labels in another (one integer a record) or nowhere. Checks
/// both against the schema and each other. @throws DataError.
std::unique_ptr<RecordStream> array_records(const schema::Schema& schema, ArrayReader numbers,
                                            std::optional<ArrayReader> labels);

}  // namespace muffle::data
