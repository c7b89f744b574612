#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/data/source.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/release/plan.hpp"
#include "support/maps.hpp"
#include "support/raw_access.hpp"

namespace muffle::test {

/// Records in memory: those of `all` that `order` lists, handed out at most `at_most` at a time.
class MemorySource final : public data::RecordSource {
 public:
  MemorySource(const data::Batch& all, std::vector<std::size_t> order, std::size_t at_most = 1000000)
      : all_(all), order_(std::move(order)), at_most_(at_most), dims_(all.n ? all.x.size() / all.n : 0) {}

  std::uint64_t shard_size() const override { return order_.size(); }
  std::optional<data::Places> places() const override { return places_; }
  /// Its records stand there among all; else nobody knows where.
  void stand_at(data::Places places) { places_ = places; }
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
  std::optional<data::Places> places_;
};

/// Of these maps, with noise that no test looks at. @param maps  in the order of their names
inline embed::Embedder embedder_of(std::vector<features::NamedMap> maps, std::vector<std::size_t> shape,
                                   std::size_t classes, bool counts) {
  const privacy::PrivacySpec privacy{.epsilon = {}, .noise_multiplier = 1.0, .max_records_per_person = 1};
  return embed::make_embedder(release::make_plan(
      {schema_of(std::move(shape), classes), {}, std::move(maps), privacy, counts, 60'000}));
}

inline features::NamedMap rff_map(std::size_t dims, std::size_t features, const std::string& name = "rff") {
  return named(name, make_rff({.dims = dims, .features = features, .length_scale = 11.269427669584644}));
}
inline embed::Embedder rff_embedder(std::size_t dims, std::size_t features, std::size_t classes,
                                    bool counts) {
  return embedder_of({rff_map(dims, features)}, {dims}, classes, counts);
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
