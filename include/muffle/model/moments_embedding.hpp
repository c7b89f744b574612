#pragma once

#include <torch/types.h>

#include <cstdint>

#include "muffle/features/moments.hpp"

namespace muffle::model {

/// Second moments of generated records, summed by class: the generator's side of
/// features::make_moments_block() for affine lifts. z = [c0; u(x)] / ||[c0; u(x)]||. Works on public data
/// only.
class MomentsEmbedding {
 public:
  /// @param spec  resolved, of kind image or vector
  /// @param like  device and type (float32, or float64 in tests) of the records
  MomentsEmbedding(const features::MomentsSpec& spec, std::int64_t classes, const torch::TensorOptions& like);

  /// S_c = Z_c^T Z_c over the given records of class c only (no communication): C x q^2, each a symmetric q x
  /// q matrix row by row. Differentiable in x: for a loss with gradient R in S_c the gradient in z is (R +
  /// R^T) z, two products of matrices; the D numbers of a record's z z^T are never formed.
  /// @param x       n x d; n may be 0
  /// @param labels  n, int64, in 0..C-1
  torch::Tensor class_sums(const torch::Tensor& x, const torch::Tensor& labels) const;

  std::int64_t features() const { return order_ * order_; }

 private:
  torch::Tensor lifted(const torch::Tensor& x) const;

  std::int64_t classes_, order_, channels_ = 0, height_ = 0, width_ = 0;
  double offset_;
  torch::Tensor blob_, weights_, rows_, columns_;  ///< of plain vectors the last three are empty
};

}  // namespace muffle::model
