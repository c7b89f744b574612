#include "muffle/features/block.hpp"

#include "muffle/core/error.hpp"

namespace muffle::features {

std::uint64_t Block::accumulate_bytes(const std::uint8_t*, const schema::ByteScale&, const std::int32_t*,
                                      std::size_t, Workspace&, std::span<std::uint64_t>) const {
  throw InvariantError("block '" + name() + "' was given bytes, which it does not take");
}

}  // namespace muffle::features
