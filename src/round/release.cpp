#include "muffle/round/release.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "muffle/core/error.hpp"
#include "release_steps.hpp"

namespace muffle::round {

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

release::ReleaseTransaction begin_transaction(const ReleaseJob& job, const NamedHeartbeat& heartbeat) {
  bool said = false;
  return release::ReleaseTransaction(job.order(), [&] {
    heartbeat("waiting for the privacy ledger");
    if (!std::exchange(said, true))
      spdlog::info("release: waits for another release of the data set, which holds the ledger");
  });
}

namespace {

/// At the coordinator: whether the release is there, and is the one that is asked for.
bool is_made(const ReleaseJob& job, const NamedHeartbeat& heartbeat) {
  if (!job.dry_run) return begin_transaction(job, heartbeat).settle();
  const release::ReleaseOrder order = job.order();
  if (!release::release_is_there(order.file)) return false;
  release::require_ordered(order, release::read_artifact(order.file));
  return true;
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
