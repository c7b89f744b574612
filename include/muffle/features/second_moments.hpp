#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "muffle/features/block.hpp"
#include "muffle/features/lift.hpp"

namespace muffle::features {

/// Second moments z z^T of z = [c0; u] / ||[c0; u]||, u the lifted record: what a map that sums them is made
/// of (docs/explanation/moments.md). Public, resolved.
///
/// phi(x) holds the entries on the diagonal first, then the strict upper triangle row by row: D = q (q + 1) /
/// 2 numbers. Entries beside the diagonal stand for two, so they carry weight sqrt(2) in the norm: ||phi||^2
/// = ||z||^4 <= 1 and <phi, phi'> = (z . z')^2 >= 0, a square of integers, so that the replace-one
/// sensitivity sqrt(2) is a theorem about what is summed, rounding and all.
struct SecondMoments {
  std::shared_ptr<const Lift> lift;  ///< resolved
  double offset = 0.0;               ///< c0 > 0
  int bits = 16;  ///< 8 .. 20: z is held as integers of norm at most 2^bits, its products as 2^(2 bits)

  /// q = 1 + n: numbers of z.
  std::size_t order() const { return 1 + lift->coefficients(); }
  /// What z is multiplied by before it is rounded to the nearest integers: 2^bits - sqrt(q) / 2 - 1, as
  /// rounding moves z by at most sqrt(q) / 2: never beyond 2^bits. Released sums are divided by its square.
  double scale() const { return scale(order(), bits); }
  static double scale(std::size_t order, int bits);

  /// Where z_i z_j lies in one class's D numbers.
  static std::size_t index(std::size_t order, std::size_t i, std::size_t j) {
    if (i == j) return i;
    const std::size_t a = i < j ? i : j, b = i < j ? j : i;
    return order + a * (2 * order - a - 1) / 2 + (b - a - 1);
  }
};

/// Whether z, integers, is finite and has a norm of at most 2^bits, in integers: what is asked of each
/// record, and what the bound rests on. @param bits  at most 20
bool within_norm(std::span<const double> z, int bits);

}  // namespace muffle::features
