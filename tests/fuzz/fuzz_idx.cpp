// IdxReader and open_shard. Input: options, a piece that is the labels' file, and the records' file.
#include <algorithm>

#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/idx.hpp"
#include "muffle/data/source.hpp"
#include "read_shard.hpp"

namespace {

using namespace muffle;

constexpr std::size_t kMaxRecord = 1 << 16;

void read_all(const std::string& path) {
  data::IdxReader reader(path);
  const std::uint64_t records = reader.header().records(), size = reader.header().record_bytes();
  if (size == 0 || size > kMaxRecord) return;
  std::vector<std::byte> record(size);
  const std::uint64_t skipped = std::min<std::uint64_t>(records, 2);
  reader.skip(skipped);
  for (std::uint64_t i = skipped; i < records; ++i) reader.read(record);
  reader.expect_end();
}

template <class Action>
void tolerate(const Action& action) {
  try {
    action();
  } catch (const DataError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::uint8_t options = input.byte();
  const fuzz::MemoryFile labels(input.piece()), records(input.rest());
  tolerate([&] { read_all(records.path()); });
  data::DataSpec spec;
  spec.features = records.path();
  if ((options & 1) != 0) spec.labels = labels.path();
  spec.schema.classes = (options & 1) != 0 ? 3 : 1;
  spec.schema.shape = (options & 2) != 0 ? std::vector<std::size_t>{1, 2, 2} : std::vector<std::size_t>{4};
  if ((options & 4) != 0) spec.schema.on_error = schema::OnError::kClamp;
  spec.shards = (options & 8) != 0 ? data::ShardRule::kRoundRobin : data::ShardRule::kContiguous;
  const int ranks = 1 + (options >> 4 & 1);
  for (int rank = 0; rank < ranks; ++rank) tolerate([&] { fuzz::read_shard(spec, rank, ranks); });
  return 0;
}
