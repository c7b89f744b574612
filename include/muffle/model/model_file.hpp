#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/model/model_info.hpp"
#include "muffle/model/sampler.hpp"

namespace muffle::model {

/// The layout of model.mfl (docs/reference/artifact-format.md): a core/container.hpp container of format
/// "muffle-model", the same for every kind of generator.
inline constexpr int kModelVersion = 3;

/// What a generator has learnt: its kind reads it again (GeneratorSettings::open).
struct ModelContent {
  nlohmann::json description;  ///< of the payload
  std::vector<std::byte> payload;
};

/// A model ready to draw.
struct Model {
  ModelInfo info;
  std::shared_ptr<const Sampler> sampler;
};

/// Atomic; reads what it writes first. @returns SHA-256 of the file in hex. @throws IoError.
std::string save_model(const std::filesystem::path& path, const ModelInfo& info, const ModelContent& content);

/// Full validation; allocates no more than a few times the bytes. @param name  what errors call them. @throws
/// ProtocolError.
Model parse_model(std::string_view bytes, const std::string& name);

}  // namespace muffle::model
