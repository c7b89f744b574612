#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/schema/schema.hpp"
#include "muffle/features/block_spec.hpp"
#include "muffle/privacy/aggregation.hpp"
#include "muffle/privacy/release.hpp"

namespace muffle::release {

/// One block of a release.
struct ReleasedBlock {
  features::BlockSpec spec;  ///< of moments the resolved one
  std::string map_hash;      ///< features::map_hash(): readers check that they rebuild the same
};

/// A released embedding and everything needed to use it (release.mfl; docs/artifact-format.md). Public.
struct Artifact {
  // what was released
  std::vector<ReleasedBlock> blocks;  ///< one at least, no kind twice
  int lattice_bits = 24;              ///< of random features and counts; moments bring their own
  schema::Schema schema;
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
  std::string muffle_version;
  std::string data_id;        ///< the data set's name in the privacy ledger; empty: made without a ledger
  std::string ledger_charge;  ///< id of the ledger's INTENT that paid for this release; empty likewise
  int ranks = 1;
  privacy::AggregationMode aggregation;  ///< how the sums came together; its `ranks` is `ranks`, if masked
  // the values
  std::vector<std::int64_t>
      values;  ///< block after block, each C x D_b class-major; then C counts if any; lattice units, noisy

  std::size_t classes() const { return schema.classes; }
  /// D_b of block b.
  std::size_t features(std::size_t block) const { return features::features_of(blocks.at(block).spec); }
  /// Where block b begins in `values`; of blocks.size(): where the counts do.
  std::size_t offset(std::size_t block) const;
  /// The block of this kind ("rff", "moments", "proxy"); none: nullopt.
  std::optional<std::size_t> find(std::string_view kind) const;
  /// The units of the released vector, part by part: one for each block, then the counts.
  std::vector<features::CoordinatePart> coordinates() const;
};

inline constexpr int kArtifactVersion = 2;

/// The block of this kind. @throws ConfigError  there is none: `user` needs it, and features.blocks makes it.
std::size_t require_block(const Artifact& artifact, std::string_view kind, const std::string& user);

/// The file's bytes. @throws InvariantError if the fields contradict one another (the checks of
/// parse_artifact): a file that no reader would accept is not made.
std::string artifact_bytes(const Artifact& artifact);
/// Writes artifact_bytes(), atomically. @returns SHA-256 of the file in hex. @throws IoError; as above.
std::string write_artifact(const std::filesystem::path& path, const Artifact& artifact);
/// Full validation: container checksum, version, every field's range, value count, sigma consistent with eps,
/// delta and sensitivity (all recomputed). The derivation of the sensitivity and the blocks' theorems are
/// this muffle's own, whatever the file says. Allocates no more than a few times the file's size. @throws
/// IoError, ProtocolError.
Artifact read_artifact(const std::filesystem::path& path);
/// @param name  what error messages call the bytes.
Artifact parse_artifact(std::string_view bytes, const std::string& name);

/// Standard deviation of the noise that the numbers of a run of noise.parts carry, lattice units:
/// sigma_lattice or, where the ranks added shares of which some may be known to others, more. At least 1.
double carried_sigma(const Artifact& artifact, std::size_t part, std::size_t run);

/// SHA-256 of float32 frequencies (little-endian), in hex: the map_hash of random Fourier features.
std::string hash_frequencies(std::span<const float> frequencies);
/// Readers that rebuild the frequencies of the random Fourier block call this before they use the release.
/// @throws ProtocolError if they are not those that the release was made with.
void check_frequencies(const Artifact& artifact, std::span<const float> frequencies);
/// The same for any block: rebuilds its feature map. @throws ProtocolError likewise.
void check_map(const Artifact& artifact, std::size_t block);

/// The classes' noisy numbers of records: the counts or, where only second moments were released, their
/// traces; which may be negative. None: the release tells nothing of class sizes.
struct NoisyCounts {
  std::vector<double> counts;  ///< C
  double sigma = 0.0;          ///< standard deviation of the noise in each
};
std::optional<NoisyCounts> noisy_counts(const Artifact& artifact);
/// C, sums to 1: by the noisy counts, negative ones as 0; all alike where they tell nothing.
std::vector<double> class_share(const Artifact& artifact);
/// m, or under add/remove-one the noisy counts' sum. @throws DataError  that is below one record.
double records_of(const Artifact& artifact);

/// What training on the random Fourier block matches: mu~ = S~ / m per class, and class weights. With
/// residuals r_c = mu~_c - mu_Q,c (mu_Q as in spec section 6, labels drawn by class_share) the objective is
/// sum_c (column_weight_c
/// ||r_c||)^2.
struct Target {
  std::vector<float> mean_embedding;  ///< C x D class-major: S~ / (m (2^k - 1))
  std::vector<double> class_share;    ///< class_share()
  /// C: what a column's residual is multiplied by. All ones without noisy_counts(). With them (imbalanced
  /// DP-MERF, spec section 5) m / (C c~_c): then every class's mean embedding weighs the same, however rare
  /// the class; 1 for balanced data. c~_c is noisy: it is taken as at least one record and one standard
  /// deviation of its own noise, and a class whose share is 0 is never drawn and has weight 0.
  std::vector<double> column_weight;
  double records = 0;  ///< m, or the noisy counts' sum under add/remove-one
};
/// Post-processing only. @throws DataError  m is private and the noisy counts' sum is below one record;
/// ConfigError  the release has no such block.
/// @param kind  "rff", or "proxy" for what trained models are compared by.
Target make_target(const Artifact& artifact, std::string_view kind = "rff");

/// privacy.json's text ("format": "muffle-privacy-statement"; docs/artifact-format.md) and the same as text
/// for people. A release with seeded noise is called NOT PRIVATE in both, and its epsilon and delta are null.
std::string privacy_statement_json(const Artifact& artifact);
std::string privacy_statement_text(const Artifact& artifact);

}  // namespace muffle::release
