#pragma once

#include <torch/types.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "muffle/model/collective.hpp"

namespace muffle::train {

/// Sums all parameters' gradients over the ranks, in a few large messages. The gradients *are* the buckets:
/// each parameter's grad is a view of one, so nothing is copied. Sum, not mean: each rank's part already
/// carries 1/B of the global batch.
class GradientReducer {
 public:
  static constexpr std::size_t kBucketBytes = std::size_t{4} << 20;

  /// @param parameters  the same on every rank, in the same order; their grads are replaced by views of the
  /// buckets.
  GradientReducer(std::vector<torch::Tensor> parameters, std::shared_ptr<model::TensorCollective> collective,
                  std::size_t bucket_bytes = kBucketBytes);

  /// Sets all gradients to zero, before a backward pass. (An optimizer's zero_grad() may drop them: do not
  /// call it.)
  void zero();
  /// After the backward pass. Collective.
  /// @throws InvariantError  a gradient no longer lies in its bucket.
  void reduce();

  std::size_t buckets() const { return buckets_.size(); }

 private:
  std::vector<torch::Tensor> parameters_;
  std::vector<const void*> places_;
  std::vector<torch::Tensor> buckets_;
  std::shared_ptr<model::TensorCollective> collective_;
};

}  // namespace muffle::train
