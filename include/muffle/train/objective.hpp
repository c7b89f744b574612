#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "muffle/model/collective.hpp"

namespace muffle::train {

/// How a batch's labels were drawn, and which estimate of the gradient is wanted; TrainSpec has the defaults.
struct ObjectiveOptions {
  bool unbiased;
  bool stratified;
};

/// A map of a release, to be matched by the same sums over generated records.
struct Matching {
  /// sum_i phi(x_i) e_{y_i}^T over the given records: C x D, differentiable in x. ||phi(x)|| = 1.
  std::function<torch::Tensor(const torch::Tensor& x, const torch::Tensor& labels)> sums;
  torch::Tensor target;         ///< mu~, C x D, on the device of the records
  std::vector<double> weights;  ///< w_c, C numbers >= 0
  // A map without labels has 1 in place of C.
};

/// The sum over maps of sum_c w_c ||mu_Q,c - mu~_c||^2 over the global batch of B records, mu_Q = (1/B)
/// sum_j phi(x_j) e_{y_j}^T (docs/math.md, "training"). All ranks' partial sums are added before anything is
/// squared: the loss of a global batch is not the mean of the ranks' losses.
///
/// The plug-in gradient is biased by the batch's own variance. The unbiased one, for phi of norm 1,
/// multiplies mu_Q by B/(B-1) or, with stratified labels, column c by n_c / (n_c - 1), by 1 where n_c = 1.
class Objective {
 public:
  Objective(std::vector<Matching> maps, ObjectiveOptions options,
            std::shared_ptr<model::TensorCollective> collective);

  /// Adds the gradient of the global batch's loss through this rank's records to whatever x depends on.
  /// Without a look at the result, so that it can be enqueued on a GPU, or captured into a graph. Collective:
  /// every rank calls it, a rank without records too (n = 0).
  /// @param x       n x d, this rank's records of the batch
  /// @param labels  n
  /// @param batch   B, over all ranks
  /// @param stop_request  one number on x's device: 1, this rank asks all to stop, or 0. It travels in the
  /// sums' all-reduce, so that it costs no message.
  /// @returns {loss (plug-in form), stop requests}, double, on x's device, the same on every rank: for
  /// read(). Public.
  torch::Tensor enqueue_backward(const torch::Tensor& x, const torch::Tensor& labels, std::int64_t batch,
                                 const torch::Tensor& stop_request) const;
  /// The host's copy of what enqueue_backward() returned: waits for the device.
  struct Seen {
    double loss;
    bool stop_requested;
  };
  Seen read(const torch::Tensor& seen) const;
  /// The loss alone. Collective.
  double loss(const torch::Tensor& x, const torch::Tensor& labels, std::int64_t batch) const;

 private:
  struct Matched {
    std::vector<torch::Tensor> own_sums;  ///< of each map, C x D, attached to x
    std::vector<torch::Tensor> mean;      ///< mu_Q, C x D
    torch::Tensor counts;                 ///< n_c over all ranks, C x 1
    torch::Tensor seen;                   ///< loss and stop requests
  };
  Matched match(const torch::Tensor& x, const torch::Tensor& labels, std::int64_t batch,
                const torch::Tensor& stop_request) const;

  std::vector<Matching> maps_;
  std::vector<torch::Tensor> weights_;  ///< of each map, C x 1
  std::int64_t classes_ = 1;            ///< C; 1 where no map has labels
  ObjectiveOptions options_;
  std::shared_ptr<model::TensorCollective> collective_;
};

}  // namespace muffle::train
