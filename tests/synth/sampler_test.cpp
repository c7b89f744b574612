#include "muffle/synth/sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "sampler_case.hpp"
#include "support/expect_error.hpp"
#include "support/thread_comm.hpp"
#include "support/tier.hpp"

namespace muffle::synth {
namespace {

using test::SamplerModel;

TEST_F(Sampler, TheSameFilesForAnyNumberOfRanksAndThreads) {
  spec_.formats = {"npz", "idx"};
  const std::string alone = sample_alone(images_, out_);
  const std::string text = read_file(out_ / "samples.json");
  EXPECT_EQ(alone, sha256_file_hex(PublicFile(out_ / "samples.npz")));
  for (const int threads : {2, 3, 11}) {
    EXPECT_EQ(sample_alone(images_, folder_ / "threads", threads), alone) << threads << " threads";
  }
  for (int ranks = 1; ranks <= 4; ++ranks) {
    const auto out = folder_ / ("ranks" + std::to_string(ranks));
    test::run_thread_ranks(ranks, [&](comm::HostComm& comm) {
      EXPECT_EQ(sample(comm, images_, out, spec_, kFormats, "settings", 1 + comm.rank() % 2), alone)
          << ranks << " ranks";
    });
    EXPECT_EQ(read_file(out / "samples.json"), text) << ranks << " ranks";
  }
}

/// Points; closed forms, with 400 columns among them (a matrix library that splits its sums splits those of
/// more than 320 terms); more ranks than tiles; in the thorough tier records so large that root gathers a
/// round in parts.
TEST_F(Sampler, NoKindOfRecordsDependsOnRanksAndThreads) {
  struct Case {
    SamplerModel which;
    std::uint64_t count = kCount;
    int ranks = 3;
  };
  const auto model = folder_ / "model.mfl";
  for (const Case& c :
       {Case{SamplerModel::kPlane}, Case{SamplerModel::kMomentImages}, Case{SamplerModel::kMomentColumns},
        Case{SamplerModel::kMomentPlane}, Case{SamplerModel::kTable},
        Case{SamplerModel::kLargeImages, 9 * kTileRecords + 3}, Case{SamplerModel::kImages, 7, 4}}) {
    if (c.which == SamplerModel::kLargeImages && !test::thorough()) continue;
    test::write_sampler_model(model, c.which);
    spec_.count = c.count;
    spec_.formats = {c.which == SamplerModel::kLargeImages ? "idx" : "npz"};
    const std::string alone = sample_alone(model, out_);
    EXPECT_EQ(sample_alone(model, folder_ / "threads", 3), alone);
    test::run_thread_ranks(c.ranks, [&](comm::HostComm& comm) {
      EXPECT_EQ(sample(comm, model, folder_ / "ranks", spec_, kFormats, "settings", 1 + comm.rank() % 2),
                alone);
    });
    EXPECT_EQ(std::filesystem::exists(out_ / "samples.png"),
              c.which != SamplerModel::kMomentColumns && c.which != SamplerModel::kTable);
    EXPECT_EQ(description()["count"], c.count);
  }
}

TEST_F(Sampler, ImagesAreTheGeneratorsOutputsRounded) {
  sample_alone(images_, out_);
  const auto records = test::read_records(out_ / "samples.npz", {1, 8, 8});
  ASSERT_EQ(records.count(), kCount);
  const auto expected = test::reference_outputs(images_, spec_.seed, records.labels);
  ASSERT_EQ(records.bytes.size(), expected.size());
  std::size_t off = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double byte = 255.0 * static_cast<double>(expected[i]);
    // Record by record or in tiles, LibTorch's results differ in the last bits; that can tip a half.
    ASSERT_NEAR(records.bytes[i], byte, 0.5 + 1e-3) << "number " << i;
    if (records.bytes[i] != std::floor(byte + 0.5)) ++off;
  }
  EXPECT_LT(off, expected.size() / 1000);
  EXPECT_NE(std::count(records.bytes.begin(), records.bytes.end(), records.bytes[0]),
            static_cast<std::ptrdiff_t>(records.bytes.size()));
}

TEST_F(Sampler, OtherRecordsAreScaledBack) {
  sample_alone(plane_, out_);
  const auto records = test::read_records(out_ / "samples.npz", {2});
  const auto expected = test::reference_outputs(plane_, spec_.seed, records.labels);
  ASSERT_EQ(records.floats.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(records.floats[i], -1.0 + 6.0 * static_cast<double>(expected[i]), 1e-4) << "number " << i;
    ASSERT_GE(records.floats[i], -1.0f);
    ASSERT_LE(records.floats[i], 5.0f);
  }
  EXPECT_EQ(description()["element"], "float32");
  EXPECT_FALSE(description()["is_private"]);
}

TEST_F(Sampler, ImagesSayHowTheyWereFinished) {
  spec_.floor = 0.1;
  spec_.outliers = 0.02;
  spec_.mixed = 0.03;
  spec_.stray = 0.04;
  spec_.sharpen = 0.5;
  const std::string finished = sample_alone(images_, out_);
  const auto said = description();
  EXPECT_EQ(said["floor"], 0.1);
  EXPECT_EQ(said["outliers"], 0.02);
  EXPECT_EQ(said["mixed"], 0.03);
  EXPECT_EQ(said["stray"], 0.04);
  EXPECT_EQ(said["sharpen"], 0.5);
  spec_.sharpen = 0;
  EXPECT_NE(sample_alone(images_, out_), finished) << "a network's images are sharpened too";
}

TEST_F(Sampler, SeedsDiffer) {
  const std::string one = sample_alone(images_, out_);
  spec_.seed = 2;
  EXPECT_NE(sample_alone(images_, out_), one);
}

TEST_F(Sampler, UniformLabelsAreEvenAndNotSorted) {
  sample_alone(images_, out_);
  const auto records = test::read_records(out_ / "samples.npz", {1, 8, 8});
  std::vector<std::size_t> all(3, 0), early(3, 0);
  for (std::size_t i = 0; i < records.count(); ++i) {
    ++all[records.labels[i]];
    if (i < 100) ++early[records.labels[i]];
  }
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(static_cast<double>(all[c]), static_cast<double>(kCount) / 3.0, 1.0) << "class " << c;
    EXPECT_GT(early[c], 20u) << "class " << c;
    EXPECT_EQ(description()["class_counts"][c], all[c]);
  }
}

