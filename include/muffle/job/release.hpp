#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "muffle/data/source.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/job/settings.hpp"
#include "muffle/job/together.hpp"
#include "muffle/release/transaction.hpp"

namespace muffle::job {

/// One release, as whoever orders it describes it to every party. Public values, and what the round asks for
/// when it needs it; nothing of a record.
struct ReleaseJob {
  release::ReleasePlan plan;
  AggregationSettings aggregation;
  std::string config_hash, muffle_version;     ///< provenance
  std::filesystem::path file;                  ///< release.mfl, as the user knows it
  std::optional<std::uint64_t> insecure_seed;  ///< seeded noise for tests: the release is NOT PRIVATE
  bool no_noise = false;                       ///< none at all: the release is NOT PRIVATE
  bool dry_run = false;                        ///< say what it would cost, and do nothing
  int threads = 1;

  /// At the coordinator: where the release goes, and which ledger it is charged to.
  std::function<release::ReleaseOrder()> order;
  /// Collective: which records there are; makes those that are made up.
  std::function<data::DataSpec()> find_records;
  /// Collective: the plan with its maps where they are to be computed.
  std::function<embed::Embedder(const release::ReleasePlan&)> make_embedder;
  /// At the coordinator, between two rounds: the map that stands in the place of map b of the plan, which is
  /// of the next round. A function of what was released so far (release::released_so_far) alone. Of releases
  /// of one round: never called.
  std::function<std::shared_ptr<const features::FeatureMap>(const release::ReleasePlan& plan, std::size_t b,
                                                            const release::Artifact& so_far)>
      next_map;
  /// At the coordinator, once it is certain that the release is made, before the charge. @throws IoError.
  std::function<void()> note_settings;

  bool secure_noise() const { return !insecure_seed && !no_noise; }
  /// Times tell m, which is private under add/remove-one.
  bool time_is_public() const { return plan.adjacency == privacy::Adjacency::kReplaceOne; }
};

/// Makes a release, once: embeds, charges the ledger, draws the noise, sums, publishes, writes. Collective. A
/// job that ends before its charge (a bad record, a lost party) costs nothing; the coordinator's errors from
/// the charge on say what became of it. Of several rounds all are charged before the first; a job that is cut
/// off between two of them goes on with the next one, and no round is drawn twice.
/// @returns whether the release was there already: its noise is not drawn again.
/// @throws ConfigError   a release of another configuration is in its place.
/// @throws PrivacyError  the ledger's budget refuses.
bool release(Together& together, const NamedHeartbeat& heartbeat, const ReleaseJob& job);

}  // namespace muffle::job
