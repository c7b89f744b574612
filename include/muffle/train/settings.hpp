#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "muffle/comm/gpu_choice.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/features/feature_map.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/model/generator_kind.hpp"
#include "muffle/release/plan.hpp"

namespace muffle::train {

/// Substreams of codes and labels: a training step's number; behind them those that models are measured with,
/// and those that the running statistics are taken from.
inline constexpr std::uint32_t kMeasuringSubstream = std::numeric_limits<std::uint32_t>::max() - 1;
inline constexpr std::uint32_t kStatisticsSubstream = kMeasuringSubstream + 1;

/// What a training does; all but the checkpoints change the model.
struct TrainSpec {
  std::uint64_t steps = 600;
  std::size_t batch = 500;          ///< global: over all ranks
  double learning_rate = 0.01;      ///< Adam
  double decay = 0.9;               ///< learning rate x decay ...
  std::uint64_t decay_every = 120;  ///< ... every so many steps
  double beta1 = 0.9;               ///< Adam's first beta: how much of the last gradients a step keeps
  /// Of moving averages of the residuals by Adam (residual_average.hpp), DP-MEPF's way; 0: the residuals of
  /// the batch.
  double average_rate = 0;
  bool credible =
      false;  ///< what noise and sampling alone would make of a residual is not chased (objective.hpp)
  bool unbiased = false;   ///< the unbiased form of the objective (objective.hpp)
  bool stratified = true;  ///< labels meet the class shares in every batch, instead of independent draws
  std::uint64_t seed = 1;
  /// "NAME=FACTOR": what a map's squared distance counts in the objective; of others the square of their
  /// weight in the release. Post-processing: a release may be trained on with any (DP-HP's gamma).
  std::vector<std::string> loss_weights{};
  /// Records themselves are matched, by the kernels that the maps' features stand for, in place of released
  /// sums (records_objective.hpp): NOT PRIVATE. Of releases without noise alone.
  bool match_records = false;
  /// Starts from the closed form of the release's second moments, and ends with the better of the two models
  /// (proxy.hpp).
  bool from_moments = false;
  bool keep_trained = false;  ///< the trained model is written whatever the proxy says: to measure its choice
  /// After so many steps, again and again, and at the end the model is compared with the release's proxy or,
  /// without one, with numbers that are held out (release/held_out.hpp), and the nearest one is kept
  /// (train/checkpoint_choice.hpp); 0: the last one is.
  std::uint64_t choose_every = 0;
  // When root writes a checkpoint; neither changes the model.
  std::uint64_t checkpoint_every = 0;  ///< after every so many steps; 0: by time alone
  double checkpoint_every_s = 60;      ///< when the last one is so old; 0: by steps alone
};

/// The section [train].
struct Settings : TrainSpec {
  comm::DeviceWish device = comm::DeviceWish::kAuto;
  comm::RankWish ranks;
  bool cuda_graph = false;  ///< on GPUs: replay the step as one CUDA graph, where it can be captured

  void declare(settings::Keys& keys);
  /// How they go with the generator that is chosen.
  void problems(const model::GeneratorSettings& generator, settings::Problems& problems) const;
  /// What a release of these maps lacks for them, and what of the generator does not fit the records. The
  /// generator's own problems() were looked at before.
  void release_problems(const model::GeneratorSettings& generator, const schema::Schema& schema,
                        const std::vector<features::NamedMap>& maps, settings::Problems& problems) const;
};

/// What a training with train.init = "moments" starts from, in a release of these maps; null: there is none.
const features::SecondMoments* start_of(const std::vector<features::NamedMap>& maps,
                                        settings::Problems& problems);

/// The maps of a release that a network is trained on, all at once: those of role `match` that have a twin
/// (model/twin_kind.hpp). Second moments are for closed forms, and only a training that starts from one
/// (train.init = "moments") is trained on them too; they come first.
std::vector<std::size_t> matched_maps(const std::vector<features::NamedMap>& maps, bool from_moments);

/// The factor of the map's squared distance in the objective (TrainSpec::loss_weights).
double loss_weight(const TrainSpec& spec, const features::NamedMap& map);
/// Which of loss_weights name no map that is trained on.
void loss_weight_problems(const TrainSpec& spec, const std::vector<features::NamedMap>& maps,
                          settings::Problems& problems);

/// What a release of these maps lacks to choose checkpoints by (TrainSpec::choose_every).
void choice_problems(const TrainSpec& spec, const std::vector<features::NamedMap>& maps,
                     settings::Problems& problems);

/// Of a training that matches records: which of the maps have no kernel that could take their place.
void kernel_problems(const TrainSpec& spec, const std::vector<features::NamedMap>& maps,
                     settings::Problems& problems);

/// What of a training does not go with maps that are released a minibatch at a time.
void minibatch_problems(const TrainSpec& spec, const std::vector<features::NamedMap>& maps,
                        settings::Problems& problems);

/// Which of the maps that a training uses the network does not make records for (model::takes_relaxed()).
void relaxed_problems(const model::NetworkSettings& network, const std::vector<features::NamedMap>& maps,
                      const TrainSpec& spec, settings::Problems& problems);

/// Codes of all ranks that a trained generator's running statistics are taken from: kStatisticsBatch
/// (trainer.hpp), or the fewer the more numbers the network has of each at once.
std::uint64_t statistics_batch(const model::GeneratorSettings& network, const schema::Schema& schema,
                               const TrainSpec& spec);

/// What making a model of a release takes, for `muffle plan`. All 0 where nothing can be made of it.
struct Cost {
  std::uint64_t parameters = 0;  ///< of the trained network; 0: none is trained
  double step_flops = 0.0;       ///< the maps' part of a step, all ranks together
  double step_flops_each = 0.0;  ///< a rank's
  // Bytes at once: the large arrays.
  std::uint64_t fit_root = 0;  ///< the coordinator while it fits a closed form and writes it
  std::uint64_t memory = 0;    ///< a training, every rank; the coordinator's, where it has the most
  double step_sent = 0.0;      ///< bytes that a rank sends in a step, by ring all-reduces
  double training_sent = 0.0;  ///< the same over all steps
  // Bytes that are all-reduced in a step: all of them, and the parts.
  std::uint64_t step_wire = 0;
  std::uint64_t step_embedding = 0;   ///< the batch's C x D float32 sums of all maps, and C counts
  std::uint64_t step_batch_norm = 0;  ///< moments, forward and backward
  std::uint64_t step_gradients = 0;
};

Cost cost(const release::ReleasePlan& plan, const model::GeneratorSettings& generator, const TrainSpec& spec,
          std::uint64_t ranks);

}  // namespace muffle::train
