// Every round of a release has two halves. The first can be stopped, and what it does costs nothing. The
// second begins with the round's closing, is given no heartbeat, and ends with a COMMIT or with a kept round.
#include "muffle/round/release.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/progress.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/privacy/entropy.hpp"
#include "muffle/release/plan_json.hpp"
#include "muffle/round/drive.hpp"
#include "release_checks.hpp"

namespace muffle::round {
namespace {

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

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

/// One release on its way through its rounds, at one party.
class Run {
 public:
  Run(Together& together, const NamedHeartbeat& heartbeat, const ReleaseJob& job)
      : together_(together), heartbeat_(heartbeat), job_(job), plan_(job.plan), rounds_(plan_.rounds()) {}

  /// @returns whether the release was there already.
  bool to_the_end() {
    bool there = false;
    together_.agree("looking for an earlier release", true, [&] {
      heartbeat_("starting a release");
      if (together_.coordinates()) there = look();
    });
    if (together_.coordinator_says(there)) {
      spdlog::info("release: {} is there already and matches; its noise is not drawn again",
                   job_.file.string());
      return true;
    }
    if (rounds_ > 1 && !job_.dry_run) take_up();
    start_ = std::chrono::steady_clock::now();
    const std::vector<comm::CollectiveUse> use_before = together_.use();
    std::unique_ptr<data::RecordSource> source = prepare();
    if (job_.dry_run) return false;
    while (done_ < rounds_) {
      if (telling_kept([&] { return make_round(std::move(source)); })) return true;
      ++done_;
    }
    if (job_.time_is_public()) {
      spdlog::debug("release: collectives of rank {}: {}", together_.party(),
                    comm::describe_use(use_before, together_.use()));
    }
    return false;
  }

 private:
  /// At the coordinator: whether the release is there, and is the one that is asked for. Takes up what an
  /// earlier job kept of it.
  bool look() {
    if (!job_.dry_run) {
      release::ReleaseTransaction transaction = begin_transaction(job_, heartbeat_);
      if (transaction.settle()) return true;
      if (rounds_ > 1) kept_ = transaction.resume().value_or(release::KeptRounds{});
      return false;
    }
    const release::ReleaseOrder order = job_.order();
    if (!release::release_is_there(order.file)) return false;
    release::require_ordered(order, release::parse_artifact(read_file(order.file), order.file.string()));
    return true;
  }

  /// All parties go on after the rounds that the coordinator has kept.
  void take_up() {
    const std::string rounds = together_.from_coordinator(std::to_string(kept_.rounds()));
    if (rounds == "0") return;
    const std::string tables = together_.from_coordinator(kept_.tables);
    together_.agree("going on after earlier rounds", true, [&] {
      release::read_tables(plan_, tables, "the coordinator's message");
      done_ = 1;
      while (done_ < rounds_ && std::to_string(done_) != rounds) ++done_;
      for (std::size_t r = 0; r < kept_.rounds(); ++r)
        require_kept(kept_.values[r].size() == plan_.of_round(r + 1).size());
      require_kept(done_ < rounds_);
    });
    spdlog::info("release: goes on after {} of {} rounds{}", done_, rounds_,
                 together_.coordinates() ? ", for charge " + kept_.charge : "");
  }
  void require_kept(bool holds) const {
    if (holds) return;
    throw ProtocolError(fmt::format(
        "'{}' holds other rounds than this muffle makes of this configuration: use the muffle that began, or "
        "move the file away, and the same command is a new charge. Nothing was drawn.",
        release::rounds_file(job_.file).string()));
  }

  /// Before the first of the rounds that are left: finds the records, agrees on their number, plans, asks the
  /// ledger. @returns the records; nothing for a dry run.
  std::unique_ptr<data::RecordSource> prepare() {
    std::unique_ptr<data::RecordSource> source;
    if (!job_.dry_run) {
      records_ = job_.find_records();
      records_.heartbeat = [&] { heartbeat_("opening the shards"); };
      source = open_records();
      agree_on_records(together_, job_, source->shard_size());
      if (done_ == 0) embedder_ = job_.make_embedder(plan_.of_round(1));
    }
    tell_noise(job_);
    mode_ = plan_aggregation(together_, job_);
    together_.agree("comparing with earlier rounds", true, [&] {
      if (together_.coordinates()) require_same_sums();
    });
    together_.agree("asking the privacy ledger", true, [&] {
      if (together_.coordinates()) ask_ledger(job_, done_ > 0);
    });
    return source;
  }

