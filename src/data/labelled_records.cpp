#include "muffle/data/labelled_records.hpp"

#include <algorithm>

namespace muffle::data {

LabelledRecords read_labelled(const DataSpec& spec, std::uint64_t limit, const Heartbeat& heartbeat) {
  constexpr std::size_t kReadBatch = 1000;
  const auto source = open_shard(spec, 0, 1);
  const std::uint64_t all = source->shard_size();
  const auto most = static_cast<std::size_t>(limit == 0 ? all : std::min(all, limit));
  const std::size_t dims = spec.schema.dims();
  LabelledRecords set;
  set.x.reserve(most * dims);
  set.y.reserve(most);
  Batch batch;
  for (std::size_t seen = 0; seen < most; seen += batch.n) {
    source->next(std::min(kReadBatch, most - seen), batch);
    if (batch.n == 0) break;
    beat(heartbeat);
    for (std::size_t i = 0; i < batch.n; ++i) {
      if (batch.y[i] == schema::kNoClass) continue;
      const float* record = batch.x.data() + i * dims;
      set.x.insert(set.x.end(), record, record + dims);
      set.y.push_back(batch.y[i]);
    }
  }
  return set;
}

}  // namespace muffle::data
