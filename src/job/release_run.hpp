// One release on its way through its rounds, at one party. Every round has two halves. The first can be
// stopped, and what it does costs nothing (release.cpp). The second begins with the round's closing, is given
// no heartbeat, and ends with a COMMIT or with a kept round (release_commit.cpp).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/job/drive.hpp"
#include "muffle/job/release.hpp"
#include "release_checks.hpp"

namespace muffle::job {

inline double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

class ReleaseRun {
 public:
  ReleaseRun(Together& together, const NamedHeartbeat& heartbeat, const ReleaseJob& job)
      : together_(together), heartbeat_(heartbeat), job_(job), plan_(job.plan), rounds_(plan_.rounds()) {}

  /// @returns whether the release was there already.
  bool to_the_end();

 private:
  /// At the coordinator: whether the release is there, and is the one that is asked for. Takes up what an
  /// earlier job kept of it.
  bool look();
  /// All parties go on after the rounds that the coordinator has kept.
  void take_up();
  void require_kept(bool holds) const;
  /// Before the first of the rounds that are left, and before a record is looked for: how sums come together.
  void plan_sums();
  /// The next round: agrees on what it is. The coordinator has chosen what a later one counts.
  void propose();
  /// Before the first of the rounds that are left: finds the records, agrees on their number, asks the
  /// ledger.
  /// @returns the records; nothing for a dry run.
  std::unique_ptr<data::RecordSource> prepare();
  /// What a release states of its sums holds for all its rounds.
  void require_same_sums();
  std::unique_ptr<data::RecordSource> open_records();
  /// @param source  records that are open already, or nothing
  /// @returns whether the release was found there.
  bool make_round(std::unique_ptr<data::RecordSource>&& source);
  void require_same_rounds(release::ReleaseTransaction& transaction) const;
  /// The coordinator works out from the released numbers what the next round sums, and tells all parties.
  void find_next_maps();
  /// The operating system's entropy or, for tests, a stream of this party's and round's own: no two draw the
  /// same.
  std::unique_ptr<privacy::EntropySource> entropy() const;
  /// Before records are embedded, so that bad keys show early and the sampler has nothing private to be timed
  /// against.
  void agree_on_keys_and_shares(Contributor& role);
  void embed_records(Contributor& role, data::RecordSource& source);

  /// The half of a round that is not stopped: nothing here has a heartbeat, and the closed round holds off
  /// signals. Charges, draws the noise, sums, publishes and writes.
  /// @param coordinator, transaction  settled, and without a release; null but at the coordinator
  void commit(Contributor& role, Coordinator* coordinator, release::ReleaseTransaction* transaction);
  void write(privacy::NoisySum&& noisy, release::ReleaseTransaction& transaction);
  release::Artifact make_artifact(privacy::NoisySum&& noisy);

  /// The coordinator's errors between two rounds say that nothing is lost.
  bool telling_kept(const std::function<bool()>& step);

  Together& together_;
  const NamedHeartbeat& heartbeat_;
  const ReleaseJob& job_;
  release::ReleasePlan plan_;  ///< later rounds' maps are as planned until they are chosen
  std::size_t rounds_ = 1;
  std::size_t done_ = 0;      ///< rounds
  std::size_t number_ = 0;    ///< of the round at work, from 1
  release::KeptRounds kept_;  ///< at the coordinator
  data::DataSpec records_;
  privacy::AggregationMode mode_;
  std::optional<ProposedRound> round_;       ///< the one at work
  std::string summed_;                       ///< release::summed_by(), at the coordinator
  std::optional<embed::Embedder> embedder_;  ///< of the next round, where it is there already
  std::chrono::steady_clock::time_point start_;
};

}  // namespace muffle::job
