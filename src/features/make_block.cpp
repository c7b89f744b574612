#include "muffle/core/error.hpp"
#include "muffle/features/block_spec.hpp"
#include "muffle/features/weighted.hpp"

namespace muffle::features {

std::uint64_t Block::accumulate_bytes(const std::uint8_t*, const data::ByteScale&, const std::int32_t*,
                                      std::size_t, Workspace&, std::span<std::uint64_t>) const {
  throw InvariantError("block '" + name() + "' was given bytes, which it does not take");
}

std::unique_ptr<Block> make_block(const BlockSpec& spec, const Lattice& lattice) {
  return make_weighted_block(
      spec.rff() ? make_rff_block(*spec.rff(), lattice) : make_moments_block(*spec.moments()), spec.weight);
}

}  // namespace muffle::features
