#pragma once

#include <optional>
#include <vector>

#include "muffle/privacy/aggregation.hpp"
#include "muffle/privacy/distributed_noise.hpp"

namespace muffle::round {

/// What a round in lock-step is to do; the same at all parties. Public.
struct Terms {
  privacy::AggregationMode mode;  ///< of so many parties
  std::vector<privacy::NoisePart> parts;
  std::optional<privacy::DistributedNoisePlan> shares;  ///< of distributed noise

  /// @throws ConfigError  the mode is impossible (privacy::require_valid, privacy::plan_distributed_noise).
  static Terms of(const privacy::NoisePlan& noise, const privacy::AggregationMode& mode);
};

}  // namespace muffle::round
