#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "muffle/core/hash.hpp"
#include "muffle/core/heartbeat.hpp"

namespace muffle {

/// A stage after the release, as stages.json in the run folder knows it: what its output was made from.
struct StageWork {
  std::string stage;     ///< "train", "sample" or "evaluate"
  std::string settings;  ///< hash of all else that the output depends on
  /// The one file that it reads: release, model or samples. None: it reads what may be records. Whatever told
  /// later whether they are the same would tell others about them, so the stage is not noted, and done each
  /// time.
  std::optional<PublicFile> input;
  std::filesystem::path folder;  ///< the run folder
};

/// Why the stage must be done; empty if its output lies in the run folder, byte for byte as it was made, out
/// of this input by these settings. Local.
/// @param heartbeat  called from time to time: hashing takes long. @throws what it throws, IoError, and
/// ProtocolError: stages.json has an entry of the stage that cannot be read.
std::string why_not_done(const StageWork& work, const Heartbeat& heartbeat);

/// Notes in stages.json that the stage is done and what it wrote. Local. @throws IoError.
/// @param outputs  files or folders, relative to the run folder, that hold nothing private; hashed here.
void note_done(const StageWork& work, const std::vector<std::string>& outputs, const Heartbeat& heartbeat);

}  // namespace muffle
