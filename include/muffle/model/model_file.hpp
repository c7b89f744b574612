#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "muffle/model/generator.hpp"

namespace muffle::model {

/// What a trained model's file (model.mfl, a core/container.hpp container of format "muffle-model") says beside its
/// tensors. Public: everything in it is post-processing of a release.
struct ModelInfo {
  GeneratorSpec spec;
  std::vector<double> class_share;  ///< C, sums to 1
  std::string release_hash;         ///< SHA-256 of the release it was trained on
  std::string train_hash;           ///< hash of the train and model config sections
  bool is_private = true;           ///< false: trained on a NOT PRIVATE release
};

inline constexpr int kModelVersion = 1;

/// Parameters and buffers as raw little-endian float32 by name; no pickle. Atomic. @returns SHA-256 of the file in hex.
std::string save_model(const std::filesystem::path& path, const ModelInfo& info, const Generator& generator);
/// @throws IoError, ProtocolError.
ModelInfo load_model_info(const std::filesystem::path& path);
/// The generator with its trained parameters, in evaluation mode.
std::pair<ModelInfo, std::shared_ptr<Generator>> load_model(const std::filesystem::path& path);

}  // namespace muffle::model