TEST_F(Sampler, LabelsByTheReleasedShares) {
  spec_.labels = Labels::kReleasedCounts;
  sample_alone(images_, out_);
  EXPECT_EQ(description()["class_counts"], nlohmann::json({kCount / 2, kCount / 2, 0}));
  EXPECT_EQ(description()["labels"], "released-counts");
}

TEST(Labels, OfATableComeAsOftenAsTheReleaseSaysUnlessAskedOtherwise) {
  schema::Schema images, table;
  table.table = std::make_shared<const schema::Table>();
  const auto by_counts = [](Labels labels, const schema::Schema& schema, bool released) {
    SampleSpec spec;
    spec.labels = labels;
    return spec.by_counts(schema, released);
  };
  EXPECT_TRUE(by_counts(SampleSpec{}.labels, table, true));
  EXPECT_FALSE(by_counts(Labels::kAuto, table, false));
  EXPECT_FALSE(by_counts(Labels::kAuto, images, true));
  EXPECT_FALSE(by_counts(Labels::kUniform, table, true));
  EXPECT_TRUE(by_counts(Labels::kReleasedCounts, images, true));
}

TEST_F(Sampler, SharesOfCountsThatWereNotReleasedAreRefused) {
  spec_.labels = Labels::kReleasedCounts;
  test::expect_error(ExitCode::kConfig, {"released-counts", "without class counts"},
                     [&] { sample_alone(plane_, out_); });
}

}  // namespace
}  // namespace muffle::synth
