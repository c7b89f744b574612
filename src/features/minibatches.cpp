#include "muffle/features/minibatches.hpp"

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"

namespace muffle::features {

std::uint64_t Minibatches::batch_of(std::uint64_t epoch, std::uint64_t record) const {
  return CounterStream(seed, Stream::kMinibatches, static_cast<std::uint32_t>(epoch)).below(record, batches);
}

std::vector<std::uint64_t> Minibatches::sizes(std::uint64_t records) const {
  require(batches > 0, "sizes of minibatches were asked of a map that has none: this is a bug in muffle.");
  std::vector<std::uint64_t> out(parts());
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    for (std::uint64_t record = 0; record < records; ++record)
      ++out[epoch * batches + batch_of(epoch, record)];
  }
  return out;
}

}  // namespace muffle::features
