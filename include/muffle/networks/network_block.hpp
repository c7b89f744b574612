#pragma once

#include <memory>
#include <string_view>

#include "muffle/features/feature_map.hpp"

namespace muffle::networks {

/// FeatureMap::make_block() of a map that runs a network; null: it is no such map. As embed::BlockMaker.
/// A record's integers depend on the processor and LibTorch, and on nothing else: not on tiles, shards, ranks
/// or threads.
/// @throws ConfigError  the network is not what the map says (Network), or the map's file is not at hand.
std::unique_ptr<features::Block> make_network_block(const features::FeatureMap& map,
                                                    const features::Lattice& lattice);

/// A line of the table (src/networks/block_kinds.inc).
struct NetworkBlockKind {
  std::string_view name;  ///< FeatureMap::kind()
  std::unique_ptr<features::Block> (*make)(const features::FeatureMap& map, const features::Lattice& lattice);
};

}  // namespace muffle::networks
