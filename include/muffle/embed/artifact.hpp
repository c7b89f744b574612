#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "muffle/data/schema.hpp"
#include "muffle/features/rff.hpp"
#include "muffle/privacy/release.hpp"

namespace muffle::embed {

/// A released embedding and everything needed to use it (release.mfl; docs/artifact-format.md). Public.
struct Artifact {
  // what was released
  features::RffSpec rff;
  int lattice_bits = 24;
  data::Schema schema;
  bool counts = false;
  double counts_weight = 1.0;
  std::uint64_t records = 0;  ///< m; 0 under add/remove-one, where it is private
  // the guarantee
  privacy::Adjacency adjacency = privacy::Adjacency::kReplaceOne;
  std::uint64_t max_records_per_person = 1;
  privacy::NoisePlan noise;
  bool is_private = true;  ///< false: seeded noise, NOT PRIVATE
  // provenance
  std::string config_hash;  ///< hash of the config keys that the release depends on
  std::string
      frequencies_hash;  ///< SHA-256 of the frequencies' bytes: readers check that they rebuild the same
  std::string muffle_version;
  int ranks = 1;
  // the values
  std::vector<std::int64_t> values;  ///< C x D class-major, then C counts if any; lattice units, noisy

  std::size_t classes() const { return schema.classes; }
  std::size_t features() const { return rff.features; }
};

inline constexpr int kArtifactVersion = 1;

/// Atomic. @returns SHA-256 of the file in hex. @throws IoError.
std::string write_artifact(const std::filesystem::path& path, const Artifact& artifact);
/// Full validation: container checksum, version, every field's range, value count, sigma consistent with eps,
/// delta and sensitivity (recomputed). @throws IoError, ProtocolError.
Artifact read_artifact(const std::filesystem::path& path);
Artifact parse_artifact(std::string_view bytes, const std::string& name);

/// What training matches: mu~ = S~ / m per class, and class weights.
struct Target {
  std::vector<float> mean_embedding;  ///< C x D class-major: S~ / (m (2^k - 1))
  std::vector<double> class_share;    ///< C, sums to 1: uniform, or from the released counts clamped at 0
  double records = 0;                 ///< m, or the noisy counts' sum under add/remove-one
};
/// Post-processing only. With counts (imbalanced DP-MERF, spec section 5) class_share is from the noisy
/// counts.
Target make_target(const Artifact& artifact);

/// privacy.json's text ("format": "muffle-privacy-statement") and the same as a paragraph for people.
std::string privacy_statement_json(const Artifact& artifact);
std::string privacy_statement_text(const Artifact& artifact);

}  // namespace muffle::embed
