#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "muffle/model/spec.hpp"

namespace muffle::model {

/// What a trained model's file (model.mfl, a core/container.hpp container of format "muffle-model") says
/// beside its tensors; readable without torch. Public: everything in it is post-processing of a release.
struct ModelInfo {
  GeneratorSpec spec;
  std::vector<double> class_share;  ///< C, sums to 1
  std::string release_hash;         ///< SHA-256 of the release it was trained on
  std::string train_hash;           ///< hash of the train and model config sections
  bool is_private = true;           ///< false: trained on a NOT PRIVATE release
  bool counts_released = false;  ///< the class shares are released ones; false: nothing was, they are equal
};

inline constexpr int kModelVersion = 1;

/// @throws IoError, ProtocolError.
ModelInfo load_model_info(const std::filesystem::path& path);

}  // namespace muffle::model
