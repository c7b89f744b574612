#pragma once

#include <cstdint>

namespace muffle {

/// Whether number i of n is one of `most` that are evenly spread over them; of no more than `most`, all are.
constexpr bool is_one_of(std::uint64_t most, std::uint64_t i, std::uint64_t n) {
  return n <= most || (i + 1) * most / n != i * most / n;
}

}  // namespace muffle
