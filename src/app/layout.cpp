#include "layout.hpp"

namespace muffle::app {

embed::Layout make_layout(const Config& config) { return make_layout(config, config.features.rff.features); }

embed::Layout make_layout(const Config& config, std::size_t features) {
  features::RffSpec rff = config.features.rff;
  rff.features = features;
  embed::Layout layout;
  layout.lattice = {config.features.lattice_bits};
  layout.classes = config.data.schema.classes;
  layout.counts = config.release_counts;
  layout.blocks.push_back(features::make_rff_block(rff, layout.lattice));
  return layout;
}

}  // namespace muffle::app
