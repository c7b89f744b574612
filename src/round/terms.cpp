#include "muffle/round/terms.hpp"

namespace muffle::round {

Terms Terms::of(const privacy::NoisePlan& noise, const privacy::AggregationMode& mode) {
  privacy::require_valid(mode);
  Terms terms{mode, noise.parts, std::nullopt};
  if (const privacy::DistributedNoise* apart = privacy::distributed(mode))
    terms.shares = privacy::plan_distributed_noise(noise, apart->ranks, apart->colluding);
  return terms;
}

}  // namespace muffle::round
