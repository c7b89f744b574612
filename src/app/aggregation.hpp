#pragma once

#include <optional>
#include <utility>

#include "muffle/app/commands.hpp"
#include "muffle/round/aggregation.hpp"

namespace muffle::app {

/// The aggregation that a configuration asks for on so many ranks. @throws ConfigError  it contradicts
/// itself.
privacy::AggregationMode aggregation_mode(const Config& config, int ranks);

/// round::Aggregation as the configuration asks for it: with its mode, site keys and source of noise. For one
/// release; every method but draw_noise() is collective.
class Aggregation {
 public:
  /// Checks the settings; nothing is drawn or sent yet.
  /// @throws ConfigError  on all ranks.
  /// @param plan  must outlive it.
  Aggregation(const Context& context, const privacy::NoisePlan& plan);

  const privacy::AggregationMode& mode() const { return way_->mode(); }

  /// Exchanges keys, draws this rank's share of the noise: before records are embedded, so that bad keys
  /// show early and the sampler has nothing private to be timed against.
  /// @throws ProtocolError, ConfigError, IoError  on all ranks.
  void prepare();

  /// On root: draws the noise of the whole release, once the ledger has charged it; nothing to do when every
  /// rank has its share. Not collective.
  void draw_noise();

  /// The released numbers, on root; empty elsewhere. Once, after prepare() and draw_noise().
  privacy::NoisySum sum(embed::PartialSum&& partial) { return way_->sum(std::move(partial)); }

 private:
  const Context& context_;
  std::optional<round::Aggregation> way_;
};

}  // namespace muffle::app
