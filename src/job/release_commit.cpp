// The second half of a release's round: from its closing to a COMMIT, or to a kept round.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/privacy/entropy.hpp"
#include "release_run.hpp"

namespace muffle::job {
namespace {

/// The coordinator's errors from the charge on say what became of it. @param transaction  null elsewhere
template <class Step>
auto telling_fate(const release::ReleaseTransaction* transaction, const std::filesystem::path& file,
                  const Step& step) {
  try {
    return step();
  } catch (const Error& e) {
    if (transaction == nullptr || transaction->charge().empty()) throw;
    const std::string& charge = transaction->charge();
    const WatchedStep looking("looking for", file);
    std::error_code unknown;
    throw with_sentence(
        e, std::filesystem::exists(file, unknown)
               ? fmt::format("The release was made: the same command again keeps it, for charge {} alone.",
                             charge)
               : fmt::format("The charge {} stays spent; the same command again is a new charge.", charge));
  }
}

}  // namespace

void ReleaseRun::commit(Contributor& role, Coordinator* coordinator,
                        release::ReleaseTransaction* transaction) {
  const auto commitment = [&](const auto& step) { return telling_fate(transaction, job_.file, step); };
  role.close();
  together_.agree("charging the ledger and drawing the noise", true, [&] {
    if (!together_.coordinates()) return;
    // Before the charge, and while no release is there that it could belie.
    job_.note_settings();
    constexpr std::size_t kBesideNumbers = std::size_t{1} << 20;  // header, ledger and statements, generously
    require_room(job_.file.parent_path(), plan_.size() * sizeof(std::int64_t) + kBesideNumbers);
    commitment([&] {
      const auto draw = [&](const release::Charge& charge) {
        const auto source = privacy::distributed(mode_) != nullptr ? nullptr : entropy();
        coordinator->draw_noise(charge, source.get(), [&] { together_.check_lost("drawing the noise"); });
        role.note_charge(charge);
      };
      if (number_ == 1) {
        transaction->begin(plan_.noise, job_.secure_noise(), draw);
      } else {
        transaction->begin_round(number_, summed_, draw);
      }
    });
  });
  spdlog::debug("release: the sum begins");
  privacy::NoisySum noisy = commitment([&] { return sum_up(role, coordinator, together_); });
  spdlog::debug("release: the sum ends");
  together_.agree("writing the release", true, [&] {
    if (together_.coordinates()) commitment([&] { write(std::move(noisy), *transaction); });
  });
}

void ReleaseRun::write(privacy::NoisySum&& noisy, release::ReleaseTransaction& transaction) {
  if (number_ < rounds_) {
    kept_.config_hash = job_.config_hash;
    kept_.is_private = noisy.is_private && (number_ == 1 || kept_.is_private);
    kept_.tables = release::tables_text(plan_, number_);
    kept_.summed = summed_;
    kept_.values.push_back(std::move(noisy.values));
    kept_.charge = transaction.charge();
    transaction.keep(kept_);
    return;
  }
  release::Artifact artifact = make_artifact(std::move(noisy));
  const std::size_t numbers = artifact.values.size();
  const std::string hash = transaction.finish(std::move(artifact));
  spdlog::info("release: {} numbers in {} (sha256 {}), charge {}{}", numbers, job_.file.string(), hash,
               transaction.charge(),
               job_.time_is_public() ? fmt::format(", {:.1f} s", seconds_since(start_)) : "");
}

release::Artifact ReleaseRun::make_artifact(privacy::NoisySum&& noisy) {
  release::Artifact artifact;
  static_cast<release::ReleasePlan&>(artifact) = plan_;
  for (const features::NamedMap& map : plan_.maps) artifact.map_hashes.push_back(map.map->hash());
  artifact.config_hash = job_.config_hash;
  artifact.muffle_version = job_.muffle_version;
  artifact.data_id = job_.order().data_id;
  artifact.aggregation = mode_;
  artifact.is_private = noisy.is_private && (rounds_ == 1 || kept_.is_private);
  artifact.without_noise = job_.no_noise;
  std::vector<std::vector<std::int64_t>> rounds = std::move(kept_.values);
  rounds.push_back(std::move(noisy.values));
  artifact.values = rounds_ == 1 ? std::move(rounds.front()) : release::joined(plan_, rounds);
  return artifact;
}

}  // namespace muffle::job