  /// What a release states of its sums holds for all its rounds.
  void require_same_sums() {
    summed_ = release::summed_by(mode_,
                                 privacy::sites_of(mode_) ? to_hex(load_roster(together_, job_).hash()) : "");
    if (kept_.rounds() == 0 || kept_.summed == summed_) return;
    throw ConfigError(fmt::format(
        "'{}' holds {} of {} rounds of this release, whose sums came together otherwise ({}) than this job's "
        "would ({}), and a release states one way for all its rounds: who saw which sums. Go on as the job "
        "began, with as many ranks and the same privacy.site_roster. Or move that file away: the same "
        "command then begins anew, for a new charge. Nothing was drawn.",
        release::rounds_file(job_.file).string(), kept_.rounds(), rounds_, kept_.summed, summed_));
  }

  std::unique_ptr<data::RecordSource> open_records() {
    std::unique_ptr<data::RecordSource> source;
    together_.agree("opening the shards", false,
                    [&] { source = data::open_shard(records_, together_.party(), together_.parties()); });
    return source;
  }

  /// @param source  records that are open already, or nothing
  /// @returns whether the release was found there.
  bool make_round(std::unique_ptr<data::RecordSource>&& source) {
    number_ = done_ + 1;
    if (number_ > 1) choose_tables();
    const release::ReleasePlan own = plan_.of_round(number_);
    if (!embedder_) embedder_ = job_.make_embedder(own);
    if (!source) source = open_records();
    const Terms terms = Terms::of(own.noise, mode_);
    lockstep::Contributor role(terms, together_.party());
    agree_on_keys_and_shares(role);
    embed_records(role, *source);
    source.reset();
    embedder_.reset();

    // From the charge to its COMMIT the coordinator holds the ledger's lock. Charged this late, a job that a
    // bad record or a lost party ended has cost nothing.
    std::optional<release::ReleaseTransaction> transaction;
    bool there = false;
    together_.agree("looking for an earlier release", true, [&] {
      if (!together_.coordinates()) return;
      transaction.emplace(begin_transaction(job_, heartbeat_));
      there = transaction->settle();  // another process may have been faster
      if (!there && rounds_ > 1) require_same_rounds(*transaction);
    });
    if (together_.coordinator_says(there)) {
      role.keep();
      spdlog::info("release: another process made {} meanwhile; its noise is not drawn again",
                   job_.file.string());
      return true;
    }
    std::optional<lockstep::Coordinator> coordinator;
    if (together_.coordinates()) coordinator.emplace(terms);
    commit(role, coordinator ? &*coordinator : nullptr, transaction ? &*transaction : nullptr);
    return false;
  }

  void require_same_rounds(release::ReleaseTransaction& transaction) const {
    if (transaction.resume().value_or(release::KeptRounds{}) == kept_) return;
    throw ProtocolError(
        fmt::format("Another job went on with this release, or '{}' was changed meanwhile. This round was "
                    "not drawn; run the command again.",
                    release::rounds_file(job_.file).string()));
  }

  /// The coordinator chooses what the next round counts from the released numbers, and tells all parties.
  void choose_tables() {
    std::string text;
    together_.agree("choosing what the next round counts", true, [&] {
      if (!together_.coordinates()) return;
      const release::Artifact so_far = release::released_so_far(plan_, mode_, kept_.values);
      release::ReleasePlan next = plan_;
      for (std::size_t b = 0; b < plan_.maps.size(); ++b) {
        if (plan_.maps[b].round == number_) next.count_in(b, job_.choose_tables(plan_, b, so_far));
      }
      text = release::tables_text(next, number_);
    });
    text = together_.from_coordinator(text);
    together_.agree("choosing what the next round counts", true,
                    [&] { release::read_tables(plan_, text, "the coordinator's message"); });
    spdlog::info("release: round {} of {}", number_, rounds_);
  }

  /// The operating system's entropy or, for tests, a stream of this party's and round's own: no two draw the
  /// same.
  std::unique_ptr<privacy::EntropySource> entropy() const {
    if (job_.secure_noise()) return privacy::os_entropy();
    if (job_.no_noise) {
      spdlog::warn("release: NO NOISE: these are the records' exact sums, and the release is NOT PRIVATE");
      return privacy::insecure_no_noise();
    }
    spdlog::warn("release: SEEDED NOISE, for tests only: this release is NOT PRIVATE");
    const auto which = static_cast<std::uint64_t>(together_.party()) + ((number_ - 1) << 32);
    return privacy::insecure_seeded_entropy(*job_.insecure_seed + std::uint64_t{0x9E3779B97F4A7C15} * which);
  }

