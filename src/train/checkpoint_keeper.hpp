#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "muffle/comm/host_comm.hpp"
#include "muffle/train/checkpoint_slots.hpp"
#include "muffle/train/data_parallel.hpp"
#include "muffle/train/trainer.hpp"

namespace muffle::train {

/// The checkpoints of one training, on every rank; root alone touches the files, which lie beside the model.
class CheckpointKeeper {
 public:
  CheckpointKeeper(comm::HostComm& comm, const std::filesystem::path& model_file, const TrainSpec& spec,
                   std::string train_hash, std::string release_hash);

  /// Takes up the newest good checkpoint, if there is one. Collective.
  void resume(DataParallel& training, TrainReport& report);
  /// After a step. Not collective: the others wait for root in the next step's sums. A checkpoint that cannot
  /// be written does not end a training that goes well.
  void save_if_due(const DataParallel& training, const TrainReport& report);
  /// A rank was told to stop. Collective. @throws StoppedError once the checkpoint is written.
  [[noreturn]] void stop(const DataParallel& training, const TrainReport& report);

 private:
  using Clock = std::chrono::steady_clock;

  void save(const DataParallel& training, const TrainReport& report);

  comm::HostComm& comm_;
  const TrainSpec& spec_;
  std::string train_hash_, release_hash_;
  CheckpointSlots slots_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace muffle::train
