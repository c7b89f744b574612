// Records in the CIFAR format. Input: options, a piece that is the first file, and the second file.
#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/source.hpp"
#include "read_shard.hpp"

using namespace muffle;

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
  if ((options & 16) != 0) spec.schema.on_error = schema::OnError::kClamp;
  spec.shards = (options & 32) != 0 ? data::ShardRule::kRoundRobin : data::ShardRule::kContiguous;
  const int ranks = 1 + (options >> 6);
  for (int rank = 0; rank < ranks; ++rank) {
    try {
      fuzz::read_shard(spec, rank, ranks);
    } catch (const DataError&) {
    }
  }
  return 0;
}
