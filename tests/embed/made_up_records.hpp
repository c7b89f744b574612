#pragma once

#include <cstdint>
#include <vector>

#include "embed/shards.hpp"
#include "muffle/core/philox.hpp"
#include "support/raw_access.hpp"

namespace muffle::test {

/// n made-up records of `dims` numbers in `classes` classes.
inline data::Batch made_up(std::size_t n, std::size_t dims, std::size_t classes) {
  const CounterStream stream(21, Stream::kTest);
  data::Batch batch;
  batch.n = n;
  for (std::size_t i = 0; i < n * dims; ++i) batch.x.push_back(static_cast<float>(stream.uniform(i)));
  for (std::size_t i = 0; i < n; ++i)
    batch.y.push_back(static_cast<std::int32_t>(stream.below(n * dims + i, classes)));
  return batch;
}

/// What one rank adds up over all `records`, handed out at most `at_most` at a time.
inline std::vector<std::uint64_t> sums_of(const embed::Embedder& embedder, const data::Batch& records,
                                          int threads = 1, std::size_t at_most = 1000000) {
  MemorySource source(records, shard(records.n, Deal::kContiguous, 0, 1), at_most);
  return embed::TestAccess::values(embed::embed_shard(embedder, source, threads, {}));
}

}  // namespace muffle::test
