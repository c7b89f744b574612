#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/model/training_curve.hpp"

namespace muffle::train {

/// A float32 tensor by name, row-major.
struct CheckpointTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;

  bool operator==(const CheckpointTensor&) const = default;
};

/// The nearest state so far (checkpoint_choice.hpp).
struct ChosenState {
  std::uint64_t step = 0;                 ///< steps done in it
  double distance = 0;                    ///< squared, to what judges it
  std::vector<CheckpointTensor> tensors;  ///< parameters and buffers

  bool operator==(const ChosenState&) const = default;
};

/// A training after `step` steps: all that the next step depends on beside the settings and the release. The
/// random streams are counter-based, so that (seed, step) is their whole state. Every rank holds the same
/// training state, so one file serves any number of ranks. Public: it is post-processing of a release.
struct Checkpoint {
  std::string train_hash;      ///< hash of the train and model config sections
  std::string release_hash;    ///< SHA-256 of the release it is trained on
  std::string muffle_version;  ///< that wrote it
  int ranks = 1;               ///< that wrote it
  std::uint64_t seed = 0;      ///< of the random streams
  std::uint64_t step = 0;      ///< steps done; the streams' next substream
  double first_loss = 0, last_loss = 0;
  std::vector<CheckpointTensor> tensors;  ///< parameters, buffers and Adam's moments
  /// Of a training with train.choose_every that has looked before this step.
  std::optional<ChosenState> chosen = std::nullopt;
  model::TrainingCurve curve = {};  ///< up to this step
  bool is_private = true;           ///< as the release is that it is trained on

  bool operator==(const Checkpoint&) const = default;
};

inline constexpr int kCheckpointVersion = 3;

/// The file's bytes: a core/container.hpp container of format "muffle-checkpoint"; no pickle
/// (docs/how-to/stop-and-resume.md).
std::string serialize(const Checkpoint& checkpoint);

/// Reads what serialize() wrote. Allocates no more than a small multiple of the input's size. `name` is what
/// errors call it. @throws ProtocolError  anything else: damaged, another version, lying sizes, numbers that
/// are not finite.
Checkpoint parse_checkpoint(std::string_view bytes, const std::string& name);

/// Two files in the run folder, written in turn: while one is replaced the other is there, so that a training
/// that is killed at any moment, also while it writes, leaves one good checkpoint. Written by root alone.
class CheckpointSlots {
 public:
  explicit CheckpointSlots(const std::filesystem::path& folder);

  /// Bytes of the newest good checkpoint of this training; none: start from the beginning. A damaged file,
  /// and one of other settings or another release, is named in the log, passed over and replaced next.
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
