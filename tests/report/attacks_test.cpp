#include "report/attacks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "muffle/core/philox.hpp"
#include "report/results.hpp"

namespace muffle::report {
namespace {

std::vector<double> normals(std::uint32_t stream, std::size_t n, double shift) {
  const CounterStream random(1, Stream::kTest, stream);
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(random.normal(i) + shift);
  return out;
}

TEST(AreaUnderCurve, IsTheShareOfPairsInOrder) {
  const std::vector<double> members{3, 1, 2}, others{0, 2};
  const Interval area = area_under_curve(members, others);
  EXPECT_DOUBLE_EQ(area.value, (1 + 1 + 1 + 0 + 1 + 0.5) / 6);
  EXPECT_LE(area.low, area.value);
  EXPECT_GE(area.high, area.value);
}

TEST(AreaUnderCurve, OfTheSameLawIsACoins) {
  // Of 200 attacks on nobody 95 % of the intervals hold 0.5: fewer than 180 once in 1,000 runs.
  int hold = 0;
  for (std::uint32_t k = 0; k < 200; ++k) {
    const Interval area = area_under_curve(normals(2 * k, 100, 0), normals(2 * k + 1, 120, 0));
    hold += area.low <= 0.5 && 0.5 <= area.high ? 1 : 0;
  }
  EXPECT_GE(hold, 180);
  EXPECT_LT(hold, 200) << "intervals that never miss are no intervals of 95 %";
}

TEST(AreaUnderCurve, OfShiftedNormalsIsTheKnownOne) {
  const Interval area = area_under_curve(normals(900, 4000, 1.0), normals(901, 4000, 0.0));
  EXPECT_NEAR(area.value, 0.5 * std::erfc(-0.5), 0.02);  // Phi(1 / sqrt 2)
  EXPECT_NEAR(area.value, most_area(1.0), 0.02);
}

TEST(FoundAt, CountsMembersAboveTheAllowedOthers) {
  std::vector<double> others(200), members{199.5, 198.5, 197.5, -1};
  std::iota(others.begin(), others.end(), 0.0);
  // 1 % of 200 are 2: above the third largest, 197.
  EXPECT_DOUBLE_EQ(found_at(members, others, 0.01).value, 0.75);
  EXPECT_DOUBLE_EQ(found_at({members.data() + 3, 1}, others, 0.01).value, 0.0);
  // All equal: none is told from another.
  const std::vector<double> same(50, 1.0);
  EXPECT_DOUBLE_EQ(found_at(same, same, 0.01).value, 0.0);
}

TEST(Guarantee, BoundsWhatAnAttackFinds) {
  EXPECT_NEAR(most_found_at(1e-9, 0.01), 0.01, 1e-6);
  EXPECT_NEAR(most_area(1e-9), 0.5, 1e-6);
  EXPECT_GT(most_found_at(1.0, 0.01), 0.09);
}

TEST(ShareInterval, IsWilsons) {
  const Interval half =
      share_interval(50, 100);  // scipy.stats.binomtest(50, 100).proportion_ci(method="wilson")
  EXPECT_NEAR(half.low, 0.40383, 1e-5);
  EXPECT_NEAR(half.high, 0.59617, 1e-5);
  EXPECT_DOUBLE_EQ(share_interval(0, 10).low, 0.0);
}

/// Rows of five numbers and a category.
Rows rows_of(std::uint32_t stream, std::size_t n) {
  const CounterStream random(3, Stream::kTest, stream);
  Rows out;
  for (std::size_t j = 0; j < 6; ++j) {
    Column column;
    column.name = "c" + std::to_string(j);
    column.schema.emplace();
    column.is_number = j < 5;
    if (!column.is_number) column.categories = {"a", "b", "c", "d"};
    out.columns.push_back(column);
    out.values.emplace_back();
    for (std::size_t i = 0; i < n; ++i)
      out.values[j].push_back(j < 5 ? random.uniform(i * 6 + j)
                                    : static_cast<double>(random.below(i * 6 + j, 4)));
  }
  out.labels.assign(n, 0);
  return out;
}

TEST(Disclosure, CopiedRowsAreFound) {
  const Rows real = rows_of(1, 600), held_out = rows_of(2, 600);
  const Disclosure found = attack(real, held_out, real, {});
  for (const Attack& a : found.attacks) {
    EXPECT_GT(a.area.value, 0.99) << a.how;
    EXPECT_GT(a.found.value, 0.95) << a.how;
  }
  EXPECT_EQ(found.copies_of_members, 600u);
  EXPECT_EQ(found.copies_of_held_out, 0u);
  EXPECT_GT(found.nearer_to_members.low, 0.98);
  EXPECT_EQ(found.twins[0].sample, found.twins[0].real);
  ASSERT_EQ(found.inferences.size(), 1u);
}

TEST(Disclosure, FreshRowsOfTheSameLawTellNothing) {
  const Disclosure found = attack(rows_of(1, 600), rows_of(2, 600), rows_of(3, 2000), {});
  for (const Attack& a : found.attacks) {
    EXPECT_LT(a.area.low, 0.5 + 0.02) << a.how;
    EXPECT_GT(a.area.high, 0.5 - 0.02) << a.how;
    EXPECT_LT(a.found.value, 0.05) << a.how;
  }
  EXPECT_LT(found.nearer_to_members.low, 0.5);
  EXPECT_GT(found.nearer_to_members.high, 0.5);
  EXPECT_NEAR(found.inferences[0].of_members.value, found.inferences[0].of_held_out.value, 0.12);
}

TEST(Disclosure, WhatGoesWithTheOthersIsGuessed) {
  Rows real = rows_of(1, 400), held_out = rows_of(2, 400), samples = rows_of(3, 800);
  for (Rows* rows : {&real, &held_out, &samples}) {
    for (std::size_t i = 0; i < rows->size(); ++i) {
      rows->values[5][i] = rows->values[0][i] < 0.5 ? 0 : 1;
      for (std::size_t j = 1; j < 5; ++j) rows->values[j][i] = rows->values[0][i];
    }
  }
  const Disclosure found = attack(real, held_out, samples, {});
  EXPECT_GT(found.inferences[0].of_held_out.value, 0.97);
  EXPECT_GT(found.inferences[0].by_real, 0.97);
  EXPECT_NEAR(found.inferences[0].by_majority, 0.5, 0.1);
}

}  // namespace
}  // namespace muffle::report
