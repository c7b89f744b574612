#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>

#include "muffle/model/collective.hpp"

namespace muffle::model {

/// Batch normalisation over the columns of an n x F tensor (Ioffe & Szegedy 2015) whose batch is the sum of
/// all ranks' rows: K ranks of batch b normalise exactly as one rank of batch K b. A rank may have none.
///
/// Training mode, forward: one all-reduce of (count, sum, sum of squares), in double. Backward: one
/// all-reduce of (sum dy, sum dy xhat), in double. Both are collective: every rank runs forward and backward,
/// in the same order. The gradients of weight and bias are this rank's part only; the trainer sums all
/// parameters' gradients. Evaluation mode: the running statistics, no communication.
class SyncBatchNorm : public torch::nn::Module {
 public:
  /// @param collective  null: this process alone.
  SyncBatchNorm(std::int64_t features, std::shared_ptr<TensorCollective> collective);

  /// @param x  n x F, float32 or float64
  torch::Tensor forward(const torch::Tensor& x);
  /// Weight of the newest batch in the running statistics: 0.1 as in torch; 1 forgets what was before.
  void set_momentum(double momentum) { momentum_ = momentum; }

  static constexpr double kEps = 1e-5;
  static constexpr double kMomentum = 0.1;

  torch::Tensor weight, bias;               ///< F
  torch::Tensor running_mean, running_var;  ///< F; the variance with N - 1 below, as in torch

 private:
  std::shared_ptr<TensorCollective> collective_;
  double momentum_ = kMomentum;
};

}  // namespace muffle::model
