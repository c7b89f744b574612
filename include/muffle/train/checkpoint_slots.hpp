#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "muffle/train/checkpoint.hpp"

namespace muffle::train {

/// Two files in the run folder, written in turn: while one is replaced the other is there, so that a training
/// that is killed at any moment, also while it writes, leaves one good checkpoint. Written by root alone.
class CheckpointSlots {
 public:
  explicit CheckpointSlots(const std::filesystem::path& folder);

  /// Bytes of the newest good checkpoint of this training; none: start from the beginning. A damaged file,
  /// and one of other settings or another release, is named in the log and passed over; it is the next to be
  /// replaced.
  std::optional<std::string> newest(const std::string& train_hash, const std::string& release_hash);

  /// Replaces the slot that does not hold the newest good checkpoint; complete or not at all
  /// (write_file_atomically). @throws IoError  the other slot is as good as before.
  void save(const Checkpoint& checkpoint);

  /// Once the stage is noted as done nothing needs them. Never fails: a file that stays does no harm.
  void remove() noexcept;

  const std::filesystem::path& slot(std::size_t i) const { return files_[i]; }
  /// Where the last save() wrote, or newest() read.
  const std::filesystem::path& last() const { return files_[1 - next_]; }

 private:
  std::array<std::filesystem::path, 2> files_;
  std::size_t next_ = 0;
};

}  // namespace muffle::train
