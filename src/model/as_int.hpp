#pragma once

#include <cstddef>
#include <cstdint>

namespace muffle::model {

/// A size as tensors take it.
inline std::int64_t as_int(std::size_t n) { return static_cast<std::int64_t>(n); }

}  // namespace muffle::model
