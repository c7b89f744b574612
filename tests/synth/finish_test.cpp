#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "synth/draw_tile.hpp"

namespace muffle::synth {
namespace {

constexpr std::size_t kRecords = 500, kDims = 40;

schema::Schema of_shape(std::vector<std::size_t> shape) {
  schema::Schema schema;
  schema.shape = std::move(shape);
  return schema;
}
const schema::Schema kColumns = of_shape({kDims});

/// Number j of record i is (i + 1) / 501 - j / 1e5: it says where it comes from.
std::vector<float> telling() {
  std::vector<float> x(kRecords * kDims);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] =
        static_cast<float>(static_cast<double>(i / kDims + 1) / 501.0 - static_cast<double>(i % kDims) / 1e5);
  return x;
}

TEST(Finish, NothingIsDoneUnlessAskedFor) {
  std::vector<float> x = telling();
  finish_records(x, kColumns, SampleSpec{}, 1000);
  EXPECT_EQ(x, telling());
}

TEST(Finish, SmallNumbersBecomeZeroAndNoOthers) {
  std::vector<float> x{0.0F, 0.049F, 0.05F, 0.051F, 1.0F};
  SampleSpec spec;
  spec.floor = 0.05;
  finish_records(x, of_shape({x.size()}), spec, 0);
  EXPECT_EQ(x, (std::vector<float>{0.0F, 0.0F, 0.05F, 0.051F, 1.0F}));
}

TEST(Finish, StraysComeFromTheirOwnPlaceInAnyRecordAsOftenAsAsked) {
  SampleSpec spec;
  for (const double share : {0.005, 0.02, 0.3}) {
    spec.stray = share;
    const std::vector<float> before = telling();
    std::vector<float> x = before;
    finish_records(x, kColumns, spec, 5000);
    double moved = 0, above = 0;
    std::vector<double> at_place(kDims);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == before[i]) continue;
      ++moved;
      ++at_place[i % kDims];
      if (x[i] > before[kDims * 249 + i % kDims]) ++above;
      const double from =
          std::round((static_cast<double>(x[i]) + static_cast<double>(i % kDims) / 1e5) * 501.0);
      ASSERT_TRUE(from >= 1 && from <= kRecords);
      EXPECT_EQ(x[i], before[(static_cast<std::size_t>(from) - 1) * kDims + i % kDims]);
    }
    // Fixed streams, so these cannot fail by chance; the bounds are five standard deviations.
    const double expected = share * static_cast<double>(x.size()) * (1 - 1.0 / kRecords);
    EXPECT_NEAR(moved, expected, 5 * std::sqrt(expected));
    EXPECT_NEAR(above, moved / 2, 2.5 * std::sqrt(moved));
    for (const double count : at_place)
      EXPECT_NEAR(count, expected / kDims, 5 * std::sqrt(expected / kDims) + 1);
  }
}

TEST(Finish, RecordsAndSeedsHaveStraysOfTheirOwn) {
  SampleSpec spec;
  spec.stray = 0.1;
  std::vector<float> x = telling(), again = telling(), later = telling(), other = telling();
  finish_records(x, kColumns, spec, 0);
  finish_records(again, kColumns, spec, 0);
  finish_records(later, kColumns, spec, kRecords);
  spec.seed = 2;
  finish_records(other, kColumns, spec, 0);
  EXPECT_EQ(x, again);
  EXPECT_NE(x, later);
  EXPECT_NE(x, other);
}

/// Records that say by how much their normal numbers were multiplied: 1/8 and 1/2 for 1 and 4.
class Spread : public model::Sampler {
  void draw_spread(std::uint64_t, std::uint64_t, std::span<const std::int64_t>, std::span<float> out,
                   std::span<const float> spread) const override {
    for (std::size_t r = 0; r < out.size(); ++r) out[r] = (spread.empty() ? 1.0F : spread[r]) / 8.0F;
  }
};

