// FashionMNIST as Debian ships it (dataset-fashion-mnist).
#include "support/fashion_mnist.hpp"

#include <gtest/gtest.h>

#include <array>

#include "muffle/core/hash.hpp"
#include "muffle/data/source.hpp"

namespace muffle::data {
namespace {

/// Hash of every record with its label, in the order read, one by one.
std::vector<Sha256Digest> record_hashes(const DataSpec& spec, int rank, int ranks) {
  const auto source = open_shard(spec, rank, ranks);
  std::vector<Sha256Digest> out;
  Batch batch;
  for (source->next(512, batch); batch.n > 0; source->next(512, batch)) {
    for (std::size_t i = 0; i < batch.n; ++i) {
      out.push_back(Sha256()
                        .update(std::as_bytes(std::span(batch.x).subspan(i * 784, 784)))
                        .update(std::as_bytes(std::span(batch.y).subspan(i, 1)))
                        .digest());
    }
  }
  EXPECT_EQ(out.size(), source->shard_size());
  return out;
}

TEST(FashionMnist, HasSixThousandOfEachClassInTrain) {
  const auto source = open_shard(muffle::test::fashion_mnist("train"), 0, 1);
  EXPECT_EQ(source->shard_size(), 60000u);
  std::array<int, 10> counts{};
  double sum = 0.0;
  Batch batch;
  for (source->next(1000, batch); batch.n > 0; source->next(1000, batch)) {
    for (const std::int32_t y : batch.y) ++counts.at(static_cast<std::size_t>(y));
    for (const float v : batch.x) sum += static_cast<double>(v);
  }
  for (const int c : counts) EXPECT_EQ(c, 6000);
  EXPECT_NEAR(sum / (60000.0 * 784), 0.2860, 0.0001);  // the published mean pixel
}

TEST(FashionMnist, EveryShardingCoversEveryRecordExactlyOnce) {
  DataSpec spec = muffle::test::fashion_mnist("t10k");
  const auto whole = record_hashes(spec, 0, 1);
  ASSERT_EQ(whole.size(), 10000u);
  for (int ranks = 1; ranks <= 4; ++ranks) {
    spec.shards = ShardRule::kContiguous;
    std::vector<Sha256Digest> joined;
    for (int r = 0; r < ranks; ++r) {
      const auto shard = record_hashes(spec, r, ranks);
      joined.insert(joined.end(), shard.begin(), shard.end());
    }
    EXPECT_EQ(joined, whole) << "contiguous, " << ranks;
    spec.shards = ShardRule::kRoundRobin;
    std::vector<Sha256Digest> dealt(whole.size());
    std::size_t records = 0;
    for (int r = 0; r < ranks; ++r) {
      const auto shard = record_hashes(spec, r, ranks);
      records += shard.size();
      for (std::size_t i = 0; i < shard.size(); ++i) {
        dealt.at(static_cast<std::size_t>(r) + i * static_cast<std::size_t>(ranks)) = shard[i];
      }
    }
    EXPECT_EQ(records, whole.size());
    EXPECT_EQ(dealt, whole) << "round-robin, " << ranks;
  }
}

}  // namespace
}  // namespace muffle::data
