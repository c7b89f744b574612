#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/json_fields.hpp"

namespace muffle::features {

/// What a network takes: float32 numbers (scale x - mean) / std, channel by channel, of pixels x in [0, 1].
struct NetworkInput {
  std::size_t channels = 0, height = 0, width = 0;
  bool bgr = false;  ///< its three channels are blue, green, red
  double scale = 1.0;
  std::vector<double> mean, std;  ///< of each channel, in the network's order

  nlohmann::json to_json() const;
  static NetworkInput read(const JsonFields& fields);
  bool operator==(const NetworkInput&) const = default;
};

/// One of its outputs: so many numbers of one image. A flat output has height and width 1.
struct NetworkLayer {
  std::string name;
  std::size_t channels = 0, height = 0, width = 0;

  std::size_t places() const { return height * width; }
  std::size_t numbers() const { return channels * places(); }
  nlohmann::json to_json() const;
  static NetworkLayer read(const JsonFields& fields);
  bool operator==(const NetworkLayer&) const = default;
};

/// What whoever exported a network says about it, in the member extra/muffle.json of the TorchScript file
/// (docs/reference/feature-maps.md). Whether the network does as it says is tried when it is opened.
struct NetworkManifest {
  std::string license;  ///< an SPDX identifier
  NetworkInput input;
  bool nonnegative = false;          ///< no output is ever negative
  double flops = 0.0;                ///< of one image
  std::vector<NetworkLayer> layers;  ///< in the order of the outputs
};

/// "MIT", "Apache-2.0", "LicenseRef-...".
bool is_license(std::string_view text);

/// @param name  what messages call the file. @throws ConfigError  it is no such manifest.
NetworkManifest parse_manifest(std::string_view text, const std::string& name);
/// Without LibTorch: reads the one member. @throws ConfigError  no such file, no TorchScript, no manifest.
NetworkManifest read_manifest(const std::filesystem::path& network);

}  // namespace muffle::features
