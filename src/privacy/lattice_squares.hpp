#pragma once

#include <cstdint>

namespace muffle::privacy {

// Sizes of noise in whole lattice units, compared exactly: sigma is at most 2^50, and parts are at most 2^20,
// so that all products fit into 128 bits.

// A name, clean under -Wpedantic, of the 128-bit integer that GCC and Clang have on 64-bit machines.
__extension__ using Uint128 = unsigned __int128;

inline Uint128 square(std::uint64_t sigma) { return Uint128{sigma} * sigma; }

/// The least integer s with parts s^2 >= wanted; wanted is at least 1 and at most 2^100.
inline std::uint64_t least_root(Uint128 wanted, std::uint64_t parts) {
  std::uint64_t low = 0, high = std::uint64_t{1} << 50;  // low fails, high holds
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (square(middle) * parts >= wanted ? high : low) = middle;
  }
  return high;
}

}  // namespace muffle::privacy
