#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/model/generator_kind.hpp"
#include "muffle/model/training_curve.hpp"
#include "muffle/sampling/sampler.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::model {

/// The layout of model.mfl (docs/reference/artifact-format.md): a core/container.hpp container of format
/// "muffle-model", the same for every kind of generator.
inline constexpr int kModelVersion = 3;

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

/// What a model file says beside its numbers, readable without LibTorch. Public: post-processing.
struct ModelInfo {
  std::shared_ptr<const GeneratorSettings> generator;
  schema::Schema schema;            ///< of what it generates; output is in [0, 1]
  std::vector<double> class_share;  ///< C, sums to 1
  std::string release_hash;         ///< SHA-256 of the release it was made from
  std::string train_hash;           ///< hash of the train and model config sections
  bool is_private = true;           ///< false: made from a NOT PRIVATE release
  bool counts_released = false;  ///< the class shares are released ones; false: nothing was, they are equal
  std::optional<ProxyChoice> choice = std::nullopt;   ///< of a training that started from the closed form
  std::optional<TrainingCurve> curve = std::nullopt;  ///< a closed form has none
};

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

/// @throws IoError, ProtocolError.
ModelInfo load_model_info(const std::filesystem::path& path);

/// Full validation; allocates a few times the bytes. @param name  for messages. @throws ProtocolError.
Model parse_model(std::string_view bytes, const std::string& name);

/// A model taken apart, for programs that are not muffle.
struct ModelParts {
  nlohmann::json header;  ///< all that the file says beside its numbers
  std::vector<NamedArray> arrays;
};
/// As parse_model().
ModelParts take_apart(std::string_view bytes, const std::string& name);

}  // namespace muffle::model
