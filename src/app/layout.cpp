#include "layout.hpp"

#include <algorithm>

namespace muffle::app {

embed::Layout make_layout(const Config& config) { return make_layout(config, config.features.rff.features); }

embed::Layout make_layout(const Config& config, std::size_t features) {
  Config small = config;
  small.features.rff.features = features;
  small.proxy.features = std::min(small.proxy.features, features);
  embed::Layout layout;
  layout.lattice = {config.features.lattice_bits};
  layout.classes = config.data.schema.classes;
  layout.counts = config.release_counts;
  layout.counts_weight = kCountsWeight;
  for (const features::BlockSpec& spec : block_specs(small))
    layout.blocks.push_back(features::make_block(spec, layout.lattice));
  return layout;
}

}  // namespace muffle::app
