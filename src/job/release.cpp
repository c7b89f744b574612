#include "muffle/job/release.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/progress.hpp"
#include "muffle/privacy/entropy.hpp"
#include "release_run.hpp"

namespace muffle::job {
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

}  // namespace

bool ReleaseRun::to_the_end() {
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
  plan_sums();
  telling_kept([&] {
    propose();
    return false;
  });
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

bool ReleaseRun::look() {
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

void ReleaseRun::take_up() {
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

void ReleaseRun::require_kept(bool holds) const {
  if (holds) return;
  throw ProtocolError(fmt::format(
      "'{}' holds other rounds than this muffle makes of this configuration: use the muffle that began, or "
      "move the file away, and the same command is a new charge. Nothing was drawn.",
      release::rounds_file(job_.file).string()));
}

void ReleaseRun::plan_sums() {
  tell_noise(job_);
  mode_ = plan_aggregation(together_, job_);
  together_.agree("comparing with earlier rounds", true, [&] {
    if (together_.coordinates()) require_same_sums();
  });
}

void ReleaseRun::propose() {
  number_ = done_ + 1;
  if (number_ > 1) find_next_maps();
  // The coordinator keeps the ledger; a data set without a name has one of its path, which differs from
  // party to party.
  round_.emplace(agree_on_round(
      {plan_, mode_, number_, together_.coordinates() ? job_.order().data_id : std::string()}, together_));
}

std::unique_ptr<data::RecordSource> ReleaseRun::prepare() {
  std::unique_ptr<data::RecordSource> source;
  if (!job_.dry_run) {
    records_ = job_.find_records();
    records_.heartbeat = [&] { heartbeat_("opening the shards"); };
    source = open_records();
    agree_on_records(together_, job_, source->shard_size());
    if (done_ == 0) embedder_ = job_.make_embedder(round_->summed);
  }
  together_.agree("asking the privacy ledger", true, [&] {
    if (together_.coordinates()) ask_ledger(job_, done_ > 0);
  });
  return source;
}

void ReleaseRun::require_same_sums() {
  summed_ =
      release::summed_by(mode_, privacy::sites_of(mode_) ? to_hex(load_roster(together_, job_).hash()) : "");
  if (kept_.rounds() == 0 || kept_.summed == summed_) return;
  throw ConfigError(fmt::format(
      "'{}' holds {} of {} rounds of this release, whose sums came together otherwise ({}) than this job's "
      "would ({}), and a release states one way for all its rounds: who saw which sums. Go on as the job "
      "began, with as many ranks and the same privacy.site_roster. Or move that file away: the same "
      "command then begins anew, for a new charge. Nothing was drawn.",
      release::rounds_file(job_.file).string(), kept_.rounds(), rounds_, kept_.summed, summed_));
}

std::unique_ptr<data::RecordSource> ReleaseRun::open_records() {
  std::unique_ptr<data::RecordSource> source;
  together_.agree("opening the shards", false,
                  [&] { source = data::open_shard(records_, together_.party(), together_.parties()); });
  return source;
}

bool ReleaseRun::make_round(std::unique_ptr<data::RecordSource>&& source) {
  if (number_ == done_) propose();  // the first was, before there were records
  if (!embedder_) embedder_ = job_.make_embedder(round_->summed);
  if (!source) source = open_records();
  Contributor role(*round_, together_.party());
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
  std::optional<Coordinator> coordinator;
  if (together_.coordinates()) coordinator.emplace(*round_);
  commit(role, coordinator ? &*coordinator : nullptr, transaction ? &*transaction : nullptr);
  return false;
}

void ReleaseRun::require_same_rounds(release::ReleaseTransaction& transaction) const {
  if (transaction.resume().value_or(release::KeptRounds{}) == kept_) return;
  throw ProtocolError(
      fmt::format("Another job went on with this release, or '{}' was changed meanwhile. This round was "
                  "not drawn; run the command again.",
                  release::rounds_file(job_.file).string()));
}

void ReleaseRun::find_next_maps() {
  std::string text;
  std::vector<std::string> states;
  together_.agree("choosing what the next round sums", true, [&] {
    if (!together_.coordinates()) return;
    const release::Artifact so_far = release::released_so_far(plan_, mode_, kept_.values);
    release::ReleasePlan next = plan_;
    for (std::size_t b = 0; b < plan_.maps.size(); ++b) {
      if (plan_.maps[b].round == number_) next.go_on_with(b, job_.next_map(plan_, b, so_far));
    }
    text = release::tables_text(next, number_);
    states = release::states_of(next, number_);
  });
  text = together_.from_coordinator(text);
  states.resize(
      static_cast<std::size_t>(std::ranges::count_if(plan_.maps, [&](const features::NamedMap& map) {
        return map.round == number_ && map.map->steps() != nullptr;
      })));
  for (std::string& state : states) state = together_.from_coordinator(state);
  together_.agree("choosing what the next round sums", true, [&] {
    release::read_tables(plan_, text, "the coordinator's message");
    release::take_states(plan_, number_, states);
  });
  spdlog::info("release: round {} of {}", number_, rounds_);
}

std::unique_ptr<privacy::EntropySource> ReleaseRun::entropy() const {
  if (job_.secure_noise()) return privacy::os_entropy();
  if (job_.no_noise) {
    spdlog::warn("release: NO NOISE: these are the records' exact sums, and the release is NOT PRIVATE");
    return privacy::insecure_no_noise();
  }
  spdlog::warn("release: SEEDED NOISE, for tests only: this release is NOT PRIVATE");
  const auto which = static_cast<std::uint64_t>(together_.party()) + ((number_ - 1) << 32);
  return privacy::insecure_seeded_entropy(*job_.insecure_seed + std::uint64_t{0x9E3779B97F4A7C15} * which);
}

void ReleaseRun::agree_on_keys_and_shares(Contributor& role) {
  if (!privacy::is_masked(mode_)) return;
  std::optional<crypto::SiteIdentity> identity;
  if (privacy::sites_of(mode_)) {
    together_.agree("reading the site keys", true, [&] {
      identity.emplace(crypto::SiteIdentity{
          crypto::SiteKey::load(data::resolve_path({}, job_.aggregation.site_key, together_.party())),
          load_roster(together_, job_)});
    });
  }
  agree_on_keys(role, together_, identity ? &*identity : nullptr);
  if (privacy::distributed(mode_) != nullptr) draw_shares(role, together_, *entropy(), heartbeat_);
}

void ReleaseRun::embed_records(Contributor& role, data::RecordSource& source) {
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
    spdlog::debug("release: rank {} has embedded {} records in {:.3g} s, {:.4g} a second", together_.party(),
                  source.shard_size(), s, static_cast<double>(source.shard_size()) / s);
  });
  spdlog::debug("release: every rank has embedded its records");
}

bool ReleaseRun::telling_kept(const std::function<bool()>& step) {
  const std::size_t kept = kept_.rounds();
  try {
    return step();
  } catch (const Error& e) {
    // What was thrown from the charge on has said what became of it.
    if (kept == 0 || number_ == 0 || std::string_view(e.what()).find(kept_.charge) != std::string_view::npos)
      throw;
    throw with_sentence(
        e, fmt::format("{} of {} rounds are kept: the same command goes on with them, for charge {} alone.",
                       kept, rounds_, kept_.charge));
  }
}

bool release(Together& together, const NamedHeartbeat& heartbeat, const ReleaseJob& job) {
  return ReleaseRun(together, heartbeat, job).to_the_end();
}

}  // namespace muffle::job
