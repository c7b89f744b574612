#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muffle/comm/detachment.hpp"
#include "muffle/comm/host_comm.hpp"
#include "muffle/core/denormals.hpp"
#include "muffle/model/generator_kind.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/model/network.hpp"
#include "muffle/train/settings.hpp"

namespace muffle::train {

/// Codes of all ranks that a trained generator's running statistics are taken from, unless a batch has more:
/// their mean is known to 1.6 % of a standard deviation.
inline constexpr std::uint64_t kStatisticsBatch = 4'000;

/// Records of a data set, as TrainSpec::match_records needs them. PRIVATE.
struct RealRecords {
  std::vector<float> x;              ///< m x d, row-major, scaled to [0, 1]
  std::vector<std::int64_t> labels;  ///< m, in 0..C-1
};

/// Where and beside whom a training runs; none of it changes the model but by rounding.
struct TrainSetup {
  int gpu = -1;              ///< this rank's, as this process numbers them; -1: the CPU, on every rank
  bool shared_gpus = false;  ///< some ranks share one: sums go through host memory, as NCCL refuses that
  bool cuda_graph = false;   ///< on GPUs: replay the step as one CUDA graph, where it can be captured
  bool nccl_alone = false;   ///< for tests: one rank on a GPU sums over NCCL too
  /// Of one wait for the GPUs; shorter than the host communicator's.
  std::chrono::milliseconds device_deadline{std::chrono::minutes(1)};
  /// Called after every step, and around what comes before and after them: true after a step stops the
  /// training, like a signal. May be empty.
  comm::Detachment::Heartbeat heartbeat = {};
  features::AssetFiles assets = {};  ///< files that maps of the release are made by, where they lie here
  /// TrainSpec::match_records: all of them, on every rank. Else train() can reach no record.
  std::shared_ptr<const RealRecords> records = nullptr;
};

/// GPUs that LibTorch can use in this process; 0 in builds without CUDA.
int torch_gpus() noexcept;
/// "this muffle was built without CUDA"; empty where there are some.
std::string why_no_torch_gpus();

/// Which of a training's models was nearest to what judges them (TrainSpec::choose_every).
struct CheckpointChosen {
  std::uint64_t step = 0;                  ///< steps done in it
  double distance = 0, last_distance = 0;  ///< squared, of it and of the last model

  bool operator==(const CheckpointChosen&) const = default;
};

/// What a training says of itself. Public: post-processing of the release.
struct TrainReport {
  double first_loss = 0, last_loss = 0;
  std::optional<model::ProxyChoice> choice;  ///< TrainSpec::from_moments: which model was written
  std::optional<CheckpointChosen> chosen;    ///< TrainSpec::choose_every
  std::uint64_t resumed_at = 0;              ///< step of the checkpoint that it went on from; 0: none
  model::TrainingCurve curve;                ///< of some hundred steps, and of as many looks
};

/// Trains a generator against a release and writes model.mfl on root. Needs nothing private, but for
/// TrainSpec::match_records. Collective; every rank has the release's bytes. K ranks follow the trajectory of
/// one rank, up to rounding.
///
/// Beside model_file lie two checkpoints (checkpoint.hpp) from then on; they are the caller's to
/// remove, once it has noted that the training is done. The newest good one of the same settings and release
/// is taken up: on the CPU, with as many ranks and threads, the model is then the same bit for bit as that of
/// a training that was never interrupted.
/// @param release_name  what errors call the release
/// @param train_hash  stored in the model file, so that a later run can tell whether it matches.
/// @throws comm::StoppedError  a rank was told to stop (comm/termination.hpp): on every rank, after the same
/// step, with a checkpoint written.
/// @throws DeviceError  a GPU cannot be used. @throws ConfigError  also: records are to be matched, and the
/// release has noise: a model of it must not have seen them.
TrainReport train(comm::HostComm& comm, const std::string& release_bytes, const std::string& release_name,
                  const std::filesystem::path& model_file, const model::NetworkSettings& architecture,
                  const TrainSpec& spec, const std::string& train_hash, int threads,
                  const TrainSetup& setup = {});

/// Debian's LibTorch starts with one thread: set it from the cores that the rank owns (core/process.hpp).
void set_torch_threads(int threads);

/// Fits a closed-form generator to a release and writes model.mfl on root. Needs nothing private. Collective;
/// root alone reads and computes, and all throw alike. `train_hash` as for train().
/// @throws ConfigError (the release lacks what the generator is made of), DataError (the noise hides
/// everything), IoError, ProtocolError, CommError; StoppedError: told to stop between two steps of the fit,
/// nothing was written.
void fit_closed_form(comm::HostComm& comm, const std::filesystem::path& release_file,
                     const std::filesystem::path& model_file, const model::ClosedFormSettings& generator,
                     const std::string& train_hash);

/// FlushDenormals on the calling thread and its OpenMP workers. Once pixels saturate, the sigmoid's gradients
/// are denormal, and a training step takes several times as long; such gradients move nothing. Scoped, so
/// that everything else in the process (the privacy accountant above all) keeps IEEE arithmetic.
class FlushDenormalsOfTeam {
 public:
  /// @param threads  the OpenMP team that the calling thread computes with
  explicit FlushDenormalsOfTeam(int threads);
  ~FlushDenormalsOfTeam();
  FlushDenormalsOfTeam& operator=(FlushDenormalsOfTeam&&) = delete;

 private:
  std::vector<std::optional<FlushDenormals>> team_;
};

}  // namespace muffle::train
