#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "muffle/model/model_file.hpp"
#include "muffle/release/noisy_margins.hpp"
#include "muffle/release/verification.hpp"
#include "muffle/report/report.hpp"
#include "people.hpp"
#include "rows.hpp"

namespace muffle::report {

/// What public files say, checked against one another.
struct PublicMaterial {
  std::string release_hash;  ///< SHA-256 of the file
  release::Verification verification;
  std::optional<model::ModelInfo> model;
  std::string model_hash;
  /// Rules that the model does not know (synth::moving_rules()); of networks, which need LibTorch: none.
  std::vector<std::string> moving_rules;
  std::optional<Rows> samples;
  std::string samples_name, samples_hash;   ///< name: of the file, without its folder
  std::string about;                        ///< PublicFiles::about
  nlohmann::json samples_said;              ///< samples.json
  std::vector<release::NoisyMargin> noisy;  ///< of each column of a table; empty: the release has no counts
  std::optional<double> records;            ///< m, or what the noisy counts say
  std::optional<PublicPeople> people;       ///< where rows of a person are released

  const release::Artifact& artifact() const { return *verification.artifact; }
  /// The promise's mu; none: test noise.
  std::optional<double> mu() const;
};
/// @throws ProtocolError, IoError, DataError.
PublicMaterial read_public(const PublicFiles& files, const Heartbeat& heartbeat);

}  // namespace muffle::report
