#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "muffle/schema/schema.hpp"

namespace muffle::data {

/// A tile of records, ready for feature maps. Private.
struct Batch {
  std::vector<float> x;  ///< n x dims, row-major, scaled to [0, 1]; empty where `bytes` has the records
  std::vector<std::int32_t> y;  ///< n labels in 0..C-1; schema::kNoClass: the record contributes zero
  std::size_t n = 0;
  std::vector<std::uint8_t> bytes;  ///< n x dims as stored, where RecordSource::hand_out_bytes() asked for it
  const schema::ByteScale* scale = nullptr;  ///< of `bytes`, the source's; null: the records are in x

  bool as_bytes() const { return scale != nullptr; }
};

}  // namespace muffle::data
