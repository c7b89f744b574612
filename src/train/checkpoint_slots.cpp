#include "muffle/train/checkpoint_slots.hpp"

#include <spdlog/spdlog.h>

#include <system_error>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::train {
namespace {

/// What a training that was killed while it wrote has left (write_file_atomically's temporary name).
void remove_unfinished(const std::filesystem::path& file) {
  std::string prefix(".");
  prefix.append(file.filename().string()).append(".tmp.");
  const WatchedStep step("looking for the rests of", file);
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(file.parent_path(), ignored), end; at != end;
       at.increment(ignored)) {
    std::error_code kept;
    if (at->path().filename().string().starts_with(prefix)) std::filesystem::remove(at->path(), kept);
  }
}

}  // namespace

CheckpointSlots::CheckpointSlots(const std::filesystem::path& folder)
    : files_{folder / "checkpoint-a.mfl", folder / "checkpoint-b.mfl"} {}

std::optional<std::string> CheckpointSlots::newest(const std::string& train_hash,
                                                   const std::string& release_hash) {
  std::optional<std::string> best;
  std::uint64_t best_step = 0;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    remove_unfinished(files_[i]);
    try {
      if (!is_there(files_[i], "the checkpoint", "The other one is looked for.")) continue;
      std::string bytes = read_file(files_[i]);
      const Checkpoint found = parse_checkpoint(bytes, files_[i].string());
      if (found.train_hash != train_hash || found.release_hash != release_hash) {
        spdlog::info("train: {} is of {}; it is not used", files_[i].string(),
                     found.train_hash != train_hash ? "other train or model settings" : "another release");
        continue;
      }
      if (best && found.step <= best_step) continue;
      best = std::move(bytes);
      best_step = found.step;
      next_ = 1 - i;
    } catch (const Error& e) {
      spdlog::warn("train: the checkpoint {} cannot be used, looking for the other one: {}",
                   files_[i].string(), e.what());
    }
  }
  return best;
}

void CheckpointSlots::save(const Checkpoint& checkpoint) {
  write_file_atomically(files_[next_], serialize(checkpoint));
  next_ = 1 - next_;
}

void CheckpointSlots::remove() noexcept {
  for (const auto& file : files_) {
    const WatchedStep step("removing", file);
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }
}

}  // namespace muffle::train
