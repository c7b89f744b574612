#pragma once

#include <gtest/gtest.h>

#include "muffle/data/source.hpp"

namespace muffle::data::test {

/// Reads what is left of a shard in batches of `batch_size`.
inline Batch drain(RecordSource& source, std::size_t batch_size) {
  Batch all, batch;
  for (source.next(batch_size, batch); batch.n > 0; source.next(batch_size, batch)) {
    EXPECT_LE(batch.n, batch_size);
    EXPECT_EQ(batch.y.size(), batch.n);
    all.x.insert(all.x.end(), batch.x.begin(), batch.x.end());
    all.y.insert(all.y.end(), batch.y.begin(), batch.y.end());
    all.n += batch.n;
  }
  return all;
}

inline Batch read_all(const DataSpec& spec, int rank = 0, int ranks = 1, std::size_t batch_size = 4) {
  const auto source = open_shard(spec, rank, ranks);
  const Batch all = drain(*source, batch_size);
  EXPECT_EQ(all.n, source->shard_size());
  return all;
}

}  // namespace muffle::data::test
