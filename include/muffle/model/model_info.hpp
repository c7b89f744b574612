#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muffle/model/generator_kind.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::model {

/// How a training that started from the closed form ended (train/proxy.hpp). Public: post-processing.
struct ProxyChoice {
  bool trained = false;  ///< the trained model was kept; else the closed form
  /// Squared distances of the two models' mean embeddings to the data's, in the proxy's features, without the
  /// parts that noise and sampling add: they may fall below 0.
  double closed_form = 0, after_training = 0;
  double deviation = 0;              ///< standard deviation of their difference, by noise and sampling
  double closed_form_deviation = 0;  ///< of closed_form itself

  bool operator==(const ProxyChoice&) const = default;
};

/// What a model file says beside its numbers; readable without LibTorch. Public: everything in it is
/// post-processing of a release.
struct ModelInfo {
  std::shared_ptr<const GeneratorSettings> generator;
  schema::Schema schema;            ///< of what it generates; output is in [0, 1]
  std::vector<double> class_share;  ///< C, sums to 1
  std::string release_hash;         ///< SHA-256 of the release it was made from
  std::string train_hash;           ///< hash of the train and model config sections
  bool is_private = true;           ///< false: made from a NOT PRIVATE release
  bool counts_released = false;  ///< the class shares are released ones; false: nothing was, they are equal
  std::optional<ProxyChoice> choice = std::nullopt;  ///< of a training that started from the closed form
};

/// @throws IoError, ProtocolError.
ModelInfo load_model_info(const std::filesystem::path& path);

}  // namespace muffle::model
