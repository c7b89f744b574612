#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>
#include <utility>

#include "aggregation.hpp"
#include "devices.hpp"
#include "layout.hpp"
#include "muffle/app/commands.hpp"
#include "muffle/crypto/site_keys.hpp"
#include "muffle/comm/termination.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/log.hpp"
#include "muffle/core/printable.hpp"
#include "muffle/core/progress.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/release/transaction.hpp"
#include "release_ledger.hpp"
#include "run_folder.hpp"
#include "stages.hpp"

namespace muffle::app {
namespace {

using Seconds = std::chrono::duration<double>;

/// m is agreed before any private byte is summed: the headers' counts, added over the ranks, must be the
/// public m. Under add/remove-one m is private and no rank tells its count.
void agree_on_records(comm::HostComm& comm, const Config& config, std::uint64_t mine) {
  if (config.privacy.adjacency != privacy::Adjacency::kReplaceOne) return;
  std::uint64_t total = 0;
  const std::vector<std::string> all = comm.all_gather(std::to_string(mine));
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::uint64_t count = 0;
    const char* const end = all[r].data() + all[r].size();
    const auto read = std::from_chars(all[r].data(), end, count);
    if (read.ec != std::errc{} || read.ptr != end || __builtin_add_overflow(total, count, &total)) {
      ProtocolError error(fmt::format(
          "Rank {} says that its shard holds '{}' records, which cannot be: do all ranks run the same "
          "muffle? Nothing was released.",
          r, printable(all[r].substr(0, 32))));
      error.mark_agreed(!comm.is_root());  // every rank sees the same texts
      throw error;
    }
  }
  if (total == config.data.records) return;
  log_local(fmt::format("release: this rank's shard holds {} records", mine));
  DataError error(
      fmt::format("The shards hold {} records together, but data.records says {}. Under replace-one "
                  "adjacency m is public and "
                  "enters the means: set data.records to the true number, or find the missing or doubled "
                  "shard (each rank's log has the size of its own). Nothing was released.",
                  total, config.data.records));
  error.mark_agreed(!comm.is_root());
  throw error;
}

release::Artifact describe_release(const Context& context, const privacy::NoisePlan& plan,
                                 const privacy::AggregationMode& mode, privacy::NoisySum&& noisy) {
  const Config& c = context.config;
  release::Artifact a;
  for (const features::BlockSpec& spec : block_specs(c)) a.blocks.push_back({spec, map_hash(spec)});
  a.lattice_bits = c.features.lattice_bits;
  a.schema = c.data.schema;
  a.counts = c.release_counts;
  a.counts_weight = kCountsWeight;
  a.records = c.privacy.adjacency == privacy::Adjacency::kReplaceOne ? c.data.records : 0;
  a.adjacency = c.privacy.adjacency;
  a.max_records_per_person = c.privacy.max_records_per_person;
  a.noise = plan;
  a.is_private = noisy.is_private;
  a.config_hash = stage_hash(c, Stage::kRelease);
  a.data_id = release_order(context).data_id;
  a.muffle_version = MUFFLE_VERSION;
  a.ranks = context.comm.size();
  a.aggregation = mode;
  a.values = std::move(noisy.values);
  return a;
}

/// Root's answer, on all ranks.
bool root_says(comm::HostComm& comm, bool yes) {
  std::int64_t answer = comm.is_root() && yes ? 1 : 0;
  comm.all_reduce_max(std::span(&answer, 1));
  return answer != 0;
}

/// What a command does with a release that is there already and is the one asked for.
void keep_release(const Context& context) {
  comm::agree(
      context.comm, "noting the settings",
      [&] {
        record_settings(context, Stage::kRelease);
        if (context.comm.is_root() && context.insecure_seed)
          warn_not_private("release", context.out / kReleaseFile);
      },
      true);
}

/// What the ledger says to a charge of mu, before anything is done. Root only.
privacy::Quote ask_ledger(const Context& context, const privacy::NoisePlan& plan) {
  const release::ReleaseOrder order = release_order(context);
  const privacy::LedgerState state = privacy::Ledger::preview(order.ledger, order.data_id, order.budget);
  privacy::require_unit(state, privacy::unit_of(plan));
  return privacy::quote(state, privacy::mu_of(plan), !context.insecure_seed, plan.delta);
}

void require_allowed(const privacy::Quote& quote) {
  if (quote.allowed) return;
  throw PrivacyError(
      fmt::format("The privacy budget refuses: {}. No record was read, and nothing was charged, drawn or "
                  "released.",
                  quote.text));
}

/// Of the release's file; header, ledger and statements are counted generously.
std::size_t release_bytes(const Config& config) {
  std::size_t numbers = config.release_counts ? 1 : 0;
  for (const features::BlockSpec& spec : block_specs(config)) numbers += features_of(spec);
  return numbers * config.data.schema.classes * sizeof(std::int64_t) + (std::size_t{1} << 20);
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

}  // namespace

void release(Context& context) {
  comm::HostComm& comm = context.comm;
  const Config& config = context.config;
  const auto file = context.out / kReleaseFile;

  // Releases of one data set take turns. Nothing is charged yet, so a rank that is told to stop ends the
  // wait.
  const auto begin_transaction = [&] {
    bool said = false;
    return release::ReleaseTransaction(release_order(context), [&] {
      comm.check_peers("waiting for the privacy ledger");
      if (!std::exchange(said, true))
        spdlog::info("release: waits for another release of the data set, which holds the ledger");
    });
  };
  bool there = false;
  comm::agree(
      comm, "looking for an earlier release",
      [&] {
        comm.check_peers("starting a release");
        if (!comm.is_root()) return;
        if (context.dry_run) {
          there = release::release_is_there(file);
          if (there) release::require_ordered(release_order(context), release::read_artifact(file));
        } else {
          there = begin_transaction().settle();
        }
      },
      true);
  if (root_says(comm, there)) {
    spdlog::info("release: {} is there already and matches; its noise is not drawn again", file.string());
    if (!context.dry_run) keep_release(context);
    return;
  }

  const auto start = std::chrono::steady_clock::now();
  const auto seconds_since = [](std::chrono::steady_clock::time_point then) {
    return Seconds(std::chrono::steady_clock::now() - then).count();
  };
  const std::vector<comm::CollectiveUse> use_before = comm.collective_use();
  // Times tell m, which is private under add/remove-one.
  const bool time_is_public = config.privacy.adjacency == privacy::Adjacency::kReplaceOne;
  std::unique_ptr<data::RecordSource> source;
  if (!context.dry_run) {
    const data::DataSpec records = prepare_records(context);
    comm::agree(
        comm, "opening the shards", [&] { source = data::open_shard(records, comm.rank(), comm.size()); },
        false);
    agree_on_records(comm, config, source->shard_size());
  }

  const embed::Layout layout = context.dry_run ? make_layout(config) : make_layout_on_devices(context);
  const privacy::NoisePlan plan = privacy::plan_noise(
      config.privacy,
      layout.sensitivity_input(config.privacy.adjacency, config.privacy.max_records_per_person),
      layout.coordinates());
  spdlog::info("release: ({}, {})-DP, sensitivity {:.6g}, noise multiplier {:.10g}, sigma {:.10g}",
               plan.epsilon, plan.delta, plan.sensitivity.value, plan.noise_multiplier, plan.sigma);
  if (config.privacy.adjacency == privacy::Adjacency::kReplaceOne &&
      plan.delta * static_cast<double>(config.data.records) >= 1) {
    spdlog::warn(
        "release: delta {} is not below 1 / {} records: a release of one random record in the clear would "
        "satisfy such a delta. Use a smaller one.",
        plan.delta, config.data.records);
  }
  Aggregation aggregation(context, plan);
  // The binding check is ReleaseTransaction::begin's; a job that would fail there need not sum its records
  // first.
  comm::agree(
      comm, "asking the privacy ledger",
      [&] {
        if (!comm.is_root()) return;
        // A key that cannot be read is found before anything is charged.
        if (!config.signing_key.empty()) crypto::SiteKey::load(config.signing_key);
        const privacy::Quote quote = ask_ledger(context, plan);
        if (context.dry_run) {
          std::cout << fmt::format("dry run: nothing is read, charged or released.\n{}: {}.\nledger: {}\n",
                                   quote.allowed ? "allowed" : "REFUSED", quote.text,
                                   release_order(context).ledger.string())
                    << std::flush;
        } else {
          spdlog::info("release: {}", quote.text);
        }
        require_allowed(quote);
      },
      true);
  if (context.dry_run) return;
  aggregation.prepare();

  std::optional<embed::PartialSum> partial;
  comm::agree(
      comm, "embedding the records",
      [&] {
        spdlog::debug("release: embedding begins");
        // Under add/remove-one the number of records is private: the line shows no count.
        Progress progress("embed", source->shard_size(), "records", comm.is_root() && time_is_public);
        const auto begun = std::chrono::steady_clock::now();
        partial.emplace(embed::embed_shard(layout, *source, context.threads, [&](std::uint64_t n) {
          comm.check_peers("embedding the records");
          progress.update(n);
        }));
        progress.update(source->shard_size());
        if (!time_is_public) return;
        const double s = seconds_since(begun);
        spdlog::debug("release: rank {} has embedded {} records in {:.3g} s, {:.4g} a second", comm.rank(),
                      source->shard_size(), s, static_cast<double>(source->shard_size()) / s);
      },
      false);
  spdlog::debug("release: every rank has embedded its records");

  // From the charge to its COMMIT root holds the ledger's lock. Charged this late, a job that a bad record or
  // a lost rank ended has cost nothing. The whole noise vector exists before the reduced sum does, and the
  // sampler sees no data: its running time cannot depend on them.
  std::optional<release::ReleaseTransaction> transaction;
  comm::agree(
      comm, "looking for an earlier release",
      [&] {
        if (!comm.is_root()) return;
        transaction.emplace(begin_transaction());
        there = transaction->settle();  // another process may have been faster
      },
      true);
  if (root_says(comm, there)) {
    spdlog::info("release: another process made {} meanwhile; its noise is not drawn again", file.string());
    keep_release(context);
    return;
  }

  // A signal that comes from here on waits for the COMMIT: a charge without a release would be budget for
  // nothing. (One that came before is heard by check_peers(): nothing below may call it.)
  const comm::TerminationHold hold;
  // Root's errors from the charge on say what became of it.
  const auto charged = [&](const std::function<void()>& step) {
    try {
      step();
    } catch (const Error& e) {
      if (!transaction || transaction->charge().empty()) throw;
      const WatchedStep looking("looking for", file);
      std::error_code unknown;
      throw with_fate(e, transaction->charge(), std::filesystem::exists(file, unknown));
    }
  };
  comm::agree(
      comm, "charging the ledger and drawing the noise",
      [&] {
        if (!comm.is_root()) return;
        // Before the charge, and while no release is there that it could belie.
        record_settings(context, Stage::kRelease);
        require_room(context.out, release_bytes(config));
        charged([&] { transaction->begin(plan, !context.insecure_seed, [&] { aggregation.draw_noise(); }); });
      },
      true);
  spdlog::debug("release: the sum begins");
  std::optional<privacy::NoisySum> noisy;
  charged([&] { noisy.emplace(aggregation.sum(std::move(*partial))); });
  spdlog::debug("release: the sum ends");

  comm::agree(
      comm, "writing the release",
      [&] {
        if (!comm.is_root()) return;
        release::Artifact artifact = describe_release(context, plan, aggregation.mode(), std::move(*noisy));
        const std::size_t numbers = artifact.values.size();
        std::string hash;
        charged([&] { hash = transaction->finish(std::move(artifact)); });
        spdlog::info("release: {} numbers in {} (sha256 {}), charge {}{}", numbers, file.string(), hash,
                     transaction->charge(),
                     time_is_public ? fmt::format(", {:.1f} s", seconds_since(start)) : "");
      },
      true);
  if (time_is_public) {
    spdlog::debug("release: collectives of rank {}: {}", comm.rank(),
                  comm::describe_use(use_before, comm.collective_use()));
  }
}

}  // namespace muffle::app
