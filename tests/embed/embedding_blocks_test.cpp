// Blocks beside one another: who takes bytes, who refuses a record, and how far apart two records may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>

#include "embed/shards.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/log.hpp"
#include "muffle/embed/embedding.hpp"
#include "support/fashion_mnist.hpp"
#include "support/planned_release.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::embed {
namespace {

using test::made_up;
using test::sums_of;

/// Random features that take bytes, as a GPU's do; and that tell which of the two they were given.
class FromBytes final : public features::Block {
 public:
  explicit FromBytes(std::shared_ptr<const features::Block> inner) : inner_(std::move(inner)) {}
  std::size_t dims() const override { return inner_->dims(); }
  std::size_t features() const override { return inner_->features(); }
  std::unique_ptr<features::Workspace> make_workspace() const override {
    ++workspaces;
    return inner_->make_workspace();
  }
  int useful_threads() const override { return 2; }
  std::size_t tile() const override { return inner_->tile(); }
  features::Guard guard() const override { return inner_->guard(); }
  void embed(const float* x, const std::int32_t* y, std::size_t n, features::Workspace& workspace,
             features::Accumulator& sums) const override {
    floats += n;
    inner_->embed(x, y, n, workspace, sums);
  }
  bool takes_bytes() const override { return true; }
  void embed_bytes(const std::uint8_t* x, const schema::ByteScale& scale, const std::int32_t* y,
                   std::size_t n, features::Workspace& workspace,
                   features::Accumulator& sums) const override {
    bytes += n;
    std::vector<float> numbers(n * dims());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = scale[x[i]];
    inner_->embed(numbers.data(), y, n, workspace, sums);
  }
  mutable std::atomic<std::size_t> floats = 0, bytes = 0, workspaces = 0;

