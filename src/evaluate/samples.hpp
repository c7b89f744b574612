#pragma once

#include <filesystem>
#include <memory>

#include "muffle/data/format.hpp"

namespace muffle::evaluate {

/// Synthetic records that a record format has written, known by the file's name. @throws DataError, IoError.
inline std::unique_ptr<data::RecordStream> open_samples(const std::filesystem::path& file,
                                                        schema::Schema schema) {
  data::DataSpec spec = data::written_records(file);
  spec.schema = std::move(schema);
  return data::open_records(spec);
}

}  // namespace muffle::evaluate
