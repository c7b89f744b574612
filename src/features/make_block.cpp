#include "muffle/features/block_spec.hpp"
#include "muffle/features/weighted.hpp"

namespace muffle::features {

std::unique_ptr<Block> make_block(const BlockSpec& spec, const Lattice& lattice) {
  return make_weighted_block(
      spec.rff() ? make_rff_block(*spec.rff(), lattice) : make_moments_block(*spec.moments()), spec.weight);
}

}  // namespace muffle::features
