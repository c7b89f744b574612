#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "muffle/core/hash.hpp"

namespace muffle::synth {

/// Samples that sample() wrote.
struct ListedSamples {
  PublicFile file;
  std::string hash;                        ///< SHA-256, hex
  std::vector<std::string> class_names{};  ///< Schema::class_names of their model
};
/// The file as samples.json beside it lists it, byte for byte; none if it does not: then the file may be
/// anything, records among it. @param heartbeat  called after every MiB. @throws IoError.
std::optional<ListedSamples> listed_samples(const std::filesystem::path& file,
                                            const Heartbeat& heartbeat = {});

}  // namespace muffle::synth
