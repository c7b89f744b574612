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

/// The same for a round between institutions, where everybody sees whether a site contributes: so no image
/// may decide it. @throws ConfigError  also: the network is not known to take every image alike
/// (Code::kPlain).
std::unique_ptr<features::Block> make_plain_network_block(const features::FeatureMap& map,
                                                          const features::Lattice& lattice);

/// What a network may be made of.
enum class Code {
  kAny,    ///< one that fails on an image ends the job
  kPlain,  ///< operations alone that are known to take any image, one by one, without a branch
};

/// A line of the table (src/networks/block_kinds.inc).
struct NetworkBlockKind {
  std::string_view name;  ///< FeatureMap::kind()
  std::unique_ptr<features::Block> (*make)(const features::FeatureMap& map, const features::Lattice& lattice,
                                           Code code);
};

}  // namespace muffle::networks
