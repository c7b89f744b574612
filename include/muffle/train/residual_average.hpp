#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace muffle::train {

/// The moving average by which a map is matched (train.average_rate; dos Santos et al. 2019, DP-MEPF): a
/// matrix of C x D numbers that Adam (betas 0.5 and 0.999) moves towards the residuals of one batch after the
/// other. It starts at 0. Adam's epsilon, 1e-8, is of no weight: the loss is the *sum* of squares. (As
/// published it is their mean, whose gradients of about 1e-9 are below that epsilon, so that the average
/// moves 10 to 100 times slower than its rate says.) Every rank holds the same, and enqueues the same
/// operations.
class ResidualAverage {
 public:
  static constexpr double kBeta1 = 0.5, kBeta2 = 0.999, kEps = 1e-8;

  /// @param like  of its shape, type and device
  ResidualAverage(const torch::Tensor& like, double rate);

  /// One step towards the residual. @returns the average.
  const torch::Tensor& step(const torch::Tensor& residual);

  /// Its tensors by name, for checkpoints: they share its storage.
  std::vector<std::pair<std::string, torch::Tensor>> tensors() const;
  /// Beside the tensors, all that the next step depends on.
  void set_steps(std::uint64_t steps);

 private:
  double rate_;
  torch::Tensor value_, mean_, square_;
  torch::Tensor steps_;  ///< on the device: a recorded graph counts them, too
};

}  // namespace muffle::train
