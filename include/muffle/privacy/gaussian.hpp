#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "muffle/privacy/entropy.hpp"

namespace muffle::privacy {

/// Exact sampler of round(N(0, sigma^2)) for an integer sigma >= 1 (lattice units): Karney's Algorithm N (ACM TOMS 42(1),
/// 2016, arXiv 1303.6257), digits refined until the rounding is decided. No floating point anywhere; the law is that
/// of a rounded continuous Gaussian, so S + Z = round(S + N): post-processing of the ideal Gaussian mechanism.
/// The running time depends on what is drawn: draw the whole vector before the sum is available.
class RoundedGaussian {
 public:
  explicit RoundedGaussian(EntropySource& entropy);
  ~RoundedGaussian();
  RoundedGaussian(const RoundedGaussian&) = delete;
  RoundedGaussian& operator=(const RoundedGaussian&) = delete;

  /// One draw. @param sigma  1 .. 2^50, lattice units.
  std::int64_t draw(std::uint64_t sigma);

 private:
  class Bits;
  Bits* bits_;
};

/// n draws of round(N(0, sigma^2)).
std::vector<std::int64_t> draw_noise(std::size_t n, std::uint64_t sigma, EntropySource& entropy);

}  // namespace muffle::privacy
