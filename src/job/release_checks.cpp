#include "release_checks.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <iostream>

#include "muffle/core/log.hpp"
#include "muffle/core/text.hpp"
#include "muffle/job/proposal.hpp"

namespace muffle::job {
namespace {

/// An error that every party finds by itself, in the same messages.
template <class E>
[[noreturn]] void throw_agreed(const Together& together, E error) {
  error.mark_agreed(!together.coordinates());
  throw error;
}

/// With one party's share from a seed the release is not private, and the coordinator would not know.
void require_same_entropy(Together& together, const ReleaseJob& job) {
  const std::string mine = job.no_noise ? "none" : job.insecure_seed ? "seeded" : "secure";
  for (const std::string& theirs : together.to_all(mine)) {
    if (theirs == mine) continue;
    throw_agreed(
        together,
        ConfigError("--insecure-seeded-noise or --insecure-no-noise was given to some of the ranks only, and "
                    "every rank draws a share of the noise: give it to all of them or to none. Nothing was "
                    "read."));
  }
}

void require_all_listed(const crypto::SiteRoster& roster, int ranks) {
  if (roster.parties() == ranks) return;
  throw ConfigError(
      fmt::format("the site roster lists {} parties, but {} ranks take part: each of them needs its line.",
                  roster.parties(), ranks));
}

}  // namespace

void agree_on_records(Together& together, const ReleaseJob& job, std::uint64_t mine) {
  if (job.plan.adjacency != privacy::Adjacency::kReplaceOne) return;
  std::uint64_t total = 0;
  const std::vector<std::string> all = together.to_all(std::to_string(mine));
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::uint64_t count = 0;
    const char* const end = all[r].data() + all[r].size();
    const auto read = std::from_chars(all[r].data(), end, count);
    if (read.ec != std::errc{} || read.ptr != end || __builtin_add_overflow(total, count, &total)) {
      throw_agreed(together,
                   ProtocolError(fmt::format("Rank {} says that its shard holds '{}' records, which cannot "
                                             "be: do all ranks run the same muffle? Nothing was released.",
                                             r, printable(all[r].substr(0, 32)))));
    }
  }
  if (total == job.plan.records) return;
  log_local(fmt::format("release: this rank's shard holds {} records", mine));
  throw_agreed(
      together,
      DataError(fmt::format(
          "The shards hold {} records together, but data.records says {}. Under replace-one adjacency m is "
          "public and enters the means: set data.records to the true number, or find the missing or doubled "
          "shard (each rank's log has the size of its own). Nothing was released.",
          total, job.plan.records)));
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

crypto::SiteRoster load_roster(const Together& together, const ReleaseJob& job) {
  return crypto::SiteRoster::load(data::resolve_path({}, job.aggregation.site_roster, together.party()));
}

privacy::AggregationMode plan_aggregation(Together& together, const ReleaseJob& job) {
  const privacy::NoisePlan& plan = job.plan.noise;
  privacy::AggregationMode mode;
  std::optional<privacy::DistributedNoisePlan> shares;
  together.agree("planning the aggregation", true, [&] {
    std::optional<crypto::SiteRoster> roster;
    if (!job.aggregation.site_roster.empty()) roster = load_roster(together, job);
    if (roster) require_all_listed(*roster, together.parties());
    mode = job.aggregation.mode(together.parties(), roster ? &*roster : nullptr);
    shares = shares_of(plan, mode);
  });
  if (shares) require_same_entropy(together, job);
  std::optional<privacy::Guarantee> promised;
  if (job.secure_noise()) promised = {plan.epsilon, plan.delta, plan.noise_multiplier};
  spdlog::info("release: {}", privacy::describe(mode, promised));
  if (!shares) return mode;
  for (std::size_t p = 0; p < plan.parts.size(); ++p) {
    for (std::size_t r = 0; r < plan.parts[p].runs.size(); ++r) {
      const privacy::NoiseRun& share = shares->shares[p].runs[r];
      spdlog::info(
          "release: each rank's share has sigma {} lattice units; the released numbers carry {:.10g}, of "
          "which {} are needed",
          share.sigma_lattice, shares->total_sigma(share), plan.parts[p].runs[r].sigma_lattice);
    }
  }
  return mode;
}

void ask_ledger(const ReleaseJob& job, bool charged) {
  const privacy::NoisePlan& plan = job.plan.noise;
  const release::ReleaseOrder order = job.order();
  // A key that cannot be read is found before anything is charged.
  if (!order.signing_key.empty()) crypto::SiteKey::load(order.signing_key);
  if (charged) return;
  const privacy::LedgerState state = privacy::Ledger::preview(order.ledger, order.data_id, order.budget);
  privacy::require_unit(state, privacy::unit_of(plan));
  const privacy::Quote quote = privacy::quote(state, privacy::mu_of(plan), job.secure_noise(), plan.delta);
  if (job.dry_run) {
    std::cout << fmt::format("dry run: nothing is read, charged or released.\n{}: {}.\nledger: {}\n",
                             quote.allowed ? "allowed" : "REFUSED", quote.text, order.ledger.string())
              << std::flush;
  } else {
    spdlog::info("release: {}", quote.text);
    std::string open = order.left_open + (state.budget ? "" : "privacy.budget_epsilon, ");
    if (!open.empty() && job.secure_noise()) {
      open.resize(open.size() - 2);
      spdlog::warn(
          "release: not set: {}. What releases of the same records reveal adds up: without a name, a ledger "
          "and a budget of the data set nobody counts those of other run folders, and none is refused",
          open);
    }
  }
  if (quote.allowed) return;
  throw PrivacyError(fmt::format(
      "The privacy budget refuses: {}. No record was read, and nothing was charged, drawn or released.",
      quote.text));
}

Error with_sentence(const Error& e, const std::string& sentence) {
  Error out(e.code(), std::string(e.what()) + " " + sentence, LocalDetail{e.local_detail()}, e.where());
  if (e.agreed()) {
    out.mark_agreed(e.quiet());
  } else if (e.quiet()) {
    out.mark_quiet();
  }
  return out;
}

}  // namespace muffle::job
