#include "aggregation.hpp"

#include <spdlog/spdlog.h>

#include "muffle/core/error.hpp"
#include "muffle/data/source.hpp"
#include "muffle/privacy/entropy.hpp"

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

Aggregation::Aggregation(const Context& context, const privacy::NoisePlan& plan)
    : context_(context), plan_(plan) {
  comm::agree(
      context.comm, "planning the aggregation",
      [&] {
        mode_ = aggregation_mode(context.config, context.comm.size());
        if (mode_.distributed) shares_ = privacy::plan_distributed_noise(plan, mode_.ranks, mode_.colluding);
      },
      true);
  if (mode_.distributed) require_same_entropy(context);
  spdlog::info("release: {}", privacy::describe(mode_));
  if (!shares_) return;
  for (std::size_t p = 0; p < plan.parts.size(); ++p) {
    for (std::size_t r = 0; r < plan.parts[p].runs.size(); ++r) {
      const privacy::NoiseRun& share = shares_->shares[p].runs[r];
      spdlog::info(
          "release: each rank's share has sigma {} lattice units; the released numbers carry {:.10g}, "
          "of which {} are needed",
          share.sigma_lattice, shares_->total_sigma(share), plan.parts[p].runs[r].sigma_lattice);
    }
  }
}

void Aggregation::prepare() {
  if (!mode_.masked) return;
  comm::HostComm& comm = context_.comm;
  const Config& config = context_.config;
  std::optional<comm::SiteIdentity> identity;
  if (mode_.signed_keys) {
    const auto path = [&](const std::string& file) { return data::resolve_path({}, file, comm.rank()); };
    comm::agree(
        comm, "reading the site keys",
        [&] {
          identity.emplace(comm::SiteIdentity{comm::SiteKey::load(path(config.aggregation.site_key)),
                                              comm::SiteRoster::load(path(config.aggregation.site_roster))});
        },
        true);
  }
  round_.emplace(comm, comm::SecureSumSpec{privacy::length_of(plan_.parts),
                                           "release " + stage_hash(config, Stage::kRelease) + " of data " +
                                               config.ledger.data_id,
                                           identity ? &*identity : nullptr});
  spdlog::debug("release: secure sum {}", round_->round());
  if (!mode_.distributed) return;
  comm::agree(
      comm, "drawing the shares of the noise",
      [&] { share_.emplace(*shares_, *entropy_of(context_, comm.rank())); }, true);
}

void Aggregation::draw_noise() {
  if (!mode_.distributed) noise_.emplace(plan_.parts, *entropy_of(context_, 0));
}

privacy::NoisySum Aggregation::sum(embed::PartialSum&& partial) {
  comm::HostComm& comm = context_.comm;
  if (mode_.distributed)
    return embed::reduce_to_root(std::move(*round_), std::move(partial), std::move(*share_));
  privacy::RawSum raw = mode_.masked ? embed::reduce_to_root(std::move(*round_), std::move(partial))
                                     : embed::reduce_to_root(comm, std::move(partial));
  privacy::NoisySum noisy;
  comm::agree(
      comm, "adding the noise",
      [&] {
        if (comm.is_root()) noisy = std::move(*noise_).publish(std::move(raw));
      },
      true);
  return noisy;
}

}  // namespace muffle::app
