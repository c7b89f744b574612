#include "muffle/schema/schema.hpp"

#include <cmath>
#include <limits>

#include "muffle/core/error.hpp"
#include "muffle/core/float_text.hpp"

namespace muffle::schema {
namespace {

/// More numbers than this in one record is a mistyped shape: such a record would not fit a batch in memory.
constexpr std::size_t kMaxDims = std::size_t{1} << 28;

}  // namespace

void Schema::validate() const {
  if (shape.size() != 1 && shape.size() != 3) {
    throw DataError("the schema's shape has " + std::to_string(shape.size()) +
                    " sizes; write {columns} for vectors or {channels, height, width} for images.");
  }
  std::size_t product = 1;
  for (const std::size_t s : shape) {
    if (s == 0 || s > kMaxDims / product) {
      throw DataError("the schema's shape has a size of " + std::to_string(s) +
                      "; every size must be at least 1 and a record at most " + std::to_string(kMaxDims) +
                      " numbers.");
    }
    product *= s;
  }
  if (classes == 0 || classes > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw DataError("the schema has " + std::to_string(classes) +
                    " classes; write 1 for unlabelled records.");
  }
  const float low = static_cast<float>(lo), high = static_cast<float>(hi);
  if (!(low < high) || !std::isfinite(high - low)) {
    throw DataError("the schema's bounds lo = " + exact_text(lo) + " and hi = " + exact_text(hi) +
                    " must be finite float32 numbers with lo < hi.");
  }
}

}  // namespace muffle::schema
