#include <algorithm>

#include "muffle/app/config.hpp"

namespace muffle::app {

bool releases(const Config& config, const std::string& block) {
  const auto& blocks = config.features.blocks;
  return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
}

std::vector<features::BlockSpec> block_specs(const Config& config) {
  std::vector<features::BlockSpec> specs;
  for (const std::string& name : config.features.blocks) {
    if (name == "rff") {
      features::RffSpec rff = config.features.rff;
      rff.dims = config.data.schema.dims();
      specs.push_back({rff});
    } else {
      features::MomentsSpec moments = config.moments.spec;
      moments.shape = config.data.schema.shape;
      moments.kind =
          config.moments.kind.value_or(config.data.schema.is_image() ? features::MomentLiftKind::kImage
                                                                     : features::MomentLiftKind::kVector);
      specs.push_back({features::resolved(moments), config.moments.weight});
    }
  }
  return specs;
}

privacy::NoisePlan plan_release(const Config& config) {
  const features::Lattice lattice{config.features.lattice_bits};
  const std::uint64_t classes = config.data.schema.classes;
  privacy::SensitivityInput input;
  std::vector<features::CoordinatePart> coordinates;
  for (const features::BlockSpec& spec : block_specs(config)) {
    features::require_no_overflow(config.data.records, spec, lattice);
    input.blocks.push_back(bound_of(spec));
    coordinates.push_back({coordinates_of(spec, lattice), classes});
  }
  input.adjacency = config.privacy.adjacency;
  input.max_records_per_person = config.privacy.max_records_per_person;
  input.counts = config.release_counts;
  if (input.counts) {
    features::require_no_overflow(config.data.records, lattice);
    input.counts_weight = kCountsWeight;
    coordinates.push_back({{{classes, static_cast<double>(lattice.scale() + 1)}}, 1});
  }
  return privacy::plan_noise(config.privacy, input, coordinates);
}

}  // namespace muffle::app
