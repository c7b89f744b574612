#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace muffle::features {

/// A public file that a map is made by, beside its settings. A release states what it is, never where it
/// lies: no path is ever taken from somebody else's file.
struct Asset {
  std::string digest;  ///< SHA-256 of its bytes, 64 hexadecimal digits
  std::uint64_t bytes = 0;
  std::string license;           ///< an SPDX identifier, as its maker states it
  std::filesystem::path file{};  ///< here; empty: this process was not told where it is
};

/// Where files lie, by Asset::digest.
using AssetFiles = std::map<std::string, std::filesystem::path>;

}  // namespace muffle::features