  /// Before records are embedded, so that bad keys show early and the sampler has nothing private to be timed
  /// against.
  void agree_on_keys_and_shares(lockstep::Contributor& role) {
    if (!privacy::is_masked(mode_)) return;
    std::optional<crypto::SiteIdentity> identity;
    if (privacy::sites_of(mode_)) {
      together_.agree("reading the site keys", true, [&] {
        identity.emplace(crypto::SiteIdentity{
            crypto::SiteKey::load(data::resolve_path({}, job_.aggregation.site_key, together_.party())),
            load_roster(together_, job_)});
      });
    }
    // The coordinator keeps the ledger; a data set without a name has one of its path, which differs from
    // party to party.
    const std::string data_id =
        together_.from_coordinator(together_.coordinates() ? job_.order().data_id : "");
    std::string purpose = "release " + release::plan_hash(job_.plan) + " of data " + data_id;
    if (number_ > 1) purpose += fmt::format(", round {}", number_);
    agree_on_keys(role, together_, purpose, identity ? &*identity : nullptr);
    if (privacy::distributed(mode_) != nullptr) draw_shares(role, together_, *entropy(), heartbeat_);
  }

  void embed_records(lockstep::Contributor& role, data::RecordSource& source) {
    together_.agree("embedding the records", false, [&] {
      spdlog::debug("release: embedding begins");
      // Under add/remove-one the number of records is private: the line shows no count.
      Progress progress("embed", source.shard_size(), "records",
                        together_.coordinates() && job_.time_is_public());
      const auto begun = std::chrono::steady_clock::now();
      role.embed(embed::embed_shard(*embedder_, source, job_.threads, [&](std::uint64_t n) {
        heartbeat_("embedding the records");
        progress.update(n);
      }));
      progress.update(source.shard_size());
      if (!job_.time_is_public()) return;
      const double s = seconds_since(begun);
      spdlog::debug("release: rank {} has embedded {} records in {:.3g} s, {:.4g} a second",
                    together_.party(), source.shard_size(), s, static_cast<double>(source.shard_size()) / s);
    });
    spdlog::debug("release: every rank has embedded its records");
  }

  /// The half of a round that is not stopped: nothing here has a heartbeat, and the closed round holds off
  /// signals. Charges, draws the noise, sums, publishes and writes.
  /// @param coordinator, transaction  settled, and without a release; null but at the coordinator
  void commit(lockstep::Contributor& role, lockstep::Coordinator* coordinator,
              release::ReleaseTransaction* transaction) {
    const auto commitment = [&](const auto& step) { return telling_fate(transaction, job_.file, step); };
    role.close();
    together_.agree("charging the ledger and drawing the noise", true, [&] {
      if (!together_.coordinates()) return;
      // Before the charge, and while no release is there that it could belie.
      job_.note_settings();
      constexpr std::size_t kBesideNumbers = std::size_t{1}
                                             << 20;  // header, ledger and statements, generously
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

  void write(privacy::NoisySum&& noisy, release::ReleaseTransaction& transaction) {
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

  release::Artifact make_artifact(privacy::NoisySum&& noisy) {
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

  /// The coordinator's errors between two rounds say that nothing is lost.
  template <class Step>
  bool telling_kept(const Step& step) {
    const std::size_t kept = kept_.rounds();
    try {
      return step();
    } catch (const Error& e) {
      // What was thrown from the charge on has said what became of it.
      if (kept == 0 || number_ == 0 ||
          std::string_view(e.what()).find(kept_.charge) != std::string_view::npos)
        throw;
      throw with_sentence(
          e, fmt::format("{} of {} rounds are kept: the same command goes on with them, for charge {} alone.",
                         kept, rounds_, kept_.charge));
    }
  }

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
  std::string summed_;                       ///< release::summed_by(), at the coordinator
  std::optional<embed::Embedder> embedder_;  ///< of the next round, where it is there already
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

bool release(Together& together, const NamedHeartbeat& heartbeat, const ReleaseJob& job) {
  return Run(together, heartbeat, job).to_the_end();
}

}  // namespace muffle::round
