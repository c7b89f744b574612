#include "muffle/round/release.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/privacy/entropy.hpp"
#include "release_steps.hpp"

namespace muffle::round {

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

namespace {

/// The ledger's side of a release, locked for as long as it lives: releases of one data set take turns.
/// Nothing is charged yet, so a heartbeat may end the wait.
release::ReleaseTransaction begin_transaction(const ReleaseJob& job, const NamedHeartbeat& heartbeat) {
  bool said = false;
  return release::ReleaseTransaction(job.order(), [&] {
    heartbeat("waiting for the privacy ledger");
    if (!std::exchange(said, true))
      spdlog::info("release: waits for another release of the data set, which holds the ledger");
  });
}

/// At the coordinator: whether the release is there, and is the one that is asked for.
bool is_made(const ReleaseJob& job, const NamedHeartbeat& heartbeat) {
  if (!job.dry_run) return begin_transaction(job, heartbeat).settle();
  const release::ReleaseOrder order = job.order();
  if (!release::release_is_there(order.file)) return false;
  release::require_ordered(order, release::read_artifact(order.file));
  return true;
}

/// The same error, with what became of the charge at its end.
Error with_fate(const Error& e, const std::string& charge, bool made) {
  Error out(
      e.code(),
      std::string(e.what()) +
          (made ? fmt::format(" The release was made: the same command again keeps it, for charge {} alone.",
                              charge)
                : fmt::format(" The charge {} stays spent; the same command again is a new charge.", charge)),
      LocalDetail{e.local_detail()}, e.where());
  if (e.agreed()) {
    out.mark_agreed(e.quiet());
  } else if (e.quiet()) {
    out.mark_quiet();
  }
  return out;
}

/// The coordinator's errors from the charge on say what became of it. @param transaction  null elsewhere
template <class Step>
auto telling_fate(const release::ReleaseTransaction* transaction, const std::filesystem::path& file,
                  const Step& step) {
  try {
    return step();
  } catch (const Error& e) {
    if (transaction == nullptr || transaction->charge().empty()) throw;
    const WatchedStep looking("looking for", file);
    std::error_code unknown;
    throw with_fate(e, transaction->charge(), std::filesystem::exists(file, unknown));
  }
}

/// Of the release's file; header, ledger and statements are counted generously.
std::size_t release_bytes(const release::ReleasePlan& plan) {
  return plan.size() * sizeof(std::int64_t) + (std::size_t{1} << 20);
}

release::Artifact make_artifact(const ReleaseJob& job, const privacy::AggregationMode& mode,
                                privacy::NoisySum&& noisy) {
  release::Artifact artifact;
  static_cast<release::ReleasePlan&>(artifact) = job.plan;
  for (const features::NamedMap& map : job.plan.maps) artifact.map_hashes.push_back(map.map->hash());
  artifact.config_hash = job.config_hash;
  artifact.muffle_version = job.muffle_version;
  artifact.data_id = job.order().data_id;
  artifact.ranks = mode.ranks;
  artifact.aggregation = mode;
  artifact.is_private = noisy.is_private;
  artifact.values = std::move(noisy.values);
  return artifact;
}

/// The half of a release that is not stopped: nothing here has a heartbeat, and the closed round holds off
/// signals. Charges, draws the noise, sums, publishes and writes.
/// @param transaction  settled, and without a release; null but at the coordinator
/// @param start  of the release, for its last line
void commit(Transport& transport, const ReleaseJob& job, Round& round,
            release::ReleaseTransaction* transaction, std::chrono::steady_clock::time_point start) {
  const auto commitment = [&](const auto& step) { return telling_fate(transaction, job.file, step); };
  round.close();
  transport.agree("charging the ledger and drawing the noise", true, [&] {
    if (!transport.coordinates()) return;
    // Before the charge, and while no release is there that it could belie.
    job.note_settings();
    require_room(job.file.parent_path(), release_bytes(job.plan));
    commitment([&] {
      transaction->begin(job.plan.noise, !job.insecure_seed, [&](const release::Charge& charge) {
        const auto entropy = round.terms().mode.distributed ? nullptr : entropy_of(job, 0);
        round.draw_noise(charge, entropy.get(), [&] { transport.check_lost("drawing the noise"); });
      });
    });
  });
  if (!transport.coordinates()) round.hear_charge();
  spdlog::debug("release: the sum begins");
  privacy::NoisySum noisy = commitment([&] { return sum_up(round, transport); });
  spdlog::debug("release: the sum ends");

  transport.agree("writing the release", true, [&] {
    if (!transport.coordinates()) return;
    release::Artifact artifact = make_artifact(job, round.terms().mode, std::move(noisy));
    const std::size_t numbers = artifact.values.size();
    const std::string hash = commitment([&] { return transaction->finish(std::move(artifact)); });
    spdlog::info("release: {} numbers in {} (sha256 {}), charge {}{}", numbers, job.file.string(), hash,
                 transaction->charge(),
                 job.time_is_public() ? fmt::format(", {:.1f} s", seconds_since(start)) : "");
  });
}

}  // namespace

ReleaseOutcome release(Transport& transport, const NamedHeartbeat& heartbeat, const ReleaseJob& job) {
  bool there = false;
  transport.agree("looking for an earlier release", true, [&] {
    heartbeat("starting a release");
    if (transport.coordinates()) there = is_made(job, heartbeat);
  });
  if (transport.coordinator_says(there)) {
    spdlog::info("release: {} is there already and matches; its noise is not drawn again", job.file.string());
    return ReleaseOutcome::kKept;
  }

  const auto start = std::chrono::steady_clock::now();
  const std::vector<comm::CollectiveUse> use_before = transport.use();
  const std::unique_ptr<Round> round = prepare(transport, heartbeat, job);
  if (!round) return ReleaseOutcome::kWouldCost;

  // From the charge to its COMMIT the coordinator holds the ledger's lock. Charged this late, a job that a
  // bad record or a lost site ended has cost nothing.
  std::optional<release::ReleaseTransaction> transaction;
  transport.agree("looking for an earlier release", true, [&] {
    if (!transport.coordinates()) return;
    transaction.emplace(begin_transaction(job, heartbeat));
    there = transaction->settle();  // another process may have been faster
  });
  if (transport.coordinator_says(there)) {
    round->keep();
    spdlog::info("release: another process made {} meanwhile; its noise is not drawn again",
                 job.file.string());
    return ReleaseOutcome::kKept;
  }
  commit(transport, job, *round, transaction ? &*transaction : nullptr, start);
  if (job.time_is_public()) {
    spdlog::debug("release: collectives of rank {}: {}", transport.site(),
                  comm::describe_use(use_before, transport.use()));
  }
  return ReleaseOutcome::kMade;
}

}  // namespace muffle::round
