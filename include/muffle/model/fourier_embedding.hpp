#pragma once

#include <torch/types.h>

#include <cstdint>

namespace muffle::model {

/// Random Fourier features of generated records, summed by class: the generator's side of the embedding that
/// features::make_rff_block() computes of private records. Works on public data only.
/// With t = x omega^T in cycles (1 = 2 pi): phi(x) = sqrt(2/D) [cos(2 pi t); sin(2 pi t)], norm 1.
class FourierEmbedding {
 public:
  /// @param frequencies  (D/2) x d in cycles, as features::rff_frequencies() gives them; where they lie (CPU
  /// or GPU) and their type (float32, or float64 in tests) is where and how the sums are computed.
  FourierEmbedding(torch::Tensor frequencies, std::int64_t classes);

  /// S = sum_i phi(x_i) e_{y_i}^T, C x D class-major, over the given records only (no communication).
  /// Differentiable in x, once. Memory: n x D/2 phases; never n x D x C. In float32 on the CPU the sum does
  /// not depend on the number of threads.
  /// @param x       n x d; n may be 0
  /// @param labels  n, int64, in 0..C-1
  /// @throws InvariantError  shapes or labels that do not fit.
  torch::Tensor class_sums(const torch::Tensor& x, const torch::Tensor& labels) const;

 private:
  torch::Tensor frequencies_;
  torch::Tensor transposed_;  ///< d x D/2, for records of few dimensions; else empty
  std::int64_t classes_;
};

}  // namespace muffle::model
