#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "synth/draw_tile.hpp"

namespace muffle::synth {
namespace {

constexpr std::size_t kRecords = 500, kDims = 40;

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
  finish_records(x, kDims, SampleSpec{}, 1000);
  EXPECT_EQ(x, telling());
}

TEST(Finish, SmallNumbersBecomeZeroAndNoOthers) {
  std::vector<float> x{0.0F, 0.049F, 0.05F, 0.051F, 1.0F};
  SampleSpec spec;
  spec.floor = 0.05;
  finish_records(x, x.size(), spec, 0);
  EXPECT_EQ(x, (std::vector<float>{0.0F, 0.0F, 0.05F, 0.051F, 1.0F}));
}

TEST(Finish, StraysComeFromTheirOwnPlaceInAnyRecordAsOftenAsAsked) {
  SampleSpec spec;
  for (const double share : {0.005, 0.02, 0.3}) {
    spec.stray = share;
    const std::vector<float> before = telling();
    std::vector<float> x = before;
    finish_records(x, kDims, spec, 5000);
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
  finish_records(x, kDims, spec, 0);
  finish_records(again, kDims, spec, 0);
  finish_records(later, kDims, spec, kRecords);
  spec.seed = 2;
  finish_records(other, kDims, spec, 0);
  EXPECT_EQ(x, again);
  EXPECT_NE(x, later);
  EXPECT_NE(x, other);
}

}  // namespace
}  // namespace muffle::synth
