#include "checkpoint_keeper.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "muffle/comm/termination.hpp"
#include "muffle/core/error.hpp"

namespace muffle::train {

CheckpointKeeper::CheckpointKeeper(comm::HostComm& comm, const std::filesystem::path& model_file,
                                   const TrainSpec& spec, std::string train_hash, std::string release_hash)
    : comm_(comm),
      spec_(spec),
      train_hash_(std::move(train_hash)),
      release_hash_(std::move(release_hash)),
      slots_(std::filesystem::absolute(model_file).parent_path()) {}

void CheckpointKeeper::resume(DataParallel& training, TrainReport& report) {
  std::string bytes;
  comm::agree(comm_, "looking for a checkpoint", true, [&] {
    if (comm_.is_root()) bytes = slots_.newest(train_hash_, release_hash_).value_or("");
  });
  bytes = comm::broadcast_text(comm_, bytes);
  if (bytes.empty()) return;
  comm::agree(comm_, "resuming the training", true, [&] {
    const Checkpoint checkpoint = parse_checkpoint(bytes, "the newest checkpoint");
    training.resume(checkpoint);
    report.first_loss = checkpoint.first_loss;
    report.last_loss = checkpoint.last_loss;
    report.resumed_at = checkpoint.step;
    if (!comm_.is_root()) return;
    spdlog::info("train: resumed after step {} of {} from {} (written by {} rank(s), muffle {})",
                 checkpoint.step, spec_.steps, slots_.last().string(), checkpoint.ranks,
                 checkpoint.muffle_version);
  });
}

void CheckpointKeeper::save_if_due(const DataParallel& training, const TrainReport& report) {
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

void CheckpointKeeper::stop(const DataParallel& training, const TrainReport& report) {
  comm::agree(comm_, "writing a checkpoint", true, [&] {
    if (comm_.is_root()) save(training, report);
  });
  comm::StoppedError error(fmt::format(
      "told to stop (SIGTERM or SIGUSR1): the training stopped after step {} of {}, with a checkpoint "
      "in '{}'. Run the same command again to go on",
      training.steps_done(), spec_.steps, slots_.last().parent_path().string()));
  error.mark_agreed(/*quiet=*/!comm_.is_root());
  throw error;
}

void CheckpointKeeper::save(const DataParallel& training, const TrainReport& report) {
  Checkpoint c = training.checkpoint();
  c.train_hash = train_hash_;
  c.release_hash = release_hash_;
  c.muffle_version = MUFFLE_VERSION;
  c.first_loss = report.first_loss;
  c.last_loss = report.last_loss;
  slots_.save(c);
  spdlog::debug("train: checkpoint of step {} in {}", c.step, slots_.last().string());
}

}  // namespace muffle::train
