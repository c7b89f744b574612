#pragma once

#include <optional>

#include "muffle/app/commands.hpp"
#include "muffle/comm/secure_sum.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/privacy/aggregation.hpp"
#include "muffle/privacy/distributed_noise.hpp"

namespace muffle::app {

/// The aggregation that a configuration asks for on so many ranks. @throws ConfigError  it contradicts
/// itself.
privacy::AggregationMode aggregation_mode(const Config& config, int ranks);

/// How the sums of one release come together, from the exchange of keys to the noisy total
/// (docs/secure-aggregation.md). For one release; every method is collective.
class Aggregation {
 public:
  /// Checks the settings; nothing is drawn or sent yet.
  /// @throws ConfigError  on all ranks.
  Aggregation(const Context& context, const privacy::NoisePlan& plan);

  const privacy::AggregationMode& mode() const { return mode_; }

  /// Exchanges keys, draws this rank's share of the noise: before records are embedded, so that bad keys
  /// show early and the sampler has nothing private to be timed against.
  /// @throws ProtocolError, ConfigError, IoError  on all ranks.
  void prepare();

  /// On root: draws the noise of the whole release, once the ledger has charged it; nothing to do when every
  /// rank has its share. Not collective.
  void draw_noise();

  /// The released numbers, on root; empty elsewhere. Once, after prepare() and draw_noise().
  privacy::NoisySum sum(embed::PartialSum&& partial);

 private:
  const Context& context_;
  privacy::NoisePlan plan_;
  privacy::AggregationMode mode_;
  std::optional<privacy::DistributedNoisePlan> shares_;
  std::optional<comm::SecureSum> round_;
  std::optional<privacy::NoiseShare> share_;
  std::optional<privacy::NoiseVector> noise_;
};

}  // namespace muffle::app
