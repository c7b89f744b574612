#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "muffle/model/generator.hpp"
#include "muffle/train/checkpoint.hpp"
#include "muffle/train/gradient_reducer.hpp"
#include "muffle/train/objective.hpp"
#include "muffle/train/records_objective.hpp"
#include "muffle/train/settings.hpp"

namespace muffle::train {

class StepGraph;

/// What a generator is trained on.
struct Problem {
  std::vector<Matching> maps;
  std::vector<double> class_share;  ///< by which labels are drawn
  torch::Device device;
  /// In place of `maps`, which are none then.
  std::optional<RecordsToMatch> records = std::nullopt;
};

/// The training of one generator on all ranks of a collective, step by step. Codes and labels are a pure
/// function of (seed, step, global sample index) and every sum runs over all ranks, so K ranks of batch b
/// follow one rank of batch K b up to the rounding of float32 sums in another order. Every method but the
/// getters is collective.
class DataParallel {
 public:
  /// @param spec  within the ranges of its keys. @throws ConfigError  a generator that cannot be built.
  DataParallel(const model::NetworkSettings& network, const schema::Schema& schema, const TrainSpec& spec,
               Problem problem, std::shared_ptr<model::TensorCollective> collective);
  ~DataParallel();

  /// From the fourth step on, a step is one CUDA graph, launched as a whole: samples, sums, backward pass and
  /// optimizer. Where it cannot be captured (a CPU, a LibTorch before 2, sums through host memory, an error
  /// while capturing on any rank) steps stay as they are, and the log says why.
  void use_graph() { graph_wanted_ = true; }
  /// Whether the last step was a graph's.
  bool used_graph() const { return graph_ != nullptr; }

  /// One step. @returns the loss of the batch, before it. @throws InvariantError  the loss is not finite.
  /// @param wish_to_stop  this rank was told to stop. It travels with the partial embeddings, in no message
  /// of its own; stop_agreed() then says on every rank, after the same step, whether any rank wished it.
  double step(bool wish_to_stop = false);
  bool stop_agreed() const { return stop_agreed_; }
  /// Replaces the running statistics, which lag behind, by those of one large batch of fixed codes.
  /// @returns the loss of that batch in evaluation mode: what sampling will give.
  double take_statistics(std::uint64_t batch);
  /// Largest difference between any rank's parameters and root's, relative to root's largest. Identical
  /// arithmetic gives 0.
  double disagreement();

  /// Step, parameters, running statistics and Adam's moments; the caller fills in the rest. Not collective:
  /// all ranks hold the same.
  Checkpoint checkpoint() const;
  /// Continues where `checkpoint` was taken, with any number of ranks: with the same number the steps are the
  /// same, bit for bit, on the CPU. Not collective, but all ranks do it, with the same checkpoint.
  /// @throws ProtocolError  its tensors are not this training's.
  void resume(const Checkpoint& checkpoint);

  /// Of the last step.
  double learning_rate() const { return learning_rate_; }
  std::uint64_t steps_done() const { return step_; }
  const std::shared_ptr<model::Generator>& generator() const { return generator_; }

 private:
  struct Batch {
    torch::Tensor codes, labels;
  };
  /// This rank's part of a global batch: samples floor(r B / K) .. floor((r+1) B / K) - 1.
  Batch draw(std::uint32_t substream, std::uint64_t batch) const;
  /// Forward, objective, backward and the gradients' sums. @returns what Objective::read() reads.
  torch::Tensor enqueue(const torch::Tensor& codes, const torch::Tensor& labels,
                        const torch::Tensor& stop_request);

  TrainSpec spec_;
  std::vector<double> class_share_;
  torch::Device device_;
  std::shared_ptr<model::TensorCollective> collective_;
  std::shared_ptr<model::Generator> generator_;
  std::unique_ptr<Objective> objective_;
  GradientReducer reducer_;
  torch::optim::Adam optimizer_;
  std::uint64_t step_ = 0;
  bool stop_agreed_ = false;
  double learning_rate_ = 0;
  bool graph_wanted_ = false;
  int eager_steps_ = 0;  ///< of this process: a graph is captured once all is warm
  std::unique_ptr<StepGraph> graph_;
};

}  // namespace muffle::train
