#include "aggregation.hpp"

#include <spdlog/spdlog.h>

#include "muffle/core/error.hpp"
#include "muffle/data/source.hpp"
#include "muffle/privacy/entropy.hpp"
#include "release_ledger.hpp"

namespace muffle::app {
namespace {

/// The operating system's entropy or, for tests, a stream of this rank's own: two ranks never draw the same.
std::unique_ptr<privacy::EntropySource> entropy_of(const Context& context, int rank) {
  if (!context.insecure_seed) return privacy::os_entropy();
  spdlog::warn("release: SEEDED NOISE, for tests only: this release is NOT PRIVATE");
  return privacy::insecure_seeded_entropy(*context.insecure_seed + std::uint64_t{0x9E3779B97F4A7C15} *
                                                                       static_cast<std::uint64_t>(rank));
}

/// With one rank's share from a seed the release is not private, and root would not know.
void require_same_entropy(const Context& context) {
  const std::string mine = context.insecure_seed ? "seeded" : "secure";
  for (const std::string& theirs : context.comm.all_gather(mine)) {
    if (theirs == mine) continue;
    ConfigError error(
        "--insecure-seeded-noise was given to some of the ranks only, and every rank draws a share of the "
        "noise: give it to all of them or to none. Nothing was read.");
    error.mark_agreed(!context.comm.is_root());
    throw error;
  }
}

}  // namespace

privacy::AggregationMode aggregation_mode(const Config& config, int ranks) {
  const auto& c = config.aggregation;
  privacy::AggregationMode mode;
  mode.masked = c.secure;
  mode.signed_keys = !c.site_key.empty();
  mode.distributed = c.distributed;
  mode.ranks = ranks;
  mode.colluding = c.distributed ? static_cast<int>(c.colluding) : 0;
  privacy::require_valid(mode);
  return mode;
}

Aggregation::Aggregation(const Context& context, const privacy::NoisePlan& plan) : context_(context) {
  comm::agree(
      context.comm, "planning the aggregation",
      [&] { way_.emplace(context.comm, plan, aggregation_mode(context.config, context.comm.size())); }, true);
  if (mode().distributed) require_same_entropy(context);
  spdlog::info("release: {}", privacy::describe(mode()));
  if (!way_->shares()) return;
  for (std::size_t p = 0; p < plan.parts.size(); ++p) {
    for (std::size_t r = 0; r < plan.parts[p].runs.size(); ++r) {
      const privacy::NoiseRun& share = way_->shares()->shares[p].runs[r];
      spdlog::info(
          "release: each rank's share has sigma {} lattice units; the released numbers carry {:.10g}, "
          "of which {} are needed",
          share.sigma_lattice, way_->shares()->total_sigma(share), plan.parts[p].runs[r].sigma_lattice);
    }
  }
}

void Aggregation::prepare() {
  if (!mode().masked) return;
  comm::HostComm& comm = context_.comm;
  const Config& config = context_.config;
  std::optional<crypto::SiteIdentity> identity;
  if (mode().signed_keys) {
    const auto path = [&](const std::string& file) { return data::resolve_path({}, file, comm.rank()); };
    comm::agree(
        comm, "reading the site keys",
        [&] {
          identity.emplace(crypto::SiteIdentity{crypto::SiteKey::load(path(config.aggregation.site_key)),
                                              crypto::SiteRoster::load(path(config.aggregation.site_roster))});
        },
        true);
  }
  // Root keeps the ledger; a data set without a name has one of its path, which differs from site to site.
  const std::string data_id =
      comm.all_gather(comm.is_root() ? release_order(context_).data_id : std::string()).front();
  way_->exchange_keys("release " + stage_hash(config, Stage::kRelease) + " of data " + data_id,
                      identity ? &*identity : nullptr);
  if (mode().distributed) way_->draw_share(*entropy_of(context_, comm.rank()));
}

void Aggregation::draw_noise() {
  if (!mode().distributed) way_->draw_noise(*entropy_of(context_, 0));
}

}  // namespace muffle::app
