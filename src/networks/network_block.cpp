#include "muffle/networks/network_block.hpp"

namespace muffle::networks {

#define MUFFLE_KIND(kind) NetworkBlockKind kind##_block();
#include "block_kinds.inc"

namespace {

std::unique_ptr<features::Block> make(const features::FeatureMap& map, const features::Lattice& lattice,
                                      Code code) {
  const NetworkBlockKind table[] = {
#define MUFFLE_KIND(kind) kind##_block(),
#include "block_kinds.inc"
  };
  for (const NetworkBlockKind& kind : table) {
    if (kind.name == map.kind()) return kind.make(map, lattice, code);
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<features::Block> make_network_block(const features::FeatureMap& map,
                                                    const features::Lattice& lattice) {
  return make(map, lattice, Code::kAny);
}

std::unique_ptr<features::Block> make_plain_network_block(const features::FeatureMap& map,
                                                          const features::Lattice& lattice) {
  return make(map, lattice, Code::kPlain);
}

}  // namespace muffle::networks
