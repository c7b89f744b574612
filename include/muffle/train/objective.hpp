#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muffle/model/collective.hpp"
#include "muffle/train/residual_average.hpp"

namespace muffle::train {

/// How a batch's labels were drawn, and which estimate of the gradient is wanted; TrainSpec has the defaults.
struct ObjectiveOptions {
  bool unbiased;
  bool stratified;
  double average_rate = 0;  ///< of moving averages of the residuals, which then make the gradient; 0: none
  std::vector<double> class_share = {};  ///< C, for them: they are in units of classes' means
  bool credible = false;  ///< what noise and sampling alone would make of a residual is not chased
};

/// A map of a release, to be matched by the same sums over generated records.
struct Matching {
  /// sum_i phi(x_i) e_{y_i}^T over the given records: C x D, differentiable in x.
  std::function<torch::Tensor(const torch::Tensor& x, const torch::Tensor& labels)> sums;
  torch::Tensor target;         ///< mu~, C x D, on the device of the records
  std::vector<double> weights;  ///< w_c, C numbers >= 0
  double noise_square = 0;      ///< expected ||noise||^2 in a row of what a step is compared with
  double norm_square = 1;       ///< of phi(x), or nearly, for every record: the map's bound, squared
  // A map without labels has 1 in place of C.
  /// Of a map that is released a minibatch at a time: step s is compared with the one of number s modulo how
  /// many there are; `target` is their mean. Empty: all steps are compared with the target.
  std::vector<torch::Tensor> minibatches{};
};

/// What a training minimises, on all ranks of a collective.
class Objective {
 public:
  explicit Objective(std::shared_ptr<model::TensorCollective> collective)
      : collective_(std::move(collective)) {}
  virtual ~Objective() = default;

  /// Of a training that is resumed: so many steps were done. From there on it counts on its own.
  virtual void set_steps(std::uint64_t steps) = 0;
  /// Adds the gradient of the global batch's loss through this rank's records to whatever x depends on.
  /// Without a look at the result, so that it can be enqueued on a GPU, or captured into a graph. Collective:
  /// every rank calls it, a rank without records too (n = 0).
  /// @param x       n x d, this rank's records of the batch
  /// @param labels  n
  /// @param batch   B, over all ranks
  /// @param stop_request  one number on x's device: 1, this rank asks all to stop, or 0. It travels in the
  /// sums' all-reduce, so that it costs no message.
  /// @returns {loss (plug-in form), stop requests}, double, on x's device, the same on every rank: for
  /// read(). As public as what is matched.
  virtual torch::Tensor enqueue_backward(const torch::Tensor& x, const torch::Tensor& labels,
                                         std::int64_t batch, const torch::Tensor& stop_request) = 0;
  /// The host's copy of what enqueue_backward() returned: waits for the device.
  struct Seen {
    double loss;
    bool stop_requested;
  };
  Seen read(const torch::Tensor& seen) const;
  /// The loss alone. Collective.
  virtual double loss(const torch::Tensor& x, const torch::Tensor& labels, std::int64_t batch) const = 0;

  /// What the next step depends on beside set_steps(), by name, for checkpoints: it shares the storage.
  virtual std::vector<std::pair<std::string, torch::Tensor>> tensors() const { return {}; }

 protected:
  model::TensorCollective& collective() const { return *collective_; }

 private:
  std::shared_ptr<model::TensorCollective> collective_;
};

/// The sum over maps of sum_c w_c ||mu_Q,c - mu~_c||^2 over the global batch of B records, mu_Q = (1/B)
/// sum_j phi(x_j) e_{y_j}^T (docs/math.md, "training"). All ranks' partial sums are added before anything is
/// squared: the loss of a global batch is not the mean of the ranks' losses.
///
/// The plug-in gradient is biased by the batch's own variance. The unbiased one, for phi of norm 1,
/// multiplies mu_Q by B/(B-1) or, with stratified labels, column c by n_c / (n_c - 1), by 1 where n_c = 1.
///
/// With an average rate the gradient is that of -2 sum_c w_c p_c <v_c, mu_Q,c>, v_c the moving average
/// (residual_average.hpp) of the classes' residuals (mu~_c - mu_Q,c) / p_c: as if v_c were the residual. With
/// `credible` the gradient of each row is multiplied by James and Stein's factor max(0, 1 - (noise +
/// sampling) / ||mu_Q,c - mu~_c||^2), so that a class is left alone once it is nearer than noise and sampling
/// alone nearly always are (Morozov's discrepancy principle): noise is its expected square, less two standard
/// deviations of that, (1 - 2 sqrt(2 / D)) E||noise_c||^2.
class SumsObjective final : public Objective {
 public:
  SumsObjective(std::vector<Matching> maps, ObjectiveOptions options,
                std::shared_ptr<model::TensorCollective> collective);

  void set_steps(std::uint64_t steps) override;
  torch::Tensor enqueue_backward(const torch::Tensor& x, const torch::Tensor& labels, std::int64_t batch,
                                 const torch::Tensor& stop_request) override;
  double loss(const torch::Tensor& x, const torch::Tensor& labels, std::int64_t batch) const override;
  /// Of the moving averages, a map each; none without an average rate.
  std::vector<std::pair<std::string, torch::Tensor>> tensors() const override;

 private:
  struct Matched {
    std::vector<torch::Tensor> own_sums;  ///< of each map, C x D, attached to x
    std::vector<torch::Tensor> mean;      ///< mu_Q, C x D
    torch::Tensor counts;                 ///< n_c over all ranks, C x 1
    std::vector<torch::Tensor> target;    ///< of each map, what the mean is to be
    torch::Tensor seen;                   ///< loss and stop requests
  };
  /// The factors of the rows' gradients with `credible`: C x 1 or 1 x 1.
  torch::Tensor credible_part(const Matched& matched, std::size_t map, double batch) const;
  /// @param step  the training's; none: of all of it
  Matched match(const torch::Tensor& x, const torch::Tensor& labels, std::int64_t batch,
                const torch::Tensor& stop_request, std::optional<std::uint64_t> step) const;

  std::vector<Matching> maps_;
  std::vector<torch::Tensor> weights_;  ///< of each map, C x 1
  std::int64_t classes_ = 1;            ///< C; 1 where no map has labels
  ObjectiveOptions options_;
  std::vector<ResidualAverage> averages_;
  std::vector<torch::Tensor> shares_;  ///< for them, of each map, C x 1 or 1 x 1
  std::uint64_t step_ = 0;
};

}  // namespace muffle::train