TEST(Outliers, AreAsOftenAsAskedAndASeedsOwn) {
  Draw draw;
  draw.info.schema.shape = {1};
  draw.info.schema.hi = 1.0;
  draw.sampler = std::make_shared<Spread>();
  draw.class_share = {1.0};
  draw.spec.count = 20 * kTileRecords;
  const auto drawn = [&](double outliers, std::uint64_t seed) {
    draw.spec.outliers = outliers;
    draw.spec.seed = seed;
    std::vector<float> all;
    for (std::uint64_t tile = 0; tile < draw.tiles(); ++tile) {
      const std::string bytes = draw_tile(draw, tile);
      for (std::size_t i = 0; i < bytes.size(); i += sizeof(float))
        std::memcpy(&all.emplace_back(), bytes.data() + i, sizeof(float));
    }
    return all;
  };
  EXPECT_EQ(drawn(0, 1), std::vector<float>(20 * kTileRecords, 0.125F));
  const std::vector<float> some = drawn(0.05, 1);
  const auto far = static_cast<double>(std::count(some.begin(), some.end(), 0.5F));
  const auto others = static_cast<double>(std::count(some.begin(), some.end(), 0.125F));
  const double expected = 0.05 * static_cast<double>(some.size());
  EXPECT_NEAR(far, expected, 5 * std::sqrt(expected));
  EXPECT_EQ(far + others, static_cast<double>(some.size()));
  EXPECT_NE(drawn(0.05, 2), some);
}

/// Two channels of 12 x 10 pixels: record i is i % 2 all over, but for its first channel's, twice as bright.
class Patches : public testing::Test {
 protected:
  static constexpr std::size_t kHeight = 12, kWidth = 10, kPixels = kHeight * kWidth;
  static std::vector<float> finished(double stray, std::uint64_t first = 0) {
    std::vector<float> x;
    for (std::size_t i = 0; i < kRecords * 2 * kPixels; ++i) {
      const std::size_t record = i / (2 * kPixels), channel = i / kPixels % 2;
      x.push_back(record % 2 == 0 ? 0.0F : (channel == 0 ? 1.0F : 0.5F));
    }
    SampleSpec spec;
    spec.stray = stray;
    finish_records(x, of_shape({2, kHeight, kWidth}), spec, first);
    return x;
  }
};

TEST_F(Patches, AreAsOftenAsAskedEverywhere) {
  constexpr double kShare = 0.04;
  std::vector<double> taken(kPixels);
  for (std::uint64_t tile = 0; tile < 20; ++tile) {
    const std::vector<float> x = finished(kShare, tile * kRecords);
    for (std::size_t record = 0; record < kRecords; record += 2) {
      for (std::size_t p = 0; p < kPixels; ++p)
        taken[p] += static_cast<double>(x[record * 2 * kPixels + p]) / (20 * kRecords / 2);
    }
  }
  // Half of the donors are white. Overlaps take back what was taken; the stream is fixed.
  double mean = 0;
  for (const double share : taken) {
    EXPECT_NEAR(share, kShare / 2, 0.012) << "margins and middle alike";
    mean += share / kPixels;
  }
  EXPECT_NEAR(mean, kShare / 2, 0.002);
}

TEST_F(Patches, AreSmoothAndTakeAllChannelsFromOneRecord) {
  const std::vector<float> x = finished(0.04);
  EXPECT_EQ(x, finished(0.04));
  EXPECT_NE(x, finished(0.04, kRecords));
  std::size_t between = 0;
  for (std::size_t record = 0; record < kRecords; ++record) {
    const float* const first = x.data() + record * 2 * kPixels;
    for (std::size_t p = 0; p < kPixels; ++p) {
      ASSERT_GE(first[p], 0.0F);
      ASSERT_LE(first[p], 1.0F);
      EXPECT_NEAR(first[p], 2 * first[kPixels + p], 1e-6);
      between += first[p] > 0.1F && first[p] < 0.9F;
    }
  }
  EXPECT_GT(between, kRecords) << "a patch fades out";
}

TEST_F(Patches, ImagesOfOnePixelHaveThemToo) {
  std::vector<float> x;
  for (std::size_t i = 0; i < kRecords; ++i) x.push_back(i % 2 == 0 ? 0.0F : 1.0F);
  const std::vector<float> before = x;
  SampleSpec spec;
  spec.stray = 0.2;
  finish_records(x, of_shape({1, 1, 1}), spec, 0);
  EXPECT_NE(x, before);
}

}  // namespace
}  // namespace muffle::synth
