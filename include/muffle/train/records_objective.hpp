#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "muffle/train/objective.hpp"

namespace muffle::train {

/// A Gaussian kernel of records, exp(-||x - x'||^2 / (2 l^2)).
struct KernelToMatch {
  double length_scale = 1;      ///< l
  std::vector<double> weights;  ///< w_c, C numbers >= 0; one: pairs count whatever their labels
};

/// Real records, all of them on every rank. PRIVATE.
struct RecordsToMatch {
  std::vector<KernelToMatch> kernels;
  torch::Tensor x;       ///< m x d, on the generator's device
  torch::Tensor labels;  ///< m, int64, in 0..C-1, there too
};

/// The papers' "full MMD" (DP-HP, eq. 2): the maximum mean discrepancy of the B generated records of a step
/// and of B real ones, drawn anew for each step with replacement, by the kernels themselves, without
/// features:
///
///   sum over kernels of sum_ij w k(x_i, x_j) / B^2 - 2 sum_ij w k(x_i, r_j) / B^2 + sum_ij w k(r_i, r_j) /
///   B^2
///
/// over pairs of one label c, w = w_c (or over all pairs, with one weight). That is what SumsObjective tends
/// to with ever more random features, and with the sums of the drawn records as its target; `unbiased`
/// multiplies the first sum's gradient as it does there. Which records a step has is a function of (seed,
/// step), so that any number of ranks and any device draw the same: K ranks follow one rank up to rounding.
/// The generated records of all ranks are gathered in one sum; each rank compares its own with all.
///
/// Not private: every step's gradient is an exact function of some records. Of releases that are NOT PRIVATE
/// already alone (TrainSpec::match_records).
class RecordsObjective final : public Objective {
 public:
  /// @param options  no average rate, and nothing credible: there is no noise
  RecordsObjective(RecordsToMatch real, ObjectiveOptions options, std::uint64_t seed,
                   std::shared_ptr<model::TensorCollective> collective);

  void set_steps(std::uint64_t steps) override { steps_ = steps; }
  /// Every rank has samples floor(r B / K) .. floor((r + 1) B / K) - 1. Not to be captured into a graph.
  torch::Tensor enqueue_backward(const torch::Tensor& x, const torch::Tensor& labels, std::int64_t batch,
                                 const torch::Tensor& stop_request) override;
  /// Against `batch` real records of its own.
  double loss(const torch::Tensor& x, const torch::Tensor& labels, std::int64_t batch) const override;

 private:
  struct Compared {
    torch::Tensor pull;  ///< whose gradient in x is that of the loss, attached to x
    torch::Tensor seen;
  };
  Compared compare(const torch::Tensor& x, const torch::Tensor& labels, std::int64_t batch,
                   const torch::Tensor& stop_request, std::uint32_t substream) const;

  RecordsToMatch real_;
  std::vector<torch::Tensor> weights_;  ///< of each kernel, on the records' device
  ObjectiveOptions options_;
  std::uint64_t seed_, steps_ = 0;
};

}  // namespace muffle::train
