#include <gtest/gtest.h>

#include <cmath>

#include "embed/shards.hpp"
#include "muffle/core/error.hpp"
#include "muffle/embed/audit.hpp"
#include "support/expect_error.hpp"

// A map that is released a minibatch at a time.
namespace muffle::embed {
namespace {

using test::made_up;
using Sums = std::vector<std::uint64_t>;

constexpr std::size_t kNumbers = 6, kColumns = 10, kOfClasses = 3, kAll = 400;
constexpr features::Minibatches kMinibatches{.batches = 5, .epochs = 4, .seed = 3};
constexpr std::size_t kOfAPart = kOfClasses * kColumns;

Embedder embedder_in(features::Minibatches minibatches, bool labelled = true, bool counts = false) {
  features::NamedMap map = test::rff_map(kNumbers, kColumns);
  map.minibatches = minibatches;
  map.labelled = labelled;
  return test::embedder_of({map}, {kNumbers}, kOfClasses, counts);
}

/// Of this rank of so many, which have the records in turn or in runs.
Sums part_sums(const Embedder& embedder, const data::Batch& records, std::size_t rank = 0,
               std::size_t ranks = 1, bool in_turn = false, int threads = 1, std::size_t at_most = 1000) {
  test::MemorySource source(
      records,
      test::shard(records.n, in_turn ? test::Deal::kRoundRobin : test::Deal::kContiguous, rank, ranks),
      at_most);
  const std::uint64_t first = in_turn ? rank : (rank * records.n + ranks - 1) / ranks;
  source.stand_at({first, in_turn ? ranks : 1});
  return TestAccess::values(embed_shard(embedder, source, threads, {}));
}

double moved_by(const Embedder& embedder, const Sums& a, const Sums& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double moved = std::ldexp(static_cast<double>(static_cast<std::int64_t>(a[i] - b[i])), -24);
    squares += moved * moved;
  }
  EXPECT_EQ(a.size(), embedder.plan.size());
  return std::sqrt(squares);
}

TEST(MinibatchSums, TheBatchesOfEachEpochAddUpToTheWholeMap) {
  const data::Batch records = made_up(kAll, kNumbers, kOfClasses);
  const Sums whole = part_sums(embedder_in({}), records),
             parts = part_sums(embedder_in(kMinibatches), records);
  ASSERT_EQ(parts.size(), kMinibatches.parts() * kOfAPart);
  for (std::size_t epoch = 0; epoch < kMinibatches.epochs; ++epoch) {
    Sums sum(kOfAPart);
    for (std::size_t i = 0; i < kMinibatches.batches * kOfAPart; ++i)
      sum[i % kOfAPart] += parts[epoch * kMinibatches.batches * kOfAPart + i];
    EXPECT_EQ(sum, whole) << "epoch " << epoch;
  }
  // One record is where its place says, in the row of its class.
  data::Batch one = records;
  one.n = 1, one.x.resize(kNumbers), one.y = {2};
  const Sums of_one = part_sums(embedder_in(kMinibatches), one);
  for (std::size_t part = 0; part < kMinibatches.parts(); ++part) {
    const bool here = kMinibatches.batch_of(part / 5, 0) == part % 5;
    for (std::size_t i = 0; i < kOfAPart; ++i)
      EXPECT_EQ(of_one[part * kOfAPart + i] != 0, here && i / kColumns == 2) << part << ' ' << i;
  }
}

TEST(MinibatchSums, DoNotDependOnRanksThreadsAndTiles) {
  const data::Batch records = made_up(kAll, kNumbers, kOfClasses);
  for (const bool labelled : {true, false}) {
    const Embedder e = embedder_in(kMinibatches, labelled, true);
    const Sums expected = part_sums(e, records);
    EXPECT_EQ(part_sums(e, records, 0, 1, false, 4, 7), expected);
    for (const bool in_turn : {false, true}) {
      Sums sum(expected.size());
      for (std::size_t rank = 0; rank < 3; ++rank) {
        const Sums own = part_sums(e, records, rank, 3, in_turn, 2, 11);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
      }
      EXPECT_EQ(sum, expected) << (in_turn ? "in turn" : "in runs");
    }
  }
}

/// The theorem, and that it is not too large: a replaced record moves sqrt(E) times as much as in the whole
/// map.
TEST(MinibatchSums, AReplacedRecordMovesRootEpochsTimesAsMuch) {
  const data::Batch records = made_up(kAll, kNumbers, kOfClasses);
  for (const bool labelled : {true, false}) {
    const Embedder whole = embedder_in({}, labelled), parts = embedder_in(kMinibatches, labelled);
    EXPECT_NEAR(parts.plan.noise.sensitivity.value, 2 * whole.plan.noise.sensitivity.value, 1e-12);
    EXPECT_GE(parts.plan.noise.sensitivity.value, 2 * whole.plan.noise.sensitivity.value);
    for (const std::int32_t label : {0, 1}) {
      data::Batch other = records;
      for (std::size_t j = 0; j < kNumbers; ++j) other.x[17 * kNumbers + j] = 0.1f * static_cast<float>(j);
      other.y[17] = label;
      const double moved = moved_by(parts, part_sums(parts, records), part_sums(parts, other));
      EXPECT_NEAR(moved, 2 * moved_by(whole, part_sums(whole, records), part_sums(whole, other)), 1e-9);
      EXPECT_LE(moved, parts.plan.noise.sensitivity.value);
    }
    EXPECT_NEAR(worst_pair(parts).distance, 2 * worst_pair(whole).distance, 1e-9) << "the audit's canaries";
    EXPECT_LE(worst_pair(parts).distance, parts.plan.noise.sensitivity.value);
  }
}

TEST(MinibatchSums, NeedRecordsWhosePlacesAreKnown) {
  const data::Batch records = made_up(20, kNumbers, kOfClasses);
  test::MemorySource nowhere(records, test::shard(20, test::Deal::kContiguous, 0, 1));
  test::expect_error(ExitCode::kConfig, {"minibatches = 0", "place"},
                     [&] { (void)embed_shard(embedder_in(kMinibatches), nowhere, 1, {}); });
}

}  // namespace
}  // namespace muffle::embed
