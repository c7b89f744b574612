#pragma once

#include <cstdint>

#include "fuzz.hpp"
#include "muffle/data/source.hpp"

namespace muffle::fuzz {

/// Reads one rank's shard to its end and demands of every record what open_shard() promises.
inline void read_shard(const data::DataSpec& spec, int rank, int ranks) {
  const auto source = data::open_shard(spec, rank, ranks);
  data::Batch batch;
  std::uint64_t seen = 0;
  for (source->next(7, batch); batch.n > 0; source->next(7, batch)) {
    demand(batch.x.size() == batch.n * spec.schema.dims() && batch.y.size() == batch.n, "whole records");
    for (const float x : batch.x) demand(x >= 0 && x <= 1, "numbers are scaled to [0, 1]");
    for (const std::int32_t y : batch.y)
      demand(y >= schema::kNoClass && y < static_cast<std::int32_t>(spec.schema.classes),
             "labels are in range");
    seen += batch.n;
  }
  demand(seen == source->shard_size(), "the whole shard is read");
}

}  // namespace muffle::fuzz
