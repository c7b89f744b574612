#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muffle/model/model_file.hpp"
#include "muffle/release/verification.hpp"
#include "muffle/report/report.hpp"
#include "noisy_margins.hpp"
#include "rows.hpp"

namespace muffle::report {

/// What public files say, checked against one another.
struct PublicMaterial {
  std::string release_hash;  ///< SHA-256 of the file
  release::Verification verification;
  std::optional<model::ModelInfo> model;
  std::string model_hash;
  std::vector<std::pair<double, double>> loss;  ///< of the training, by step; empty: there is none
  std::optional<Rows> samples;
  nlohmann::json samples_said;     ///< samples.json
  std::vector<NoisyMargin> noisy;  ///< of each column of a table; empty: the release has no counts
  std::optional<double> records;   ///< m, or what the noisy counts say

  const release::Artifact& artifact() const { return *verification.artifact; }
  /// The promise's mu; none: test noise.
  std::optional<double> mu() const;
};
/// @throws ProtocolError, IoError, DataError.
PublicMaterial read_public(const PublicFiles& files, const Heartbeat& heartbeat);

/// Of the events of a training that lies beside the model: its loss by step. Public, as the model is.
/// @returns nothing if there is no such file, or it is damaged
std::vector<std::pair<double, double>> training_loss(const std::filesystem::path& model_file);

}  // namespace muffle::report
