#include "muffle/round/aggregation.hpp"

#include <spdlog/spdlog.h>

#include <utility>

#include "muffle/core/error.hpp"

namespace muffle::round {

Aggregation::Aggregation(comm::HostComm& comm, const privacy::NoisePlan& plan,
                         const privacy::AggregationMode& mode)
    : comm_(comm), plan_(plan), mode_(mode) {
  privacy::require_valid(mode);
  require(mode.ranks == comm.size(), "an aggregation was planned for other ranks: this is a bug in muffle.");
  if (mode.distributed) shares_ = privacy::plan_distributed_noise(plan, mode.ranks, mode.colluding);
}

void Aggregation::exchange_keys(const std::string& round, const crypto::SiteIdentity* identity) {
  if (!mode_.masked) return;
  round_.emplace(comm_, round::SecureSumSpec{privacy::length_of(plan_.parts), round, identity});
  spdlog::debug("release: secure sum {}", round_->round());
}

void Aggregation::draw_share(privacy::EntropySource& entropy) {
  if (!mode_.distributed) return;
  comm::agree(
      comm_, "drawing the shares of the noise",
      [&] {
        share_.emplace(*shares_, entropy, [&] { comm_.check_peers("drawing the shares of the noise"); });
      },
      true);
}

void Aggregation::draw_noise(privacy::EntropySource& entropy) {
  // After the charge: a request to stop waits, a lost rank does not.
  if (!mode_.distributed)
    noise_.emplace(plan_.parts, entropy, [&] { comm_.check_lost("drawing the noise"); });
}

privacy::NoisySum Aggregation::sum(embed::PartialSum&& partial) {
  if (mode_.distributed) return embed::reduce_to_root(std::move(*round_), std::move(partial), std::move(*share_));
  privacy::RawSum raw = mode_.masked ? embed::reduce_to_root(std::move(*round_), std::move(partial))
                                     : embed::reduce_to_root(comm_, std::move(partial));
  privacy::NoisySum noisy;
  comm::agree(
      comm_, "adding the noise",
      [&] {
        if (comm_.is_root()) noisy = std::move(*noise_).publish(std::move(raw));
      },
      true);
  return noisy;
}

}  // namespace muffle::round
