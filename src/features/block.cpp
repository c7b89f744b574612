#include "muffle/features/block.hpp"

#include <fmt/format.h>

#include "float_environment.hpp"
#include "muffle/core/error.hpp"

namespace muffle::features {

std::uint64_t Block::accumulate(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
                                std::span<std::uint64_t> sums) const {
  require(n <= tile(), fmt::format("{} records in a tile of {}", n, tile()));
  Accumulator guarded(sums, features(), guard());
  const DefaultFloatEnvironment environment;
  embed(x, y, n, workspace, guarded);
  require(guarded.added() <= n, "a record was added twice: this is a bug in muffle");
  return n - guarded.added();
}

std::uint64_t Block::accumulate_bytes(const std::uint8_t* x, const schema::ByteScale& scale,
                                      const std::int32_t* y, std::size_t n, Workspace& workspace,
                                      std::span<std::uint64_t> sums) const {
  require(n <= tile(), fmt::format("{} records in a tile of {}", n, tile()));
  Accumulator guarded(sums, features(), guard());
  const DefaultFloatEnvironment environment;
  embed_bytes(x, scale, y, n, workspace, guarded);
  require(guarded.added() <= n, "a record was added twice: this is a bug in muffle");
  return n - guarded.added();
}

void Block::embed_bytes(const std::uint8_t*, const schema::ByteScale&, const std::int32_t*, std::size_t,
                        Workspace&, Accumulator&) const {
  throw InvariantError("a block was given bytes, which it does not take");
}

}  // namespace muffle::features