 private:
  std::shared_ptr<const features::Block> inner_;
};

Embedder two_rff(std::size_t dims) {
  return test::embedder_of({test::rff_map(dims, 64, "a"), test::rff_map(dims, 64, "b")}, {dims}, 10, false);
}

std::vector<std::uint64_t> sums_of_1000(const Embedder& embedder, int threads) {
  const auto source = data::open_shard(test::fashion_mnist(), 0, 60);
  return TestAccess::values(embed_shard(embedder, *source, threads, {}));
}

TEST(EmbedShard, UsesAsManyThreadsAsAnyBlockHasAUseFor) {
  const Embedder plain = test::rff_embedder(784, 64, 10, true);
  const auto block = std::make_shared<FromBytes>(plain.blocks[0]);
  Embedder few = plain;
  few.blocks[0] = block;
  EXPECT_EQ(sums_of_1000(few, 5), sums_of_1000(plain, 5));
  EXPECT_EQ(block->workspaces, 2u) << "1,000 records are tiles enough for five";
  Embedder both = two_rff(784);
  both.blocks[0] = block;  // the other keeps a processor busy with each thread
  sums_of_1000(both, 5);
  EXPECT_EQ(block->workspaces, 2u + 5u);
}

TEST(EmbedShard, HandsOutBytesWhereEveryBlockTakesThemAndTheFileHasThem) {
  Embedder taking = test::rff_embedder(784, 64, 10, true);
  const auto expected = sums_of_1000(taking, 2);
  const auto block = std::make_shared<FromBytes>(taking.blocks[0]);
  taking.blocks[0] = block;
  EXPECT_EQ(sums_of_1000(taking, 2), expected);
  EXPECT_EQ(block->bytes, 1000u);
  EXPECT_EQ(block->floats, 0u);
  // Beside a block that needs float32, all get float32.
  Embedder both = two_rff(784);
  const auto twice = sums_of_1000(both, 2);
  both.blocks[0] = block;
  EXPECT_EQ(sums_of_1000(both, 2), twice);
  EXPECT_EQ(block->floats, 1000u);
  // Numbers that no file of bytes holds come as float32.
  const auto records = made_up(50, 9, 4);
  Embedder memory = test::rff_embedder(9, 70, 4, true);
  const auto from_memory = sums_of(memory, records);
  memory.blocks[0] = std::make_shared<FromBytes>(memory.blocks[0]);
  EXPECT_EQ(sums_of(memory, records), from_memory);
}

/// Takes records whose first number is at most a half; their first feature is 1, the other 0.
class Picky final : public features::Block {
 public:
  std::size_t dims() const override { return 9; }
  std::size_t features() const override { return 2; }
  std::unique_ptr<features::Workspace> make_workspace() const override {
    return std::make_unique<features::Workspace>();
  }
  std::size_t tile() const override { return 16; }
  features::Guard guard() const override { return features::Guard::of({}); }
  void embed(const float* x, const std::int32_t* y, std::size_t n, features::Workspace&,
             features::Accumulator& sums) const override {
    const features::CellUnits one({{0, 2, std::int64_t{1} << 24}});
    for (std::size_t i = 0; i < n; ++i) {
      if (sums.is_class(y[i]) && x[i * 9] <= 0.5f)
        sums.add(one, std::span(y + i, 1), [](std::size_t, std::uint32_t* cells) { *cells = 0; });
    }
  }
};

// What the bound supposes (privacy/sensitivity.hpp): a block that refuses a record gets nothing of it, the
// others and the counts get all; a record without a label of the schema is nowhere.
TEST(EmbedShard, CountsGoByTheLabelWhateverTheBlocksTake) {
  auto records = made_up(60, 9, 4);
  Embedder embedder = test::embedder_of({test::rff_map(9, 70, "a"), test::rff_map(9, 2, "b")}, {9}, 4, true);
  embedder.blocks[1] = std::make_shared<Picky>();
  auto taken = records;
  for (std::size_t i = 0; i < 60; ++i) records.x[i * 9] = taken.x[i * 9] = 0.25f;
  records.x[20 * 9] = 0.75f;              // the second block refuses it
  records.x[30 * 9 + 2] = std::nanf("");  // the first does
  records.y[40] = schema::kNoClass;
  records.y[41] = 4;
  taken.x[20 * 9] = 0.75f;
  std::vector<std::size_t> labelled, by_rff;
  for (std::size_t i = 0; i < 60; ++i) {
    if (i != 40 && i != 41) labelled.push_back(i);
    if (i != 30 && i != 40 && i != 41) by_rff.push_back(i);
  }
  std::vector<std::uint64_t> counts(4), picked(8);
  for (const std::size_t i : labelled) {
    counts[static_cast<std::size_t>(records.y[i])] += std::uint64_t{1} << 24;
    if (i != 20) picked[2 * static_cast<std::size_t>(records.y[i])] += std::uint64_t{1} << 24;
  }
  test::MemorySource source(taken, by_rff);
  std::vector<std::uint64_t> expected =
      TestAccess::values(embed_shard(test::rff_embedder(9, 70, 4, false), source, 1, {}));
  expected.insert(expected.end(), picked.begin(), picked.end());
  expected.insert(expected.end(), counts.begin(), counts.end());
  const test::TemporaryFolder folder;
  set_up_logging({.rank = 0, .host = "h", .folder = folder.path(), .verbosity = 0});
  for (const int threads : {1, 3}) EXPECT_EQ(sums_of(embedder, records, threads), expected);
  set_up_logging({});
  // The rank's own log alone says how many, and does not count those without a class.
  const std::string log = read_file(folder / log_file_name(0));
  for (const char* map : {"map a: 1 of this rank's records", "map b: 1 of this rank's records"})
    EXPECT_THAT(log, ::testing::HasSubstr(map));
}

// Without labels a map sums all classes in one row; what has no label of the schema's adds nothing there,
// either.
TEST(Embedding, AMapWithoutLabelsHasOneRowForAllClasses) {
  constexpr std::size_t kDims = 9, kFeatures = 70, kClasses = 4;
  std::vector<features::NamedMap> maps{test::rff_map(kDims, kFeatures, "a"),
                                       test::rff_map(kDims, kFeatures, "b")};
  maps[1].labelled = false;
  const Embedder embedder = test::embedder_of(std::move(maps), {kDims}, kClasses, true);
  ASSERT_EQ(embedder.plan.size(), (kClasses + 1) * kFeatures + kClasses);
  EXPECT_EQ(test::units_of(embedder.plan).size(), embedder.plan.size());
  data::Batch records = made_up(200, kDims, kClasses);
  records.y[3] = -1;
  records.y[4] = kClasses;
  for (const int threads : {1, 3}) {
    const std::vector<std::uint64_t> sums = sums_of(embedder, records, threads);
    for (std::size_t j = 0; j < kFeatures; ++j) {
      std::uint64_t all = 0;
      for (std::size_t c = 0; c < kClasses; ++c) all += sums[c * kFeatures + j];
      ASSERT_EQ(sums[kClasses * kFeatures + j], all) << j;
      ASSERT_NE(all, 0u);
    }
  }
}

// The combined bound on the product's own blocks: random Fourier features, second moments of weight w and
// counts, over pairs of records, hostile ones among them. No pair may be further apart than the bound, and
// the best comes within 2 %.
TEST(EmbedSensitivity, NoPairOfRecordsIsFurtherApartThanTheCombinedBound) {
  constexpr std::size_t kDims = 2, kClasses = 2;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  for (const double w : {0.5, 1.0, 3.0, -1.0}) {  // -1: 1, and random features without labels
    const bool labelled = w > 0;
    // With a small constant, z is nearly x - 1/2 normalised: records may have orthogonal ones.
    const auto moments = test::make_moments({{"offset", "0.01"}}, test::schema_of({kDims}));
    const auto rff = test::make_rff({.dims = kDims, .features = 2, .length_scale = 0.05, .seed = 3});
    std::vector<features::NamedMap> maps{test::named("moments", moments->clone(), std::fabs(w)),
                                         test::named("rff", rff)};
    maps[1].labelled = labelled;
    const Embedder embedder = test::embedder_of(std::move(maps), {kDims}, kClasses, true);
    const double bound = privacy::combined_sensitivity(embedder.plan.sensitivity_input()).value;
    const double other = (labelled ? 2 : 4) + 2 * w * w + 2;
    ASSERT_NEAR(bound, std::sqrt(std::fmax(4 + 2 * w * w, other)), 1e-12);

    data::Batch all = made_up(160, kDims, kClasses);
    for (const float bad : {kNan, kInf, -kInf, 1e30f, 3e38f, -1e6f, 1e-38f}) {
      for (std::int32_t label = -1; label < static_cast<std::int32_t>(kClasses) + 1; ++label) {
        all.x.insert(all.x.end(), {bad, 0.25f});
        all.y.push_back(label);
        ++all.n;
      }
    }
    const std::vector<double> units = test::units_of(embedder.plan);
    std::vector<std::vector<std::uint64_t>> embedded;
    for (std::size_t i = 0; i < all.n; ++i) {
      test::MemorySource source(all, {i});
      embedded.push_back(TestAccess::values(embed_shard(embedder, source, 1, {})));
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

}  // namespace
}  // namespace muffle::embed
