#include "place_of_data.hpp"

#include <fmt/format.h>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::app {

std::filesystem::path real_path(const std::filesystem::path& path) {
  try {
    const std::filesystem::path full = watched::canonical(path);
    return full.has_filename() ? full : full.parent_path();
  } catch (const std::filesystem::filesystem_error& e) {
    throw IoError(
        fmt::format("the path '{}' leads nowhere: {}. Check it and your permissions. Nothing was "
                    "charged or drawn.",
                    path.string(), e.code().message()));
  }
}

std::string place_of_data(const Config& config) {
  Sha256 hash;
  for (const std::string& file : {config.data.features, config.data.labels}) {
    if (file.empty()) continue;  // unlabelled records, or labels beside them
    hash.update(PublicBytes(real_path(data::resolve_path(config.data, file, 0)).string() + "\n"));
  }
  return to_hex(hash.digest());
}

std::string release_hash(const Config& config) {
  const std::string settings = stage_hash(config, Stage::kRelease);
  if (!config.data.generate.empty()) return settings;
  return to_hex(sha256(PublicBytes(settings + "\n" + place_of_data(config))));
}

}  // namespace muffle::app
