#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace muffle::features {

/// The integer lattice of docs/math.md, "lattice": a feature value v is held as trunc(v (2^k - 1)).
/// Sums are unsigned 64-bit modulo 2^64, read back as two's complement.
struct Lattice {
  int bits = 24;  ///< k, 8..24: |value| <= B <= 1 fits a float's 24-bit mantissa and an int32

  /// 2^k - 1: lattice units per 1.0.
  std::int64_t scale() const { return (std::int64_t{1} << bits) - 1; }
  /// The bound that is checked, per record and in integers: squared norm <= B^2 2^{2k} (here for B = 1).
  std::uint64_t max_squared_norm() const { return std::uint64_t{1} << (2 * bits); }
};

/// m records cannot overflow a 64-bit sum: m 2^k < 2^62. @throws ConfigError otherwise.
void require_no_overflow(std::uint64_t records, const Lattice& lattice);

}  // namespace muffle::features
