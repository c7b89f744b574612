#include "report/attacks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "muffle/core/philox.hpp"
#include "report/results.hpp"
#include "report/sections.hpp"

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
  RecordProperty("hold", hold);
  EXPECT_GE(hold, 180);
  EXPECT_LT(hold, 200) << "intervals that never miss are no intervals of 95 %";
}

TEST(AreaUnderCurve, IsUncertainAtItsEndsToo) {
  // One of each, or all in order: DeLong's variance is 0.
  const std::vector<double> one{1.0}, other{0.0};
  const Interval few = area_under_curve(one, other);
  EXPECT_DOUBLE_EQ(few.value, 1.0);
  EXPECT_LT(few.low, 0.5);
  EXPECT_GT(area_under_curve(other, one).high, 0.5);
  std::vector<double> low(100), high(100);
  std::iota(low.begin(), low.end(), 0.0);
  std::iota(high.begin(), high.end(), 1000.0);
  const Interval all = area_under_curve(high, low);
  EXPECT_LT(all.low, 0.995);
  EXPECT_GT(all.low, 0.9);
  EXPECT_DOUBLE_EQ(all.high, 1.0);
}

TEST(AreaUnderCurve, OfFarShiftedNormalsHoldsTheKnownOne) {
  int hold = 0;
  for (std::uint32_t k = 0; k < 200; ++k) {
    const Interval area = area_under_curve(normals(1000 + 2 * k, 100, 3.0), normals(1001 + 2 * k, 100, 0));
    hold += area.low <= most_area(3.0) && most_area(3.0) <= area.high ? 1 : 0;
  }
  RecordProperty("hold", hold);
  EXPECT_GE(hold, 180);
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

TEST(FoundAt, HasTheThresholdsOwnChance) {
  // Of shifted normals most_found_at() is the truth. Wilson's interval of the members alone holds it far less
  // often.
  int hold = 0, by_members_alone = 0;
  const double truth = most_found_at(1.0, 0.01);
  for (std::uint32_t k = 0; k < 200; ++k) {
    const Interval found = found_at(normals(2000 + 2 * k, 400, 1.0), normals(2001 + 2 * k, 400, 0), 0.01);
    const Interval narrow = share_interval(found.value * 400, 400);
    hold += found.low <= truth && truth <= found.high ? 1 : 0;
    by_members_alone += narrow.low <= truth && truth <= narrow.high ? 1 : 0;
  }
  RecordProperty("hold", hold);
  RecordProperty("by_members_alone", by_members_alone);
  EXPECT_GE(hold, 180);
  EXPECT_LT(by_members_alone, 170);
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

TEST(Disclosure, WhatSamplesRepeatOfMembersAloneIsGuessed) {
  // The category goes with nothing, but samples are the members: one of the five nearest is their own.
  const Rows real = rows_of(1, 1000), held_out = rows_of(2, 2000);
  const Disclosure leaking = attack(real, held_out, real, {});
  ASSERT_EQ(leaking.inferences.size(), 1u);
  EXPECT_GT(leaking.inferences[0].of_members.value, leaking.inferences[0].of_held_out.value + 0.1);
  EXPECT_GT(leaking.inferences[0].apart.low, 0.05);
  EXPECT_NEAR(leaking.inferences[0].of_held_out.value, 0.25, 0.05);  // four categories by chance
  const Disclosure fresh = attack(real, held_out, rows_of(3, 1000), {});
  EXPECT_LT(fresh.inferences[0].apart.low, 0.0);
  EXPECT_GT(fresh.inferences[0].apart.high, 0.0);
}

TEST(Disclosure, ManySamplesNearOneRecordAreWorthOne) {
  const Rows real = rows_of(1, 600), held_out = rows_of(2, 600);
  Rows samples = rows_of(3, 600);
  for (std::size_t j = 0; j < 6; ++j) samples.values[j].assign(600, real.values[j][0]);
  const Interval nearer = attack(real, held_out, samples, {}).nearer_to_members;
  EXPECT_EQ(nearer.value, 1.0);
  EXPECT_LT(nearer.low, 0.5);  // one record tells as much as a coin that fell once
}

TEST(Attacks, ReachGrowsWithTheNumberOfIntervals) {
  EXPECT_NEAR(reach_of(1), kReach95, 1e-9);
  EXPECT_NEAR(reach_of(4), 2.497705, 1e-5);  // the normal law's quantile of 1 - 0.05 / 8
  const std::vector<double> members{0.1, 0.4, 0.5, 0.9}, others{0.2, 0.3, 0.6, 0.8};
  const Interval one = area_under_curve(members, others),
                 of_four = area_under_curve(members, others, reach_of(4));
  EXPECT_EQ(one.value, of_four.value);
  EXPECT_LT(of_four.low, one.low);
  EXPECT_GT(of_four.high, one.high);
}

TEST(Disclosure, RarePeopleAreTriedByThemselves) {
  // Most people have the same in five columns. An eighth are unlike all others, and the samples repeat those
  // of the release alone.
  const auto alike = [](std::uint32_t of, std::size_t n) {
    Rows rows = rows_of(of, n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 1; j < 5 && i % 8 != 0; ++j) rows.values[j][i] = rows.values[0][i];
    }
    return rows;
  };
  const Rows real = alike(1, 1200), held_out = alike(2, 2400);
  Rows samples = alike(3, 1200);
  for (std::size_t i = 0; i < 1200; i += 8) {
    for (std::size_t j = 0; j < 6; ++j) samples.values[j][i] = real.values[j][i];
  }
  const Disclosure found = attack(real, held_out, samples, {});
  ASSERT_EQ(found.attacks.size(), 3u);
  EXPECT_GT(found.attacks[2].area.value, found.attacks[1].area.value + 0.1);
  EXPECT_LT(attack(rows_of(1, 300), rows_of(2, 600), rows_of(3, 300), {}).attacks.size(), 3u);  // too few
}

TEST(Disclosure, CopiesAreEqualInEveryValue) {
  // Samples that stand at the same places among held-out rows are no copies: the held-out rows have two
  // values only.
  Rows real = rows_of(1, 300), held_out = rows_of(2, 300), samples = rows_of(3, 300);
  for (std::size_t i = 0; i < 300; ++i) {
    for (std::size_t j = 0; j < 6; ++j) {
      held_out.values[j][i] = j < 5 && i % 2 == 0 ? 5.0 : 0.0;
      real.values[j][i] = j < 5 ? 1.0 + static_cast<double>(i) * 0.001 : 0.0;
      samples.values[j][i] = j < 5 ? 2.0 + static_cast<double>(i) * 0.001 : 0.0;
    }
  }
  const Disclosure apart = attack(real, held_out, samples, {});
  EXPECT_EQ(apart.to_members[0], 0.0);
  EXPECT_EQ(apart.copies_of_members, 0u);
  samples.values[0][7] = std::nan("");
  for (std::size_t j = 0; j < 6; ++j) real.values[j][9] = samples.values[j][7];
  EXPECT_EQ(attack(real, held_out, samples, {}).copies_of_members, 1u);
}

TEST(Disclosure, TheReleasesOwnRowsAreNoHeldOutOnes) {
  const Rows real = rows_of(1, 400);
  const Disclosure own = attack(real, real, rows_of(3, 400), {});
  EXPECT_EQ(own.held_out_in_release, own.others);
  EXPECT_TRUE(not_comparable(own));
  EXPECT_FALSE(not_comparable(attack(real, rows_of(2, 400), rows_of(3, 400), {})));
  // Samples that are held-out rows, as if the two files were mixed up.
  EXPECT_TRUE(not_comparable(attack(real, rows_of(2, 400), rows_of(2, 400), {})));
}

TEST(Disclosure, RowsOfFewValuesAreComparable) {
  Rows real = rows_of(1, 400), held_out = rows_of(2, 400), samples = rows_of(3, 400);
  for (Rows* rows : {&real, &held_out, &samples}) {
    for (std::size_t j = 0; j < 5; ++j) rows->values[j].assign(400, 1.0);
  }
  const Disclosure found = attack(real, held_out, samples, {});
  EXPECT_EQ(found.held_out_in_release, found.others);  // one category of four is all they have
  EXPECT_EQ(found.repeated_in_release, found.members);
  EXPECT_FALSE(not_comparable(found));
}

TEST(Disclosure, FewRowsAreTooFewToSay) {
  EXPECT_TRUE(attack(rows_of(1, 400), rows_of(2, 2), rows_of(3, 400), {}).attacks.empty());
  EXPECT_TRUE(attack(rows_of(1, 99), rows_of(2, 400), rows_of(3, 400), {}).attacks.empty());
  EXPECT_EQ(attack(rows_of(1, 100), rows_of(2, 200), rows_of(3, 400), {}).attacks.size(), 2u);
}

TEST(Disclosure, TheFilesOrderDecidesNothing) {
  // Every second held-out row is one of another kind. Halves by parity would be of one kind each, and the
  // attack that compares them would find it.
  const Rows real = rows_of(1, 600), samples = rows_of(3, 600);
  Rows held_out = rows_of(2, 1200);
  for (std::size_t i = 0; i < 1200; i += 2) {
    for (std::size_t j = 0; j < 5; ++j) held_out.values[j][i] = held_out.values[0][i];
  }
  const Disclosure mixed = attack(real, held_out, samples, {});
  Rows sorted = held_out;
  for (std::size_t j = 0; j < 6; ++j) {
    for (std::size_t i = 0; i < 600; ++i) {
      sorted.values[j][i] = held_out.values[j][2 * i];
      sorted.values[j][600 + i] = held_out.values[j][2 * i + 1];
    }
  }
  const Disclosure in_order = attack(real, sorted, samples, {});
  for (std::size_t a = 0; a < 2; ++a)
    EXPECT_NEAR(mixed.attacks[a].area.value, in_order.attacks[a].area.value, 0.05) << mixed.attacks[a].how;
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
