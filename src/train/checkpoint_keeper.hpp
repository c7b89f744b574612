#pragma once

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

#include "checkpoint_choice.hpp"
#include "muffle/comm/host_comm.hpp"
#include "muffle/comm/termination.hpp"
#include "muffle/core/error.hpp"
#include "muffle/train/checkpoint.hpp"
#include "muffle/train/data_parallel.hpp"
#include "muffle/train/trainer.hpp"

namespace muffle::train {

/// The checkpoints of one training, on every rank; root alone touches the files, which lie beside the model.
class CheckpointKeeper {
 public:
  /// @param is_private  whether the release is
  /// @param choice  its state is part of a checkpoint; null: there is none. Outlives this.
  CheckpointKeeper(comm::HostComm& comm, const std::filesystem::path& model_file, const TrainSpec& spec,
                   std::string train_hash, std::string release_hash, bool is_private,
                   CheckpointChoice* choice)
      : comm_(comm),
        spec_(spec),
        choice_(choice),
        train_hash_(std::move(train_hash)),
        release_hash_(std::move(release_hash)),
        is_private_(is_private),
        slots_(std::filesystem::absolute(model_file).parent_path()) {}

  /// Takes up the newest good checkpoint, if there is one. Collective.
  void resume(DataParallel& training, TrainReport& report) {
    std::string bytes;
    comm::agree(comm_, "looking for a checkpoint", true, [&] {
      if (comm_.is_root()) bytes = slots_.newest(train_hash_, release_hash_).value_or("");
    });
    bytes = comm::broadcast_text(comm_, bytes);
    if (bytes.empty()) return;
    comm::agree(comm_, "resuming the training", true, [&] {
      const Checkpoint checkpoint = parse_checkpoint(bytes, "the newest checkpoint");
      training.resume(checkpoint);
      if (choice_ != nullptr) choice_->resume(checkpoint.chosen, *training.generator());
      report.first_loss = checkpoint.first_loss;
      report.last_loss = checkpoint.last_loss;
      report.resumed_at = checkpoint.step;
      report.curve = checkpoint.curve;
      if (!comm_.is_root()) return;
      spdlog::info("train: resumed after step {} of {} from {} (written by {} rank(s), muffle {})",
                   checkpoint.step, spec_.steps, slots_.last().string(), checkpoint.ranks,
                   checkpoint.muffle_version);
    });
  }

  /// After a step. Not collective: the others wait for root in the next step's sums. A checkpoint that cannot
  /// be written does not end a training that goes well.
  void save_if_due(const DataParallel& training, const TrainReport& report) {
    if (!comm_.is_root() || training.steps_done() == spec_.steps) return;
    const auto now = Clock::now();
    const double age_s = std::chrono::duration<double>(now - last_).count();
    const bool due = (spec_.checkpoint_every > 0 && training.steps_done() % spec_.checkpoint_every == 0) ||
                     (spec_.checkpoint_every_s > 0 && age_s >= spec_.checkpoint_every_s);
    if (!due) return;
    last_ = now;
    try {
      save(training, report);
    } catch (const IoError& e) {
      spdlog::warn("train: goes on without a checkpoint of step {}: {}", training.steps_done(), e.what());
    }
  }

  /// A rank was told to stop. Collective. @throws StoppedError once the checkpoint is written.
  [[noreturn]] void stop(const DataParallel& training, const TrainReport& report) {
    comm::agree(comm_, "writing a checkpoint", true, [&] {
      if (comm_.is_root()) save(training, report);
    });
    comm::StoppedError error(
        fmt::format("told to stop (SIGTERM or SIGUSR1): the training stopped after step {} of {}, with a "
                    "checkpoint in '{}'. Run the same command again to go on",
                    training.steps_done(), spec_.steps, slots_.last().parent_path().string()));
    error.mark_agreed(/*quiet=*/!comm_.is_root());
    throw error;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void save(const DataParallel& training, const TrainReport& report) {
    Checkpoint c = training.checkpoint();
    c.train_hash = train_hash_;
    c.release_hash = release_hash_;
    c.muffle_version = MUFFLE_VERSION;
    c.is_private = is_private_;
    c.first_loss = report.first_loss;
    c.last_loss = report.last_loss;
    c.curve = report.curve;
    if (choice_ != nullptr) c.chosen = choice_->state();
    slots_.save(c);
    spdlog::debug("train: checkpoint of step {} in {}", c.step, slots_.last().string());
  }

  comm::HostComm& comm_;
  const TrainSpec& spec_;
  CheckpointChoice* choice_;
  std::string train_hash_, release_hash_;
  bool is_private_;
  CheckpointSlots slots_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace muffle::train
