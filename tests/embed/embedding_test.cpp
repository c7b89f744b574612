#include "muffle/embed/embedding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "embed/shards.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/lift.hpp"
#include "reference/moments_reference.hpp"
#include "reference/rff_reference.hpp"
#include "support/expect_error.hpp"
#include "support/thread_comm.hpp"

namespace muffle::embed {
namespace {

using test::Deal;
using test::expect_error;
using test::made_up;
using test::sums_of;

TEST(EmbedShard, AgreesWithADoublePrecisionLoop) {
  constexpr std::size_t kDims = 30, kClasses = 3, kFeatures = 40;
  const auto records = made_up(200, kDims, kClasses);
  const Embedder embedder = test::rff_embedder(kDims, kFeatures, kClasses, true);
  const auto sums = sums_of(embedder, records);
  const auto omega = features::rff_frequencies({.dims = kDims,
                                                .features = kFeatures,
                                                .length_scale = 11.269427669584644,
                                                .kind = features::FrequencyKind::kDense,
                                                .seed = 1});
  const reference::RffReference reference{omega, kDims, static_cast<double>(embedder.plan.lattice.scale())};
  std::vector<double> expected(embedder.plan.size()), tolerance(embedder.plan.size());
  for (std::size_t i = 0; i < records.n; ++i) {
    const auto label = static_cast<std::size_t>(records.y[i]);
    for (std::size_t j = 0; j < kFeatures; ++j) {
      expected[label * kFeatures + j] += reference.feature(records.x.data() + i * kDims, j);
      tolerance[label * kFeatures + j] += reference.tolerance(records.x.data() + i * kDims, j);
    }
    expected[kClasses * kFeatures + label] += 0x1p24;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(static_cast<std::int64_t>(sums[i])), expected[i], tolerance[i]) << i;
  }
}

/// Second moments of weight 2, then 70 random features, then counts, in 4 classes.
Embedder two_maps() {
  return test::embedder_of(
      {test::named("moments", test::make_moments({}, test::schema_of({9})), 2.0), test::rff_map(9, 70)}, {9},
      4, true);
}

TEST(EmbedShard, ThreadsAndTileBoundariesDoNotMatter) {
  const auto records = made_up(2500, 9, 4);
  const Embedder embedder = two_maps();
  const auto expected = sums_of(embedder, records);
  for (const int threads : {1, 2, 3, 4, 16}) {
    for (const std::size_t at_most : {5, 48, 1000}) {
      EXPECT_EQ(sums_of(embedder, records, threads, at_most), expected)
          << threads << " threads, batches of " << at_most;
    }
  }
}

TEST(EmbedShard, MapsLieSideBySideAndKeepTheirIntegers) {
  const auto records = made_up(100, 9, 4);
  const Embedder both = two_maps();
  const auto sums = sums_of(both, records);
  const auto moments =
      reference::moment_sums(both.plan.maps[0].map->second_moments()->moments(), records.x, records.y, 4);
  const auto rff = sums_of(test::rff_embedder(9, 70, 4, true), records);
  ASSERT_EQ(both.plan.offset(1), moments.size());
  EXPECT_TRUE(std::equal(moments.begin(), moments.end(), sums.begin()));
  EXPECT_TRUE(std::equal(rff.begin(), rff.end(), sums.begin() + static_cast<std::ptrdiff_t>(moments.size()),
                         sums.end()));
}

TEST(EmbedShard, AnEmptyShardIsAllZeros) {
  const auto records = made_up(10, 9, 4);
  test::MemorySource source(records, {});
  const auto partial = embed_shard(test::rff_embedder(9, 70, 4, true), source, 4, {});
  EXPECT_THAT(TestAccess::values(partial), testing::AllOf(testing::SizeIs(284), testing::Each(0u)));
}

TEST(EmbedShard, UnlabelledRecordsAreOneClass) {
  const auto records = made_up(60, 9, 1);
  const auto sums = sums_of(test::rff_embedder(9, 70, 1, true), records);
  ASSERT_EQ(sums.size(), 71u);
  EXPECT_EQ(sums[70], 60u << 24);
}

TEST(EmbedShard, ReportsProgressOnTheCallingThreadUpToTheEnd) {
  const auto records = made_up(500, 9, 4);
  test::MemorySource source(records, test::shard(500, Deal::kContiguous, 0, 1));
  std::uint64_t last = 0;
  const auto caller = std::this_thread::get_id();
  embed_shard(test::rff_embedder(9, 70, 4, false), source, 3, [&](std::uint64_t done) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_GE(done, last);
    last = done;
  });
  EXPECT_EQ(last, 500u);
}

TEST(EmbedShard, TheSourcesErrorComesThrough) {
  class Failing final : public data::RecordSource {
   public:
    std::uint64_t shard_size() const override { return 5000; }
    void next(std::size_t max_records, data::Batch& batch) override {
      if (++calls_ > 5) throw DataError("records.idx: truncated at record 240");
      batch.n = max_records;
      batch.x.assign(max_records * 9, 0.5f);
      batch.y.assign(max_records, 0);
    }

   private:
    int calls_ = 0;
  };
  for (const int threads : {1, 2, 4}) {
    Failing source;
    expect_error(ExitCode::kData, {"truncated at record 240"},
                 [&] { embed_shard(test::rff_embedder(9, 70, 4, false), source, threads, {}); });
  }
}

TEST(EmbedShard, RecordsOfTheWrongLengthAreRefused) {
  const auto records = made_up(10, 8, 4);
  test::MemorySource source(records, test::shard(10, Deal::kContiguous, 0, 1));
  expect_error(ExitCode::kInvariant, {"8 numbers", "made for 9"},
               [&] { embed_shard(test::rff_embedder(9, 70, 4, false), source, 1, {}); });
}

TEST(ReduceToRoot, RanksAsThreadsGiveTheSameSum) {
  const auto records = made_up(300, 9, 4);
  const Embedder embedder = two_maps();
  const auto expected = sums_of(embedder, records);
  for (const int ranks : {1, 2, 3, 4}) {
    for (const Deal deal : {Deal::kContiguous, Deal::kRoundRobin, Deal::kShuffledUneven}) {
      test::run_thread_ranks(ranks, [&](comm::HostComm& comm) {
        const auto mine =
            test::shard(300, deal, static_cast<std::size_t>(comm.rank()), static_cast<std::size_t>(ranks));
        test::MemorySource source(records, mine);
        auto raw = test::reduce_to_root(comm, embed_shard(embedder, source, 2, {}));
        if (comm.is_root()) {
          EXPECT_EQ(test::reveal(std::move(raw), embedder.plan.size()), expected);
        }
      });
    }
  }
}

}  // namespace
}  // namespace muffle::embed
