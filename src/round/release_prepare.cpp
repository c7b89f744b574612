// The half of a release that can be stopped, and costs nothing.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <iostream>

#include "muffle/core/error.hpp"
#include "muffle/core/log.hpp"
#include "muffle/core/printable.hpp"
#include "muffle/core/progress.hpp"
#include "muffle/privacy/entropy.hpp"
#include "release_steps.hpp"

namespace muffle::round {
namespace {

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

Terms plan_aggregation(Transport& transport, const ReleaseJob& job) {
  const privacy::NoisePlan& plan = job.plan.noise;
  Terms terms;
  transport.agree("planning the aggregation", true,
                  [&] { terms = Terms::of(plan, job.aggregation.mode(transport.sites())); });
  if (terms.mode.distributed) require_same_entropy(transport, job);
  spdlog::info("release: {}", privacy::describe(terms.mode));
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

/// The binding check is ReleaseTransaction::begin's; a job that would fail there need not sum its records
/// first.
void ask_ledger(const ReleaseJob& job) {
  const privacy::NoisePlan& plan = job.plan.noise;
  // A key that cannot be read is found before anything is charged.
  if (!job.signing_key.empty()) crypto::SiteKey::load(job.signing_key);
  const release::ReleaseOrder order = job.order();
  const privacy::LedgerState state = privacy::Ledger::preview(order.ledger, order.data_id, order.budget);
  privacy::require_unit(state, privacy::unit_of(plan));
  const privacy::Quote quote = privacy::quote(state, privacy::mu_of(plan), !job.insecure_seed, plan.delta);
  if (job.dry_run) {
    std::cout << fmt::format("dry run: nothing is read, charged or released.\n{}: {}.\nledger: {}\n",
                             quote.allowed ? "allowed" : "REFUSED", quote.text, order.ledger.string())
              << std::flush;
  } else {
    spdlog::info("release: {}", quote.text);
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
    const auto path = [&](const std::string& file) { return data::resolve_path({}, file, transport.site()); };
    transport.agree("reading the site keys", true, [&] {
      identity.emplace(crypto::SiteIdentity{crypto::SiteKey::load(path(job.aggregation.site_key)),
                                            crypto::SiteRoster::load(path(job.aggregation.site_roster))});
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

}  // namespace

std::unique_ptr<privacy::EntropySource> entropy_of(const ReleaseJob& job, int site) {
  if (!job.insecure_seed) return privacy::os_entropy();
  spdlog::warn("release: SEEDED NOISE, for tests only: this release is NOT PRIVATE");
  return privacy::insecure_seeded_entropy(*job.insecure_seed + std::uint64_t{0x9E3779B97F4A7C15} *
                                                                   static_cast<std::uint64_t>(site));
}

std::unique_ptr<Round> prepare(Transport& transport, const NamedHeartbeat& heartbeat, const ReleaseJob& job) {
  std::unique_ptr<data::RecordSource> source;
  embed::Embedder embedder;
  if (!job.dry_run) {
    const data::DataSpec records = job.find_records();
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

}  // namespace muffle::round
