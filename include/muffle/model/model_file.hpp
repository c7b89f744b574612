#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "muffle/model/generator.hpp"
#include "muffle/model/model_info.hpp"

namespace muffle::model {

/// Parameters and buffers as raw little-endian float32 by name; no pickle. Atomic. @returns SHA-256 of the
/// file in hex.
std::string save_model(const std::filesystem::path& path, const ModelInfo& info, const Generator& generator);

/// The generator with its trained parameters, in evaluation mode. @throws IoError, ProtocolError.
std::pair<ModelInfo, std::shared_ptr<Generator>> load_model(const std::filesystem::path& path);
/// The same from the file's bytes, for ranks that get them from another rank; `name` is what errors call
/// them.
/// @throws ProtocolError.
std::pair<ModelInfo, std::shared_ptr<Generator>> parse_model(std::string_view bytes, const std::string& name);

}  // namespace muffle::model
