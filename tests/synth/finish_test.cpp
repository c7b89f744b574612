#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "muffle/core/philox.hpp"
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
  finish_records(x, kColumns, SampleSpec{}, 1000, 1);
  EXPECT_EQ(x, telling());
}

TEST(Finish, SmallNumbersBecomeZeroAndNoOthers) {
  std::vector<float> x{0.0F, 0.049F, 0.05F, 0.051F, 1.0F};
  SampleSpec spec;
  spec.floor = 0.05;
  finish_records(x, of_shape({x.size()}), spec, 0, 1);
  EXPECT_EQ(x, (std::vector<float>{0.0F, 0.0F, 0.05F, 0.051F, 1.0F}));
}

TEST(Finish, StraysComeFromTheirOwnPlaceInAnyRecordAsOftenAsAsked) {
  SampleSpec spec;
  for (const double share : {0.005, 0.02, 0.3}) {
    spec.stray = share;
    const std::vector<float> before = telling();
    std::vector<float> x = before;
    finish_records(x, kColumns, spec, 5000, 1);
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
  finish_records(x, kColumns, spec, 0, 1);
  finish_records(again, kColumns, spec, 0, 1);
  finish_records(later, kColumns, spec, kRecords, 1);
  spec.seed = 2;
  finish_records(other, kColumns, spec, 0, 1);
  EXPECT_EQ(x, again);
  EXPECT_NE(x, later);
  EXPECT_NE(x, other);
}

/// Records that say how they departed: their label, spread / 8, toward, the other class (classes / 8).
class Telling : public sampling::Sampler {
  void draw_records(std::uint64_t, std::uint64_t, std::span<const std::int64_t> labels, std::span<float> out,
                    std::span<const sampling::Departure> departures) const override {
    for (std::size_t r = 0; r < labels.size(); ++r) {
      const sampling::Departure departure =
          departures.empty() ? sampling::Departure{.other = labels[r]} : departures[r];
      out[4 * r] = static_cast<float>(labels[r]) / 8;
      out[4 * r + 1] = departure.spread / 8;
      out[4 * r + 2] = departure.toward;
      out[4 * r + 3] = static_cast<float>(departure.other) / 8;
    }
  }
};

class Departures : public testing::Test {
 protected:
  static constexpr std::size_t kDrawn = 20 * kTileRecords;
  static constexpr double kShare = 0.05;

  /// What Telling says, four numbers a record.
  static std::vector<float> drawn(double outliers, double mixed, std::uint64_t seed = 1,
                                  std::size_t classes = 4) {
    Draw draw;
    draw.info.schema.shape = {4};
    draw.info.schema.hi = 1.0;
    draw.info.schema.classes = classes;
    draw.sampler = std::make_shared<Telling>();
    draw.class_share.assign(classes, 1 / static_cast<double>(classes));
    draw.spec.count = kDrawn;
    draw.spec.outliers = outliers;
    draw.spec.mixed = mixed;
    draw.spec.seed = seed;
    std::vector<float> all;
    for (std::uint64_t tile = 0; tile < draw.tiles(); ++tile) {
      const std::string bytes = draw_tile(draw, tile);
      for (std::size_t i = 0; i < bytes.size(); i += sizeof(float))
        std::memcpy(&all.emplace_back(), bytes.data() + i, sizeof(float));
    }
    return all;
  }
  static void expect_share(double count, double share) {
    const double expected = share * static_cast<double>(kDrawn);
    EXPECT_NEAR(count, expected, 5 * std::sqrt(expected));
  }
};

TEST_F(Departures, NoneUnlessAsked) {
  const std::vector<float> all = drawn(0, 0);
  for (std::size_t r = 0; r < kDrawn; ++r) {
    ASSERT_EQ(all[4 * r + 1], 0.125F);
    ASSERT_EQ(all[4 * r + 2], 0.0F);
  }
}

TEST_F(Departures, OutliersAreAsOftenAsAskedAndASeedsOwn) {
  const std::vector<float> some = drawn(kShare, 0);
  double far = 0;
  for (std::size_t r = 0; r < kDrawn; ++r) {
    ASSERT_TRUE(some[4 * r + 1] == 0.5F || some[4 * r + 1] == 0.125F);
    ASSERT_EQ(some[4 * r + 2], 0.0F);
    far += some[4 * r + 1] == 0.5F ? 1 : 0;
  }
  expect_share(far, kShare);
  EXPECT_NE(drawn(kShare, 0, 2), some);
}

TEST_F(Departures, MixedOnesGoToEachOtherClassAsOften) {
  const std::vector<float> some = drawn(0, kShare), both = drawn(kShare, kShare);
  std::vector<double> pairs(16);
  double far_too = 0;
  for (std::size_t r = 0; r < kDrawn; ++r) {
    EXPECT_EQ(both[4 * r + 2], some[4 * r + 2]) << "whatever outliers there are";
    const std::size_t own = static_cast<std::size_t>(8 * some[4 * r]),
                      other = static_cast<std::size_t>(8 * some[4 * r + 3]);
    ASSERT_LT(other, 4u);
    ASSERT_EQ(some[4 * r + 2] > 0, other != own);
    ASSERT_LT(some[4 * r + 2], 0.5F) << "nearer to its own";
    if (other != own) pairs[4 * own + other] += 1;
    far_too += both[4 * r + 1] == 0.5F && both[4 * r + 2] > 0 ? 1 : 0;
  }
  for (std::size_t pair = 0; pair < 16; ++pair) expect_share(pairs[pair], pair % 5 == 0 ? 0 : kShare / 12);
  expect_share(far_too, kShare * kShare);
  EXPECT_NE(drawn(0, kShare, 2), some);
}

TEST_F(Departures, OneClassHasNoOther) {
  const std::vector<float> all = drawn(0, 0.5, 1, 1);
  for (std::size_t r = 0; r < kDrawn; ++r) ASSERT_EQ(all[4 * r + 2], 0.0F);
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
    finish_records(x, of_shape({2, kHeight, kWidth}), spec, first, 1);
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
  finish_records(x, of_shape({1, 1, 1}), spec, 0, 1);
  EXPECT_NE(x, before);
}

/// As sharpen.hpp says it, pixel by pixel.
std::vector<float> sharpened_plainly(const std::vector<float>& x, std::size_t height, std::size_t width,
                                     long reach, double amount) {
  std::vector<float> out;
  const auto last_row = static_cast<long>(height) - 1, last_column = static_cast<long>(width) - 1;
  for (std::size_t start = 0; start < x.size(); start += height * width) {
    for (long i = 0; i <= last_row; ++i) {
      for (long j = 0; j <= last_column; ++j) {
        double sum = 0, least = 2, greatest = -1, count = 0;
        for (long p = i - reach; p <= i + reach; ++p) {
          for (long q = j - reach; q <= j + reach; ++q) {
            const auto at = static_cast<std::size_t>(std::clamp(p, 0L, last_row) * (last_column + 1) +
                                                     std::clamp(q, 0L, last_column));
            const auto v = static_cast<double>(x[start + at]);
            sum += v;
            least = std::min(least, v);
            greatest = std::max(greatest, v);
            ++count;
          }
        }
        const auto v = static_cast<double>(x[start + static_cast<std::size_t>(i * (last_column + 1) + j)]);
        out.push_back(static_cast<float>(std::clamp(v + amount * (v - sum / count), least, greatest)));
      }
    }
  }
  return out;
}

TEST(Sharpen, MovesPixelsAwayFromTheMeanAroundThemWithinLeastAndGreatest) {
  struct Case {
    std::vector<std::size_t> shape;
    long reach;
  };
  for (const Case& c : {Case{{1, 28, 28}, 1}, Case{{3, 9, 5}, 1}, Case{{1, 1, 1}, 1}, Case{{2, 1, 7}, 1},
                        Case{{1, 60, 56}, 2}, Case{{1, 28, 60}, 1}}) {
    const CounterStream random(3, Stream::kTest);
    std::vector<float> x(2 * c.shape[0] * c.shape[1] * c.shape[2]);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(random.uniform(i));
    for (const double amount : {0.3, 1.0, 8.0}) {
      SampleSpec spec;
      spec.sharpen = 2 * amount;
      std::vector<float> sharp = x, left = x;
      finish_records(sharp, of_shape(c.shape), spec, 0, 0.5);
      EXPECT_THAT(sharp, testing::Pointwise(testing::FloatNear(1e-5F),
                                            sharpened_plainly(x, c.shape[1], c.shape[2], c.reach, amount)));
      finish_records(left, of_shape(c.shape), spec, 0, 0.0);
      EXPECT_EQ(left, x) << "nothing is blurred";
    }
  }
}

TEST(Sharpen, MakesEdgesSteepAndLeavesThePlain) {
  const std::vector<float> ramp{0.2F, 0.2F, 0.2F, 0.35F, 0.5F, 0.65F, 0.8F, 0.8F, 0.8F};
  std::vector<float> x = ramp;
  SampleSpec spec;
  spec.sharpen = 4;
  finish_records(x, of_shape({1, 1, ramp.size()}), spec, 0, 1);
  EXPECT_THAT(x, testing::Pointwise(testing::FloatNear(1e-6F),
                                    {0.2F, 0.2F, 0.2F, 0.35F, 0.5F, 0.65F, 0.8F, 0.8F, 0.8F}))
      << "a straight ramp has nothing to steepen but its ends, which are least and greatest already";
  x = {0.2F, 0.2F, 0.25F, 0.5F, 0.75F, 0.8F, 0.8F};
  finish_records(x, of_shape({1, 1, x.size()}), spec, 0, 1);
  EXPECT_THAT(x, testing::Pointwise(testing::FloatNear(1e-6F), {0.2F, 0.2F, 0.2F, 0.5F, 0.8F, 0.8F, 0.8F}));
}

TEST(Sharpen, ComesAfterStraysAndBeforeTheFloor) {
  const schema::Schema images = of_shape({1, 8, 8});
  const CounterStream random(4, Stream::kTest);
  std::vector<float> x(kRecords * images.dims());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(random.uniform(i));
  SampleSpec all, strays, sharp, floor;
  all.stray = strays.stray = 0.2;
  all.sharpen = sharp.sharpen = 1;
  all.floor = floor.floor = 0.3;
  std::vector<float> at_once = x, in_turn = x;
  finish_records(at_once, images, all, 0, 1);
  for (const SampleSpec& one : {strays, sharp, floor}) finish_records(in_turn, images, one, 0, 1);
  EXPECT_EQ(at_once, in_turn);
  EXPECT_NE(at_once, x);
}

/// Images of noise, as blurred as it is told.
class Blurred : public sampling::Sampler {
 public:
  explicit Blurred(double blur) : blur_(blur) {}
  double blur() const override { return blur_; }

 private:
  void draw_records(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t>,
                    std::span<float> out, std::span<const sampling::Departure>) const override {
    const CounterStream random(seed, Stream::kTest);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(random.uniform(first + i));
  }
  double blur_;
};

TEST(Sharpen, TilesAreSharpenedAsMuchAsTheirModelBlurs) {
  Draw draw;
  draw.info.schema.shape = {1, 9, 9};
  draw.info.schema.hi = 255;
  draw.info.schema.classes = 1;
  draw.class_share = {1.0};
  draw.spec.count = 20;
  std::vector<float> drawn(20 * 81);
  Blurred(0).draw(draw.spec.seed, 0, std::vector<std::int64_t>(20), drawn);
  draw.spec.sharpen = 2;
  for (const double blur : {0.0, 0.5, 1.0}) {
    draw.sampler = std::make_shared<Blurred>(blur);
    const std::string bytes = draw_tile(draw, 0);
    const std::vector<float> wanted = sharpened_plainly(drawn, 9, 9, 1, 2 * blur);
    ASSERT_EQ(bytes.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(static_cast<std::uint8_t>(bytes[i]), 255 * wanted[i], 0.51F) << i;
  }
}

}  // namespace
}  // namespace muffle::synth
