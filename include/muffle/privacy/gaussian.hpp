#pragma once

#include "muffle/privacy/entropy.hpp"

namespace muffle::privacy {

/// Largest sigma that may be drawn, lattice units: sums stay far below 2^62, the arithmetic within 128 bits.
inline constexpr std::uint64_t kMaxSigmaLattice = std::uint64_t{1} << 50;

/// Exact sampler of round(N(0, sigma^2)) for an integer sigma >= 1 (lattice units): Karney's Algorithm N (ACM
/// TOMS 42(1), 2016, arXiv 1303.6257), digits refined until the rounding is decided. No floating point
/// anywhere; the law is that of a rounded continuous Gaussian, so S + Z = round(S + N): post-processing of
/// the ideal Gaussian mechanism. Rounding is to nearest; a tie has probability zero and so needs no rule:
/// digits are drawn until the real number is known to lie on one side of the half. The running time depends
/// on what is drawn: draw the whole vector before the sum is available.
class RoundedGaussian {
 public:
  /// @param entropy  must outlive the sampler; read in blocks of a few KiB, which are wiped.
  explicit RoundedGaussian(EntropySource& entropy);
  ~RoundedGaussian();

  /// One draw. @param sigma  1 .. 2^50, lattice units.
  /// @throws InvariantError  sigma outside its range; an entropy source that is stuck (with real entropy:
  ///                         probability below 2^-100). There is no fallback.
  std::int64_t draw(std::uint64_t sigma);

 private:
  class Bits;
  std::unique_ptr<Bits> bits_;
};

}  // namespace muffle::privacy
