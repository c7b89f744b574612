#pragma once

#include <optional>
#include <string>

#include "muffle/round/secure_sum.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/privacy/aggregation.hpp"
#include "muffle/privacy/distributed_noise.hpp"

namespace muffle::round {

/// How the sums of one release come together, from the exchange of keys to the noisy total: who draws which
/// noise, and what leaves a rank (docs/secure-aggregation.md). The one way for `muffle release` and for the
/// audit that attacks it. For one release; every method but draw_noise() is collective.
class Aggregation {
 public:
  /// Nothing is drawn or sent yet. @param comm, plan  must outlive it. @param mode  of comm.size() ranks.
  /// @throws ConfigError  the mode is impossible (privacy::require_valid, privacy::plan_distributed_noise).
  Aggregation(comm::HostComm& comm, const privacy::NoisePlan& plan, const privacy::AggregationMode& mode);

  const privacy::AggregationMode& mode() const { return mode_; }
  /// Of distributed noise.
  const std::optional<privacy::DistributedNoisePlan>& shares() const { return shares_; }

  /// First, where sums are masked; else nothing happens.
  /// @param round  what the sum is for; the same on all ranks. @param identity  none: keys are not signed.
  /// @throws ProtocolError  on all ranks.
  void exchange_keys(const std::string& round, const crypto::SiteIdentity* identity);

  /// Draws this rank's share of the noise, where every rank has one; else nothing happens.
  void draw_share(privacy::EntropySource& entropy);

  /// On root, before sum(): draws the noise of the whole release, where no rank has a share of it; else
  /// nothing happens.
  void draw_noise(privacy::EntropySource& entropy);

  /// The released numbers, on root; empty elsewhere. Once.
  privacy::NoisySum sum(embed::PartialSum&& partial);

 private:
  comm::HostComm& comm_;
  const privacy::NoisePlan& plan_;
  privacy::AggregationMode mode_;
  std::optional<privacy::DistributedNoisePlan> shares_;
  std::optional<round::SecureSum> round_;
  std::optional<privacy::NoiseShare> share_;
  std::optional<privacy::NoiseVector> noise_;
};

}  // namespace muffle::round
