#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "muffle/comm/host_comm.hpp"
#include "muffle/embed/artifact.hpp"
#include "muffle/model/model_info.hpp"
#include "muffle/model/spec.hpp"

namespace muffle::train {

struct TrainSpec {
  std::uint64_t steps = 600;
  std::size_t batch = 500;          ///< global: over all ranks
  double learning_rate = 0.01;      ///< Adam
  double decay = 0.9;               ///< learning rate x decay ...
  std::uint64_t decay_every = 120;  ///< ... every so many steps
  bool unbiased = false;            ///< the unbiased form of the objective (spec section 6)
  bool stratified = true;  ///< labels meet the class shares in every batch, instead of independent draws
  std::uint64_t seed = 1;
  /// Starts from the closed form of the release's second moments, and ends with the better of the two models
  /// (proxy.hpp).
  bool from_moments = false;
  // When root writes a checkpoint; neither changes the model.
  std::uint64_t checkpoint_every = 0;  ///< after every so many steps; 0: by time alone
  double checkpoint_every_s = 60;      ///< when the last one is so old; 0: by steps alone
};

struct TrainReport {
  std::string model_hash;  ///< SHA-256 of model.mfl
  double first_loss = 0, last_loss = 0;
  std::optional<model::ProxyChoice> choice;  ///< TrainSpec::from_moments: which model was written
  std::uint64_t resumed_at = 0;              ///< step of the checkpoint that it went on from; 0: none
  double seconds = 0, seconds_in_collectives = 0;
};

/// Trains a generator against a release and writes model.mfl on root. Needs nothing private. Collective; root
/// alone needs the artifact (it is broadcast). K ranks follow the trajectory of one rank, up to rounding.
///
/// With TrainSpec::from_moments the model is the trained one or the closed form that it started from,
/// whichever the release's proxy says is nearer to the data.
///
/// Beside model_file lie two checkpoints while it trains (checkpoint_slots.hpp). The newest good one of the
/// same settings and release is taken up: on the CPU, with as many ranks and threads, the model is then the
/// same bit for bit as that of a training that was never interrupted.
/// @throws comm::StoppedError  a rank was told to stop (comm/termination.hpp): on every rank, after the same
/// step, with a checkpoint written.
/// @param architecture  its schema is not looked at: the release has its own.
/// @param train_hash  stored in the model file, so that a later run can tell whether it matches.
TrainReport train(comm::HostComm& comm, const std::filesystem::path& release_file,
                  const std::filesystem::path& model_file, const model::GeneratorSpec& architecture,
                  const TrainSpec& spec, const std::string& train_hash, int threads);

/// Debian's LibTorch starts with one thread: set it from the cores that the rank owns (core/threads.hpp).
void set_torch_threads(int threads);

}  // namespace muffle::train
