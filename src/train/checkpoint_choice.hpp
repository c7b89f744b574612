#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device.hpp"
#include "muffle/core/heartbeat.hpp"
#include "muffle/schema/schema.hpp"
#include "muffle/train/checkpoint.hpp"
#include "muffle/train/data_parallel.hpp"
#include "muffle/train/proxy.hpp"

namespace muffle::train {

/// Which state of a training is kept (train.choose_every): the one whose samples are nearest to what judges
/// it, the release's proxy, as DP-MEPF stops early, or what was held out of a release without one
/// (release::hold_out()). Nothing is trained on either, so its noise is none that the training could have
/// fitted. Every look takes the same codes, so that most of the sampling error is common to all. Of two that
/// are as near, the earlier one. Public: post-processing.
class CheckpointChoice {
 public:
  /// @param judges  at least one; each class weighs as it does in the sum of their squared distances
  /// @param class_share  of generated records
  /// @param network  that is trained on records of this schema
  CheckpointChoice(std::vector<Matching> judges, std::vector<double> class_share,
                   const schema::Schema& schema, const model::GeneratorSettings& network,
                   const TrainSpec& spec, const Placement& placement, Heartbeat heartbeat);

  /// Whether the state after so many steps is looked at.
  bool due(std::uint64_t steps_done) const {
    return steps_done > 0 && (steps_done % every_ == 0 || steps_done == steps_);
  }
  /// Measures the training's state with running statistics of its own, which it leaves there, and keeps a
  /// copy if it is the nearest so far. Collective. @returns its squared distance, the same on every rank.
  double look(DataParallel& training);
  /// Puts the nearest state into the generator: after a look.
  void take(model::Generator& generator) const;

  /// The nearest state so far, for a checkpoint.
  std::optional<ChosenState> state() const;
  /// Goes on from a checkpoint's. @throws ProtocolError  its tensors are not this generator's.
  void resume(const std::optional<ChosenState>& state, const model::Generator& generator);

  std::uint64_t step() const { return step_; }
  double distance() const { return distance_; }

 private:
  std::uint64_t every_, steps_, statistics_batch_;
  torch::Device device_;
  std::shared_ptr<model::TensorCollective> collective_;
  Measurement measurement_;
  std::vector<Matching> judges_;
  std::uint64_t step_ = 0;  ///< of the nearest state; 0: there is none
  double distance_ = 0;
  std::vector<std::pair<std::string, torch::Tensor>> nearest_;  ///< parameters and buffers, on the device
};

}  // namespace muffle::train
