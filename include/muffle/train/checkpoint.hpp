#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muffle::train {

/// A float32 tensor by name, row-major.
struct CheckpointTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;

  bool operator==(const CheckpointTensor&) const = default;
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

  bool operator==(const Checkpoint&) const = default;
};

inline constexpr int kCheckpointVersion = 1;

/// The file's bytes: a core/container.hpp container of format "muffle-checkpoint"; no pickle
/// (docs/how-to/stop-and-resume.md).
std::string serialize(const Checkpoint& checkpoint);

/// Reads what serialize() wrote. Allocates no more than a small multiple of the input's size. `name` is what
/// errors call it. @throws ProtocolError  anything else: damaged, another version, lying sizes, numbers that
/// are not finite.
Checkpoint parse_checkpoint(std::string_view bytes, const std::string& name);

}  // namespace muffle::train
