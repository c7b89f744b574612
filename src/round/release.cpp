// A release has two halves. The first can be stopped and costs nothing. The second begins with the round's
// closing, is given no heartbeat, and ends with a COMMIT.
#include "muffle/round/release.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <chrono>
#include <iostream>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/log.hpp"
#include "muffle/core/progress.hpp"
#include "muffle/core/text.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/privacy/entropy.hpp"
#include "muffle/round/drive.hpp"

namespace muffle::round {
namespace {

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

/// The operating system's entropy or, for tests, a stream of this site's own: two sites never draw the same.
std::unique_ptr<privacy::EntropySource> entropy_of(const ReleaseJob& job, int site) {
  if (!job.insecure_seed) return privacy::os_entropy();
  spdlog::warn("release: SEEDED NOISE, for tests only: this release is NOT PRIVATE");
  return privacy::insecure_seeded_entropy(*job.insecure_seed + std::uint64_t{0x9E3779B97F4A7C15} *
                                                                   static_cast<std::uint64_t>(site));
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

/// At the coordinator: whether the release is there, and is the one that is asked for.
bool is_made(const ReleaseJob& job, const NamedHeartbeat& heartbeat) {
  if (!job.dry_run) return begin_transaction(job, heartbeat).settle();
  const release::ReleaseOrder order = job.order();
  if (!release::release_is_there(order.file)) return false;
  release::require_ordered(order, release::parse_artifact(read_file(order.file), order.file.string()));
  return true;
}

/// An error that every site finds by itself, in the same messages.
template <class E>
[[noreturn]] void throw_agreed(const Transport& transport, E error) {
  error.mark_agreed(!transport.coordinates());
  throw error;
}

/// m is agreed before any private byte is summed: the headers' counts, added over the sites, must be the
/// public m. Under add/remove-one m is private and no site tells its count.
void agree_on_records(Transport& transport, const ReleaseJob& job, std::uint64_t mine) {
  if (job.plan.adjacency != privacy::Adjacency::kReplaceOne) return;
  std::uint64_t total = 0;
  const std::vector<std::string> all = transport.to_all(std::to_string(mine));
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::uint64_t count = 0;
    const char* const end = all[r].data() + all[r].size();
    const auto read = std::from_chars(all[r].data(), end, count);
    if (read.ec != std::errc{} || read.ptr != end || __builtin_add_overflow(total, count, &total)) {
      throw_agreed(transport,
                   ProtocolError(fmt::format(
                       "Rank {} says that its shard holds '{}' records, which cannot be: do all ranks run "
                       "the same muffle? Nothing was released.",
                       r, printable(all[r].substr(0, 32)))));
    }
  }
  if (total == job.plan.records) return;
  log_local(fmt::format("release: this rank's shard holds {} records", mine));
  throw_agreed(
      transport,
      DataError(fmt::format(
          "The shards hold {} records together, but data.records says {}. Under replace-one adjacency m is "
          "public and enters the means: set data.records to the true number, or find the missing or doubled "
          "shard (each rank's log has the size of its own). Nothing was released.",
          total, job.plan.records)));
}

/// With one site's share from a seed the release is not private, and the coordinator would not know.
void require_same_entropy(Transport& transport, const ReleaseJob& job) {
  const std::string mine = job.insecure_seed ? "seeded" : "secure";
  for (const std::string& theirs : transport.to_all(mine)) {
    if (theirs == mine) continue;
    throw_agreed(transport,
                 ConfigError("--insecure-seeded-noise was given to some of the ranks only, and every rank "
                             "draws a share of the noise: give it to all of them or to none. Nothing was "
                             "read."));
  }
}

void tell_noise(const ReleaseJob& job) {
  const privacy::NoisePlan& noise = job.plan.noise;
  spdlog::info("release: ({}, {})-DP, sensitivity {:.6g}, noise multiplier {:.10g}, sigma {:.10g}",
               noise.epsilon, noise.delta, noise.sensitivity.value, noise.noise_multiplier, noise.sigma);
  if (noise.delta * static_cast<double>(job.plan.records) >= 1) {
    spdlog::warn(
        "release: delta {} is not below 1 / {} records: a release of one random record in the clear would "
        "satisfy such a delta. Use a smaller one.",
        noise.delta, job.plan.records);
  }
}

crypto::SiteRoster load_roster(const Transport& transport, const ReleaseJob& job) {
  return crypto::SiteRoster::load(data::resolve_path({}, job.aggregation.site_roster, transport.site()));
}

Terms plan_aggregation(Transport& transport, const ReleaseJob& job) {
  const privacy::NoisePlan& plan = job.plan.noise;
  Terms terms;
  transport.agree("planning the aggregation", true, [&] {
    std::optional<crypto::SiteRoster> roster;
    if (!job.aggregation.site_roster.empty()) roster = load_roster(transport, job);
    if (roster) roster->require_ranks(transport.sites());
    terms = Terms::of(plan, job.aggregation.mode(transport.sites(), roster ? &*roster : nullptr));
  });
  if (terms.mode.distributed) require_same_entropy(transport, job);
  std::optional<privacy::Guarantee> promised;
  if (!job.insecure_seed) promised = {plan.epsilon, plan.delta, plan.noise_multiplier};
  spdlog::info("release: {}", privacy::describe(terms.mode, promised));
  if (!terms.shares) return terms;
  for (std::size_t p = 0; p < plan.parts.size(); ++p) {
    for (std::size_t r = 0; r < plan.parts[p].runs.size(); ++r) {
      const privacy::NoiseRun& share = terms.shares->shares[p].runs[r];
      spdlog::info(
          "release: each rank's share has sigma {} lattice units; the released numbers carry {:.10g}, "
          "of which {} are needed",
          share.sigma_lattice, terms.shares->total_sigma(share), plan.parts[p].runs[r].sigma_lattice);
    }
  }
  return terms;
}

/// The binding check is ReleaseTransaction::begin's; a job that fails there need not sum its records.
void ask_ledger(const ReleaseJob& job) {
  const privacy::NoisePlan& plan = job.plan.noise;
  const release::ReleaseOrder order = job.order();
  // A key that cannot be read is found before anything is charged.
  if (!order.signing_key.empty()) crypto::SiteKey::load(order.signing_key);
  const privacy::LedgerState state = privacy::Ledger::preview(order.ledger, order.data_id, order.budget);
  privacy::require_unit(state, privacy::unit_of(plan));
  const privacy::Quote quote = privacy::quote(state, privacy::mu_of(plan), !job.insecure_seed, plan.delta);
  if (job.dry_run) {
    std::cout << fmt::format("dry run: nothing is read, charged or released.\n{}: {}.\nledger: {}\n",
                             quote.allowed ? "allowed" : "REFUSED", quote.text, order.ledger.string())
              << std::flush;
  } else {
    spdlog::info("release: {}", quote.text);
    std::string open = order.left_open + (state.budget ? "" : "privacy.budget_epsilon, ");
    if (!open.empty() && !job.insecure_seed) {
      open.resize(open.size() - 2);
      spdlog::warn(
          "release: not set: {}. What releases of the same records reveal adds up: without a name, a ledger "
          "and a budget of the data set nobody counts those of other run folders, and none is refused",
          open);
    }
  }
  if (quote.allowed) return;
  throw PrivacyError(
      fmt::format("The privacy budget refuses: {}. No record was read, and nothing was charged, drawn or "
                  "released.",
                  quote.text));
}

/// Before records are embedded, so that bad keys show early and the sampler has nothing private to be timed
/// against.
void agree_on_keys_and_shares(Round& round, Transport& transport, const NamedHeartbeat& heartbeat,
                              const ReleaseJob& job) {
  if (!round.terms().mode.masked) return;
  std::optional<crypto::SiteIdentity> identity;
  if (round.terms().mode.signed_keys) {
    transport.agree("reading the site keys", true, [&] {
      identity.emplace(crypto::SiteIdentity{
          crypto::SiteKey::load(data::resolve_path({}, job.aggregation.site_key, transport.site())),
          load_roster(transport, job)});
    });
  }
  // The coordinator keeps the ledger; a data set without a name has one of its path, which differs from site
  // to site.
  const std::string data_id = transport.from_coordinator(transport.coordinates() ? job.order().data_id : "");
  agree_on_keys(round, transport, "release " + job.config_hash + " of data " + data_id,
                identity ? &*identity : nullptr);
  if (round.terms().mode.distributed)
    draw_shares(round, transport, *entropy_of(job, transport.site()), heartbeat);
}

void embed_records(Round& round, Transport& transport, const NamedHeartbeat& heartbeat, const ReleaseJob& job,
                   const embed::Embedder& embedder, data::RecordSource& source) {
  transport.agree("embedding the records", false, [&] {
    spdlog::debug("release: embedding begins");
    // Under add/remove-one the number of records is private: the line shows no count.
    Progress progress("embed", source.shard_size(), "records",
                      transport.coordinates() && job.time_is_public());
    const auto begun = std::chrono::steady_clock::now();
    round.embed(embed::embed_shard(embedder, source, job.threads, [&](std::uint64_t n) {
      heartbeat("embedding the records");
      progress.update(n);
    }));
    progress.update(source.shard_size());
    if (!job.time_is_public()) return;
    const double s = seconds_since(begun);
    spdlog::debug("release: rank {} has embedded {} records in {:.3g} s, {:.4g} a second", transport.site(),
                  source.shard_size(), s, static_cast<double>(source.shard_size()) / s);
  });
  spdlog::debug("release: every rank has embedded its records");
}

/// Opens the records, agrees on their number, plans, asks the ledger, exchanges keys, embeds.
/// @returns the round, with its records embedded; nothing for a dry run.
std::unique_ptr<Round> prepare(Transport& transport, const NamedHeartbeat& heartbeat, const ReleaseJob& job) {
  std::unique_ptr<data::RecordSource> source;
  embed::Embedder embedder;
  if (!job.dry_run) {
    data::DataSpec records = job.find_records();
    records.heartbeat = [&] { heartbeat("opening the shards"); };
    transport.agree("opening the shards", false,
                    [&] { source = data::open_shard(records, transport.site(), transport.sites()); });
    agree_on_records(transport, job, source->shard_size());
    embedder = job.make_embedder(job.plan);
  }
  tell_noise(job);
  Terms terms = plan_aggregation(transport, job);
  transport.agree("asking the privacy ledger", true, [&] {
    if (transport.coordinates()) ask_ledger(job);
  });
  if (job.dry_run) return nullptr;
  auto round = std::make_unique<Round>(std::move(terms), transport.site());
  agree_on_keys_and_shares(*round, transport, heartbeat, job);
  embed_records(*round, transport, heartbeat, job, embedder, *source);
  return round;
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
    constexpr std::size_t kBesideNumbers = std::size_t{1} << 20;  // header, ledger and statements, generously
    require_room(job.file.parent_path(), job.plan.size() * sizeof(std::int64_t) + kBesideNumbers);
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

bool release(Transport& transport, const NamedHeartbeat& heartbeat, const ReleaseJob& job) {
  bool there = false;
  transport.agree("looking for an earlier release", true, [&] {
    heartbeat("starting a release");
    if (transport.coordinates()) there = is_made(job, heartbeat);
  });
  if (transport.coordinator_says(there)) {
    spdlog::info("release: {} is there already and matches; its noise is not drawn again", job.file.string());
    return true;
  }

  const auto start = std::chrono::steady_clock::now();
  const std::vector<comm::CollectiveUse> use_before = transport.use();
  const std::unique_ptr<Round> round = prepare(transport, heartbeat, job);
  if (!round) return false;

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
    return true;
  }
  commit(transport, job, *round, transaction ? &*transaction : nullptr, start);
  if (job.time_is_public()) {
    spdlog::debug("release: collectives of rank {}: {}", transport.site(),
                  comm::describe_use(use_before, transport.use()));
  }
  return false;
}

}  // namespace muffle::round
