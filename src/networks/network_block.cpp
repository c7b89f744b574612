#include "muffle/networks/network_block.hpp"

namespace muffle::networks {

#define MUFFLE_KIND(kind) NetworkBlockKind kind##_block();
#include "block_kinds.inc"

std::unique_ptr<features::Block> make_network_block(const features::FeatureMap& map,
                                                    const features::Lattice& lattice) {
  const NetworkBlockKind table[] = {
#define MUFFLE_KIND(kind) kind##_block(),
#include "block_kinds.inc"
  };
  for (const NetworkBlockKind& kind : table) {
    if (kind.name == map.kind()) return kind.make(map, lattice);
  }
  return nullptr;
}

}  // namespace muffle::networks
