#pragma once

#include <filesystem>
#include <string>

#include "muffle/app/config.hpp"

namespace muffle::app {

/// However it is spelt. @throws IoError  it leads nowhere.
std::filesystem::path real_path(const std::filesystem::path& path);

/// Of the record files, however their paths are spelt: the hash of their real paths. @throws IoError.
std::string place_of_data(const Config& config);

/// What a release follows from: settings, and which files; it states this as config_sha256. On root, whose
/// paths are the job's. @throws IoError.
std::string release_hash(const Config& config);

}  // namespace muffle::app
