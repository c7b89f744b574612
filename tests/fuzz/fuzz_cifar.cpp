// Records in the CIFAR format. Input: options, a piece that is the first file, and the second file.
#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/source.hpp"

namespace {

using namespace muffle;

void read_shard(const data::DataSpec& spec, int rank, int ranks) {
  const auto source = data::open_shard(spec, rank, ranks);
  data::Batch batch;
  std::uint64_t seen = 0;
  for (source->next(7, batch); batch.n > 0; source->next(7, batch)) {
    fuzz::demand(batch.x.size() == batch.n * spec.schema.dims() && batch.y.size() == batch.n,
                 "whole records");
    for (const float x : batch.x) fuzz::demand(x >= 0 && x <= 1, "numbers are scaled to [0, 1]");
    for (const std::int32_t y : batch.y)
      fuzz::demand(y >= data::Batch::kNoClass && y < static_cast<std::int32_t>(spec.schema.classes),
                   "labels are in range");
    seen += batch.n;
  }
  fuzz::demand(seen == source->shard_size(), "the whole shard is read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::uint8_t options = input.byte();
  const fuzz::MemoryFile first(input.piece()), second(input.rest());
  data::DataSpec spec;
  spec.format = data::Format::kCifar;
  spec.features = first.path() + ((options & 1) != 0 ? "," : ", ") + second.path();
  spec.schema.classes = (options & 2) != 0 ? 3 : 1;
  spec.schema.shape = (options & 4) != 0 ? std::vector<std::size_t>{3, 2, 2} : std::vector<std::size_t>{2};
  spec.schema.hi = (options & 8) != 0 ? 255 : 200;
  if ((options & 16) != 0) spec.schema.on_error = data::OnError::kClamp;
  spec.shards = (options & 32) != 0 ? data::ShardRule::kRoundRobin : data::ShardRule::kContiguous;
  const int ranks = 1 + (options >> 6);
  for (int rank = 0; rank < ranks; ++rank) {
    try {
      read_shard(spec, rank, ranks);
    } catch (const DataError&) {
    }
  }
  return 0;
}
