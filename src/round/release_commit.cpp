// The half of a release that is not stopped: nothing here has a heartbeat, and the closed round holds off
// signals.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/privacy/entropy.hpp"
#include "release_steps.hpp"

namespace muffle::round {
namespace {

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

/// The coordinator's transaction, whose errors from the charge on say what became of it; elsewhere none.
class Commitment {
 public:
  Commitment(release::ReleaseTransaction* transaction, const std::filesystem::path& file)
      : transaction_(transaction), file_(file) {}

  template <class Step>
  auto run(const Step& step) {
    try {
      return step();
    } catch (const Error& e) {
      if (transaction_ == nullptr || transaction_->charge().empty()) throw;
      const WatchedStep looking("looking for", file_);
      std::error_code unknown;
      throw with_fate(e, transaction_->charge(), std::filesystem::exists(file_, unknown));
    }
  }
  release::ReleaseTransaction* operator->() const { return transaction_; }

 private:
  release::ReleaseTransaction* transaction_;
  const std::filesystem::path& file_;
};

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

}  // namespace

void commit(Transport& transport, const ReleaseJob& job, Round& round,
            release::ReleaseTransaction* transaction, std::chrono::steady_clock::time_point start) {
  Commitment commitment(transaction, job.file);
  round.close();
  transport.agree("charging the ledger and drawing the noise", true, [&] {
    if (!transport.coordinates()) return;
    // Before the charge, and while no release is there that it could belie.
    job.note_settings();
    require_room(job.file.parent_path(), release_bytes(job.plan));
    commitment.run([&] {
      commitment->begin(job.plan.noise, !job.insecure_seed, [&](const release::Charge& charge) {
        const auto entropy = round.terms().mode.distributed ? nullptr : entropy_of(job, 0);
        round.draw_noise(charge, entropy.get(), [&] { transport.check_lost("drawing the noise"); });
      });
    });
  });
  if (!transport.coordinates()) round.hear_charge();
  spdlog::debug("release: the sum begins");
  privacy::NoisySum noisy = commitment.run([&] { return sum_up(round, transport); });
  spdlog::debug("release: the sum ends");

  transport.agree("writing the release", true, [&] {
    if (!transport.coordinates()) return;
    release::Artifact artifact = make_artifact(job, round.terms().mode, std::move(noisy));
    const std::size_t numbers = artifact.values.size();
    const std::string hash = commitment.run([&] { return commitment->finish(std::move(artifact)); });
    spdlog::info("release: {} numbers in {} (sha256 {}), charge {}{}", numbers, job.file.string(), hash,
                 commitment->charge(),
                 job.time_is_public() ? fmt::format(", {:.1f} s", seconds_since(start)) : "");
  });
}

}  // namespace muffle::round
