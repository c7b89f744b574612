#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace muffle::data {

/// What happens to a record that does not fit its schema (NaN, Inf, a label outside 0..C-1).
enum class OnError {
  kRejectFile,  ///< DataError before anything is released
  kClamp,  ///< numbers outside [lo, hi] are clamped, NaN becomes lo; a record with a bad label contributes
           ///< zero
};

/// What is public about the records (spec section 1): never read off the private data.
struct Schema {
  std::vector<std::size_t> shape;  ///< one record: {channels, height, width} or {columns}
  std::size_t classes = 1;         ///< C; 1: unlabelled
  double lo = 0.0;                 ///< public bounds of every number as stored; scaled to [0, 1]
  double hi = 255.0;
  OnError on_error = OnError::kRejectFile;

  /// Product of the shape: numbers per record.
  std::size_t dims() const;
  /// Checks what can be checked without the data: {columns} or {channels, height, width}, sizes and classes
  /// at least 1, and bounds that are finite and apart as float32. @throws DataError naming the first problem.
  void validate() const;
  bool is_image() const { return shape.size() == 3; }
};

/// What each stored byte stands for, scaled to [0, 1]. Public.
using ByteScale = std::array<float, 256>;

/// A tile of records, ready for feature maps. Private.
struct Batch {
  std::vector<float> x;  ///< n x dims, row-major, scaled to [0, 1]; empty where `bytes` has the records
  std::vector<std::int32_t> y;  ///< n labels in 0..C-1; kNoClass: the record contributes zero
  std::size_t n = 0;
  std::vector<std::uint8_t> bytes;  ///< n x dims as stored, where RecordSource::hand_out_bytes() asked for it
  const ByteScale* scale = nullptr;  ///< of `bytes`, the source's; null: the records are in x

  bool as_bytes() const { return scale != nullptr; }

  static constexpr std::int32_t kNoClass = -1;
};

}  // namespace muffle::data
