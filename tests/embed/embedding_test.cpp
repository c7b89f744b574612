#include "muffle/embed/embedding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "embed/shards.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/block_spec.hpp"
#include "reference/rff_reference.hpp"
#include "support/fashion_mnist.hpp"
#include "support/raw_access.hpp"
#include "support/thread_comm.hpp"

namespace muffle::embed {
namespace {

using test::Deal;

/// n made-up records of `dims` numbers in `classes` classes.
data::Batch made_up(std::size_t n, std::size_t dims, std::size_t classes) {
  const CounterStream stream(21, Stream::kTest);
  data::Batch batch;
  batch.n = n;
  for (std::size_t i = 0; i < n * dims; ++i) batch.x.push_back(static_cast<float>(stream.uniform(i)));
  for (std::size_t i = 0; i < n; ++i)
    batch.y.push_back(static_cast<std::int32_t>(stream.below(n * dims + i, classes)));
  return batch;
}

std::vector<std::uint64_t> sums_of(const Layout& layout, const data::Batch& records, int threads = 1,
                                   std::size_t at_most = 1000000) {
  test::MemorySource source(records, test::shard(records.n, Deal::kContiguous, 0, 1), at_most);
  return TestAccess::values(embed_shard(layout, source, threads, {}));
}

TEST(Layout, PlacesBlocksThenCounts) {
  Layout layout = test::rff_layout(4, 10, 3, true);
  layout.blocks.push_back(features::make_rff_block({.dims = 4, .features = 6}, layout.lattice));
  EXPECT_EQ(layout.offset(0), 0u);
  EXPECT_EQ(layout.offset(1), 30u);
  EXPECT_EQ(layout.offset(2), 48u);
  EXPECT_EQ(layout.size(), 51u);
  layout.counts = false;
  EXPECT_EQ(layout.size(), 48u);
}

TEST(Layout, CountUnitsAreTheWeightOnTheLatticeRoundedDown) {
  Layout layout = test::rff_layout(4, 10, 3, true);
  EXPECT_EQ(layout.counts_units(), 1u << 24);
  layout.counts_weight = 0.3;
  EXPECT_EQ(layout.counts_units(), static_cast<std::uint64_t>(0.3 * (1 << 24)));
  for (const double bad : {0.0, -1.0, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    layout.counts_weight = bad;
    EXPECT_THROW(layout.counts_units(), ConfigError) << bad;
  }
}

TEST(Layout, TellsTheAccountantWhatIsReleased) {
  Layout layout = test::rff_layout(4, 10, 3, true);
  layout.counts_weight = 0.5;
  const auto input = layout.sensitivity_input(privacy::Adjacency::kAddRemoveOne, 7);
  ASSERT_EQ(input.blocks.size(), 1u);
  EXPECT_EQ(input.blocks[0].norm, 1.0);
  EXPECT_EQ(input.adjacency, privacy::Adjacency::kAddRemoveOne);
  EXPECT_TRUE(input.counts);
  EXPECT_EQ(input.counts_weight, 0.5);
  EXPECT_EQ(input.max_records_per_person, 7u);
}

TEST(EmbedShard, AgreesWithADoublePrecisionLoop) {
  constexpr std::size_t kDims = 30, kClasses = 3, kFeatures = 40;
  const auto records = made_up(200, kDims, kClasses);
  const Layout layout = test::rff_layout(kDims, kFeatures, kClasses, true);
  const auto sums = sums_of(layout, records);
  const auto omega = features::rff_frequencies({.dims = kDims,
                                                .features = kFeatures,
                                                .length_scale = 11.269427669584644,
                                                .kind = features::FrequencyKind::kDense,
                                                .seed = 1});
  const reference::RffReference reference{omega, kDims, static_cast<double>(layout.lattice.scale())};
  std::vector<double> expected(layout.size()), tolerance(layout.size());
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

TEST(EmbedShard, ThreadsAndTileBoundariesDoNotMatter) {
  const auto records = made_up(500, 9, 4);
  const Layout layout = test::rff_layout(9, 70, 4, true);
  const auto expected = sums_of(layout, records);
  for (const int threads : {1, 2, 3, 4, 16}) {
    for (const std::size_t at_most : {1, 5, 48, 1000}) {
      EXPECT_EQ(sums_of(layout, records, threads, at_most), expected)
          << threads << " threads, batches of " << at_most;
    }
  }
}

TEST(EmbedShard, SeveralBlocksLieSideBySide) {
  const auto records = made_up(100, 9, 4);
  Layout both = test::rff_layout(9, 70, 4, true), second = test::rff_layout(9, 70, 4, false);
  second.blocks = {
      features::make_rff_block({.dims = 9, .features = 12, .length_scale = 0.5, .seed = 4}, both.lattice)};
  both.blocks.push_back(second.blocks[0]);
  const auto first_sums = sums_of(test::rff_layout(9, 70, 4, false), records),
             second_sums = sums_of(second, records);
  const auto sums = sums_of(both, records);
  EXPECT_TRUE(std::equal(first_sums.begin(), first_sums.end(), sums.begin()));
  EXPECT_TRUE(std::equal(second_sums.begin(), second_sums.end(), sums.begin() + 280));
}

TEST(EmbedShard, AnEmptyShardIsAllZeros) {
  const auto records = made_up(10, 9, 4);
  test::MemorySource source(records, {});
  const auto partial = embed_shard(test::rff_layout(9, 70, 4, true), source, 4, {});
  EXPECT_THAT(TestAccess::values(partial), testing::AllOf(testing::SizeIs(284), testing::Each(0u)));
}

TEST(EmbedShard, UnlabelledRecordsAreOneClass) {
  const auto records = made_up(60, 9, 1);
  const auto sums = sums_of(test::rff_layout(9, 70, 1, true), records);
  ASSERT_EQ(sums.size(), 71u);
  EXPECT_EQ(sums[70], 60u << 24);
}

/// Random features that take bytes, as a GPU's do; and that tell which of the two they were given.
class FromBytes final : public features::Block {
 public:
  explicit FromBytes(std::shared_ptr<const features::Block> inner) : inner_(std::move(inner)) {}
  std::string name() const override { return "from-bytes"; }
  std::size_t dims() const override { return inner_->dims(); }
  std::size_t features() const override { return inner_->features(); }
  features::BlockBound bound() const override { return inner_->bound(); }
  std::vector<features::CoordinateRun> coordinates() const override { return inner_->coordinates(); }
  std::unique_ptr<features::Workspace> make_workspace() const override { return inner_->make_workspace(); }
  std::size_t tile() const override { return inner_->tile(); }
  std::uint64_t accumulate(const float* x, const std::int32_t* y, std::size_t n,
                           features::Workspace& workspace, std::span<std::uint64_t> sums) const override {
    floats += n;
    return inner_->accumulate(x, y, n, workspace, sums);
  }
  bool takes_bytes() const override { return true; }
  std::uint64_t accumulate_bytes(const std::uint8_t* x, const data::ByteScale& scale, const std::int32_t* y,
                                 std::size_t n, features::Workspace& workspace,
                                 std::span<std::uint64_t> sums) const override {
    bytes += n;
    std::vector<float> numbers(n * dims());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = scale[x[i]];
    return inner_->accumulate(numbers.data(), y, n, workspace, sums);
  }
  mutable std::atomic<std::size_t> floats = 0, bytes = 0;

 private:
  std::shared_ptr<const features::Block> inner_;
};

TEST(EmbedShard, HandsOutBytesWhereEveryBlockTakesThemAndTheFileHasThem) {
  Layout layout = test::rff_layout(784, 64, 10, true);
  const auto sums = [&](const Layout& of) {
    const auto source = data::open_shard(test::fashion_mnist(), 0, 60);  // 1,000 records
    return TestAccess::values(embed_shard(of, *source, 2, {}));
  };
  const auto expected = sums(layout);
  Layout taking = layout;
  const auto block = std::make_shared<FromBytes>(layout.blocks[0]);
  taking.blocks[0] = block;
  EXPECT_EQ(sums(taking), expected);
  EXPECT_EQ(block->bytes, 1000u);
  EXPECT_EQ(block->floats, 0u);
  // Beside a block that needs float32, all get float32.
  layout.counts = false;
  const auto twice = sums(layout);
  taking.counts = false;
  taking.blocks.push_back(layout.blocks[0]);
  const auto both = sums(taking);
  EXPECT_TRUE(std::equal(twice.begin(), twice.end(), both.begin()));
  EXPECT_TRUE(std::equal(twice.begin(), twice.end(), both.begin() + 640, both.end()));
  EXPECT_EQ(block->floats, 1000u);
  // Numbers that no file of bytes holds come as float32.
  const auto records = made_up(50, 9, 4);
  layout = test::rff_layout(9, 70, 4, true);
  const auto from_memory = sums_of(layout, records);
  layout.blocks[0] = std::make_shared<FromBytes>(layout.blocks[0]);
  EXPECT_EQ(sums_of(layout, records), from_memory);
}

/// Takes records whose first number is at most a half; their feature is 1.
class Picky final : public features::Block {
 public:
  std::string name() const override { return "picky"; }
  std::size_t dims() const override { return 9; }
  std::size_t features() const override { return 1; }
  features::BlockBound bound() const override { return {1.0, true, "1"}; }
  std::vector<features::CoordinateRun> coordinates() const override { return {{1, 0x1p24}}; }
  std::unique_ptr<features::Workspace> make_workspace() const override {
    return std::make_unique<features::Workspace>();
  }
  std::size_t tile() const override { return 16; }
  std::uint64_t accumulate(const float* x, const std::int32_t* y, std::size_t n, features::Workspace&,
                           std::span<std::uint64_t> sums) const override {
    std::uint64_t refused = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const bool label = y[i] >= 0 && static_cast<std::size_t>(y[i]) < sums.size();
      if (label && x[i * 9] <= 0.5f) {
        sums[static_cast<std::size_t>(y[i])] += std::uint64_t{1} << 24;
      } else {
        ++refused;
      }
    }
    return refused;
  }
};

// What the bound supposes (privacy/sensitivity.hpp): a block that refuses a record gets nothing of it, the
// others and the counts get all; a record without a label of the schema is nowhere.
TEST(EmbedShard, CountsGoByTheLabelWhateverTheBlocksTake) {
  auto records = made_up(60, 9, 4);
  Layout layout = test::rff_layout(9, 70, 4, true);
  layout.blocks.push_back(std::make_shared<Picky>());
  auto taken = records;
  for (std::size_t i = 0; i < 60; ++i) records.x[i * 9] = taken.x[i * 9] = 0.25f;
  records.x[20 * 9] = 0.75f;              // the second block refuses it
  records.x[30 * 9 + 2] = std::nanf("");  // the first does
  records.y[40] = data::Batch::kNoClass;
  records.y[41] = 4;
  taken.x[20 * 9] = 0.75f;
  std::vector<std::size_t> labelled, by_rff;
  for (std::size_t i = 0; i < 60; ++i) {
    if (i != 40 && i != 41) labelled.push_back(i);
    if (i != 30 && i != 40 && i != 41) by_rff.push_back(i);
  }
  std::vector<std::uint64_t> counts(4), picked(4);
  for (const std::size_t i : labelled) {
    counts[static_cast<std::size_t>(records.y[i])] += std::uint64_t{1} << 24;
    if (i != 20) picked[static_cast<std::size_t>(records.y[i])] += std::uint64_t{1} << 24;
  }
  test::MemorySource source(taken, by_rff);
  std::vector<std::uint64_t> expected =
      TestAccess::values(embed_shard(test::rff_layout(9, 70, 4, false), source, 1, {}));
  expected.insert(expected.end(), picked.begin(), picked.end());
  expected.insert(expected.end(), counts.begin(), counts.end());
  for (const int threads : {1, 3}) EXPECT_EQ(sums_of(layout, records, threads), expected);
}

// The combined bound on the product's own blocks: random Fourier features, second moments of weight w and
// counts, over pairs of records, hostile ones among them. No pair may be further apart than the bound, and
// the best comes within 2 %.
TEST(EmbedSensitivity, NoPairOfRecordsIsFurtherApartThanTheCombinedBound) {
  constexpr std::size_t kDims = 2, kClasses = 2;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  for (const double w : {0.5, 1.0, 3.0}) {
    Layout layout;
    layout.classes = kClasses;
    layout.counts = true;
    const features::RffSpec rff{.dims = kDims, .features = 2, .length_scale = 0.05, .seed = 3};
    // With a small constant, z is nearly x - 1/2 normalised: records may have orthogonal ones.
    features::MomentsSpec moments{.shape = {kDims}};
    moments.offset = 0.01;
    for (const features::BlockSpec& spec :
         {features::BlockSpec{rff}, features::BlockSpec{features::resolved(moments), w}})
      layout.blocks.push_back(features::make_block(spec, layout.lattice));
    const double bound =
        privacy::combined_sensitivity(layout.sensitivity_input(privacy::Adjacency::kReplaceOne, 1)).value;
    ASSERT_NEAR(bound, std::sqrt(std::fmax(4 + 2 * w * w, 2 * (1 + w * w) + 2)), 1e-12);

    data::Batch all = made_up(160, kDims, kClasses);
    for (const float bad : {kNan, kInf, -kInf, 1e30f, 3e38f, -1e6f, 1e-38f}) {
      for (std::int32_t label = -1; label < static_cast<std::int32_t>(kClasses) + 1; ++label) {
        all.x.insert(all.x.end(), {bad, 0.25f});
        all.y.push_back(label);
        ++all.n;
      }
    }
    std::vector<long double> units;
    for (const features::CoordinatePart& part : layout.coordinates()) {
      for (std::uint64_t r = 0; r < part.repeat; ++r) {
        for (const features::CoordinateRun& run : part.runs) units.insert(units.end(), run.count, run.unit);
      }
    }
    std::vector<std::vector<std::uint64_t>> embedded;
    for (std::size_t i = 0; i < all.n; ++i) {
      test::MemorySource source(all, {i});
      embedded.push_back(TestAccess::values(embed_shard(layout, source, 1, {})));
      ASSERT_EQ(embedded.back().size(), units.size());
    }
    long double worst = 0;
    for (const auto& a : embedded) {
      for (const auto& b : embedded) {
        long double squares = 0;
        for (std::size_t j = 0; j < a.size(); ++j) {
          const auto moved = static_cast<long double>(static_cast<std::int64_t>(a[j] - b[j])) / units[j];
          squares += moved * moved;
        }
        worst = std::max(worst, squares);
      }
    }
    EXPECT_LE(std::sqrt(worst), bound * (1 + 1e-15L)) << w;
    EXPECT_GE(std::sqrt(worst), 0.98 * bound) << w;
  }
}

TEST(EmbedShard, ReportsProgressOnTheCallingThreadUpToTheEnd) {
  const auto records = made_up(500, 9, 4);
  test::MemorySource source(records, test::shard(500, Deal::kContiguous, 0, 1));
  std::uint64_t last = 0;
  const auto caller = std::this_thread::get_id();
  embed_shard(test::rff_layout(9, 70, 4, false), source, 3, [&](std::uint64_t done) {
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
    std::uint64_t file_records() const override { return 5000; }
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
    try {
      embed_shard(test::rff_layout(9, 70, 4, false), source, threads, {});
      FAIL() << "no error";
    } catch (const DataError& e) {
      EXPECT_EQ(e.code(), ExitCode::kData);
      EXPECT_THAT(e.what(), testing::HasSubstr("truncated at record 240"));
    }
  }
}

TEST(EmbedShard, RecordsOfTheWrongLengthAreRefused) {
  const auto records = made_up(10, 8, 4);
  test::MemorySource source(records, test::shard(10, Deal::kContiguous, 0, 1));
  try {
    embed_shard(test::rff_layout(9, 70, 4, false), source, 1, {});
    FAIL() << "no error";
  } catch (const InvariantError& e) {
    EXPECT_EQ(e.code(), ExitCode::kInvariant);
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("8 numbers"), testing::HasSubstr("made for 9")));
  }
}

TEST(ReduceToRoot, RanksAsThreadsGiveTheSameSum) {
  const auto records = made_up(300, 9, 4);
  const Layout layout = test::rff_layout(9, 70, 4, true);
  const auto expected = sums_of(layout, records);
  for (const int ranks : {1, 2, 3, 4}) {
    for (const Deal deal : {Deal::kContiguous, Deal::kRoundRobin, Deal::kShuffledUneven}) {
      test::run_thread_ranks(ranks, [&](comm::HostComm& comm) {
        const auto mine =
            test::shard(300, deal, static_cast<std::size_t>(comm.rank()), static_cast<std::size_t>(ranks));
        test::MemorySource source(records, mine);
        auto raw = reduce_to_root(comm, embed_shard(layout, source, 2, {}));
        if (comm.is_root()) {
          EXPECT_EQ(test::reveal(std::move(raw), layout.size()), expected);
        }
      });
    }
  }
}

}  // namespace
}  // namespace muffle::embed
