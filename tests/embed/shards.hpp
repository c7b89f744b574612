#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/data/source.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/features/rff.hpp"

namespace muffle::test {

/// Records in memory: those of `all` that `order` lists, handed out at most `at_most` at a time.
class MemorySource final : public data::RecordSource {
 public:
  MemorySource(const data::Batch& all, std::vector<std::size_t> order, std::size_t at_most = 1000000)
      : all_(all), order_(std::move(order)), at_most_(at_most), dims_(all.n ? all.x.size() / all.n : 0) {}

  std::uint64_t shard_size() const override { return order_.size(); }
  std::uint64_t file_records() const override { return all_.n; }
  void next(std::size_t max_records, data::Batch& batch) override {
    batch.n = std::min({max_records, at_most_, order_.size() - done_});
    batch.x.resize(batch.n * dims_);
    batch.y.resize(batch.n);
    for (std::size_t i = 0; i < batch.n; ++i) {
      const std::size_t from = order_[done_ + i];
      std::copy_n(all_.x.begin() + static_cast<std::ptrdiff_t>(from * dims_), dims_,
                  batch.x.begin() + static_cast<std::ptrdiff_t>(i * dims_));
      batch.y[i] = all_.y[from];
    }
    done_ += batch.n;
  }

 private:
  const data::Batch& all_;
  std::vector<std::size_t> order_;
  std::size_t at_most_;
  std::size_t dims_;
  std::size_t done_ = 0;
};

inline embed::Layout rff_layout(std::size_t dims, std::size_t features, std::size_t classes, bool counts) {
  embed::Layout layout;
  layout.blocks.push_back(features::make_rff_block({.dims = dims,
                                                    .features = features,
                                                    .length_scale = 11.269427669584644,
                                                    .kind = features::FrequencyKind::kDense,
                                                    .seed = 1},
                                                   layout.lattice));
  layout.classes = classes;
  layout.counts = counts;
  return layout;
}

/// 0 .. n-1, dealt to rank r of k: in runs, in turn, or in an order shuffled first (uneven: rank 1 gets
/// nothing).
enum class Deal { kContiguous, kRoundRobin, kShuffledUneven };
inline std::vector<std::size_t> shard(std::size_t n, Deal deal, std::size_t rank, std::size_t ranks) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (deal == Deal::kShuffledUneven) {
    const CounterStream stream(11, Stream::kShuffle);
    for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[stream.below(i, i)]);
  }
  std::vector<std::size_t> mine;
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t owner = 0;
    if (deal == Deal::kContiguous) owner = i * ranks / n;
    if (deal == Deal::kRoundRobin) owner = i % ranks;
    if (deal == Deal::kShuffledUneven) owner = (i % 7 < 3 || ranks <= 2) ? 0 : (ranks == 3 ? 2 : 2 + i % 2);
    if (owner == rank) mine.push_back(order[i]);
  }
  return mine;
}

}  // namespace muffle::test
