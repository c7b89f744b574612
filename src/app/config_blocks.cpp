#include <algorithm>

#include "muffle/app/config.hpp"
#include "muffle/core/error.hpp"

namespace muffle::app {
namespace {

/// Nothing public bounds the number of records under add/remove-one: sums have room for as many as this.
constexpr std::uint64_t kMostPrivateRecords = (std::uint64_t{1} << 30) - 1;

/// As configured: what is 0 is left to defaults.
features::MomentsSpec moments_of(const Config& config) {
  features::MomentsSpec moments = config.moments.spec;
  moments.shape = config.data.schema.shape;
  moments.kind = config.moments.kind.value_or(
      config.data.schema.is_image() ? features::MomentLiftKind::kImage : features::MomentLiftKind::kVector);
  return moments;
}

std::uint64_t most_records(const Config& config) {
  return config.privacy.adjacency == privacy::Adjacency::kReplaceOne ? config.data.records
                                                                     : kMostPrivateRecords;
}

}  // namespace

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
    } else if (name == "proxy") {
      features::RffSpec proxy = config.features.rff;
      proxy.dims = config.data.schema.dims();
      proxy.features = config.proxy.features;
      proxy.seed = config.proxy.seed;
      if (config.proxy.length_scale > 0) proxy.length_scale = config.proxy.length_scale;
      specs.push_back({proxy, config.proxy.weight, true});
    } else {
      specs.push_back({features::resolved(moments_of(config)), config.moments.weight});
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
    features::require_no_overflow(most_records(config), spec, lattice);
    input.blocks.push_back(bound_of(spec));
    coordinates.push_back({coordinates_of(spec, lattice), classes});
  }
  input.adjacency = config.privacy.adjacency;
  input.max_records_per_person = config.privacy.max_records_per_person;
  input.counts = config.release_counts;
  if (input.counts) {
    features::require_no_overflow(most_records(config), lattice);
    input.counts_weight = kCountsWeight;
    coordinates.push_back({{{classes, static_cast<double>(lattice.scale() + 1)}}, 1});
  }
  return privacy::plan_noise(config.privacy, input, coordinates);
}

void resolve_coefficients(Config& config) {
  const auto& schema = config.data.schema;
  const features::MomentsSpec moments = moments_of(config);
  const auto& shape = moments.shape;
  const bool known = shape.size() == 3 && std::find(shape.begin(), shape.end(), 0u) == shape.end() &&
                     schema.classes > 0 && config.data.records > 0;
  if (!known || moments.coefficients != 0 || !releases(config, "moments")) return;
  try {
    // sigma does not depend on how many numbers get it.
    const double sigma = plan_release(config).sigma;
    const double noise = sigma / config.moments.weight * static_cast<double>(schema.classes) /
                         static_cast<double>(config.data.records);
    config.moments.spec.coefficients = features::side_for_noise(moments, noise);
  } catch (const ConfigError&) {  // whatever is wrong is reported by the checks that follow
  }
}

std::shared_ptr<const model::NetworkSettings> trained_network(const Config& config) {
  const model::NetworkSettings* network = config.model.chosen().network();
  if (network == nullptr) return nullptr;
  if (config.train.from_moments)
    return network->beside(features::moments_order(features::resolved(moments_of(config))) - 1);
  const std::shared_ptr<model::GeneratorSettings> copy = network->clone();
  return {copy, copy->network()};
}

}  // namespace muffle::app
