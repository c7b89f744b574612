#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/privacy/accountant.hpp"
#include "muffle/release/plan.hpp"

namespace muffle::privacy {
struct LedgerState;
}

namespace muffle::release {

/// Of a release that institutions made together: whose it is, by the messages that it was made of.
/// Identifiers and keys in hex.
struct RoundRecord {
  struct Site {
    std::string name, key;
    std::string contribution;  ///< SignedHeader::id()
    std::string charge;        ///< in the site's own ledger
    std::string data_id;       ///< what the site calls the records that this ledger is of
    bool operator==(const Site&) const = default;
  };
  struct Holder {
    std::string name, key;
    std::string opening;                   ///< SignedHeader::id(); empty: it was missing
    std::vector<std::string> stand_ins{};  ///< then SignedHeader::id() of those that made its part
    bool operator==(const Holder&) const = default;
  };
  std::string id, title, coordinator, seal;
  std::vector<Site> sites;      ///< whose contributions count, in the proposal's order
  std::vector<Holder> holders;  ///< all of them
  bool operator==(const RoundRecord&) const = default;
};

/// Of a release that was combined from several: one of these.
struct PartRecord {
  std::string sha256;       ///< of its whole file
  std::string config_hash;  ///< Artifact's, as the next two
  std::string data_id, ledger_charge;
  std::string signer;  ///< public key of who signed its file, in hex; empty: nobody has
  std::uint64_t records = 0;
  bool is_private = true;
  std::optional<RoundRecord> round{};
  bool operator==(const PartRecord&) const = default;
};

/// A released embedding and all that its use needs (release.mfl; docs/reference/artifact-format.md). Public.
struct Artifact : ReleasePlan {
  std::vector<std::string> map_hashes;  ///< FeatureMap::hash() of each map: readers check what they rebuild
  bool is_private = true;               ///< false: seeded noise or none, NOT PRIVATE
  bool without_noise = false;           ///< there is none: the plan's says what there would have been
  // provenance
  std::string config_hash;  ///< hash of the config keys that the release depends on
  std::string muffle_version;
  std::string data_id;        ///< the data set's name in the privacy ledger; empty: made without a ledger
  std::string ledger_charge;  ///< id of the ledger's INTENT that paid for this release; empty likewise
  privacy::AggregationMode aggregation;  ///< how the sums came together, of how many ranks
  std::optional<RoundRecord> round{};  ///< there if they came together between institutions (privacy::Apart)
  std::vector<RoundRecord> rounds_before{};  ///< of several rounds between institutions: those before `round`
  std::vector<PartRecord> parts{};           ///< there if it was combined (privacy::Combined), in that order
  std::vector<std::int64_t> values;          ///< the released vector, in lattice units, noisy
};

inline constexpr int kArtifactVersion = 4;

/// The map with second moments. @throws ConfigError  there is none: `user` needs it.
std::size_t require_second_moments(const ReleasePlan& plan, const std::string& user);

/// What one person is promised by the whole of it: what its plan says or, if it was combined and a person may
/// be in each part, as much more as follows. None: that is beyond the accountant's domain. Of test noise it
/// says what real noise would have promised.
std::optional<privacy::Guarantee> promise_of(const Artifact& artifact);

/// The file's bytes. @throws InvariantError if the fields contradict one another (the checks of
/// parse_artifact): a file that no reader would accept is not made.
std::string artifact_bytes(const Artifact& artifact);
/// SHA-256 of these, hex: of the file that the artifact was read from.
std::string artifact_hash(const Artifact& artifact);
/// Full validation: checksum, version, every field's range, value count, sigma by eps, delta and sensitivity
/// (all recomputed). The derivation of the sensitivity and the blocks' theorems are this muffle's own.
/// Allocates a few times the bytes. @param name  what error messages call them. @throws ProtocolError.
Artifact parse_artifact(std::string_view bytes, const std::string& name);

/// Readers that rebuild a map call this before they use the release. @throws ProtocolError  it is not the one
/// that the release was made with.
void check_map(const Artifact& artifact, std::size_t b);

/// The classes' noisy numbers of records: the counts or, where only second moments were released, their
/// traces; which may be negative. None: the release tells nothing of class sizes.
struct NoisyCounts {
  std::vector<double> counts;  ///< C
  double sigma = 0.0;          ///< standard deviation of the noise in each
};
std::optional<NoisyCounts> noisy_counts(const Artifact& artifact);
/// How many records are in the sums, by all noisy totals of the release, weighted by inverse variance. None:
/// it tells nothing of that.
struct NoisyTotal {
  double records = 0.0;
  double sigma = 0.0;  ///< standard deviation of its noise
};
std::optional<NoisyTotal> noisy_total(const Artifact& artifact);
/// Where m is public and the noisy total says that fewer than nine tenths of them are in the sums: that, with
/// the interval, for people. Empty: nothing says so. Post-processing only.
std::string few_records(const Artifact& artifact);
/// C, sums to 1: by the noisy counts, negative ones as 0; all alike where they tell nothing.
std::vector<double> class_share(const Artifact& artifact);
/// m, or under add/remove-one the noisy counts' sum, which may be anything.
double believed_records(const Artifact& artifact);
/// The same. @throws DataError  it is below one record.
double records_of(const Artifact& artifact);

/// What training weighs every map's mu~ = S~ / m by. With residuals r_c = mu~_c - mu_Q,c (mu_Q the mean
/// embedding of generated records with labels drawn by class_share) the objective is sum_c (column_weight_c
/// ||r_c||)^2 (docs/math.md, "target").
struct Target {
  std::vector<double> class_share;  ///< class_share()
  /// C: what a column's residual is multiplied by. All ones without noisy_counts(). With them (imbalanced
  /// DP-MERF) m / (C c~_c): then every class's mean embedding weighs the same, however rare the class; 1 for
  /// balanced data. c~_c is noisy: it is taken as at least one record and one standard deviation of its own
  /// noise, and a class whose share is 0 is never drawn and has weight 0.
  std::vector<double> column_weight;
  double records = 0;  ///< m, or the noisy counts' sum under add/remove-one
};
/// Post-processing only. @throws DataError  m is private and the noisy counts' sum is below one record.
Target make_target(const Artifact& artifact);

/// privacy.json ("format": "muffle-privacy-statement"; docs/reference/artifact-format.md) and the same as
/// text for people, which begins with half a page without formulas. A release with seeded noise is NOT
/// PRIVATE in both, its epsilon and delta are null.
/// @param ledger  whose charges the text adds up; null: it says where they are
std::string privacy_statement_json(const Artifact& artifact);
std::string privacy_statement_text(const Artifact& artifact, const privacy::LedgerState* ledger = nullptr);

}  // namespace muffle::release
