// How certain scores are, what knows nothing, and what real rows say that synthetic ones do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "muffle/core/philox.hpp"
#include "report/class_means.hpp"
#include "report/follows.hpp"
#include "report/number_column.hpp"
#include "report/score_reach.hpp"
#include "support/maps.hpp"
#include "support/planned_release.hpp"

namespace muffle::report {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

Column categories_of(std::size_t n) {
  Column out;
  out.name = "c";
  out.is_number = false;
  for (std::size_t c = 0; c < n; ++c) out.categories.push_back("v" + std::to_string(c));
  return out;
}

/// A number, a category of four that goes with it, and a number of its own law.
Rows drawn_rows(std::uint32_t draw, std::size_t n) {
  const CounterStream random(9, Stream::kTest, draw);
  Rows out;
  out.columns = {number(0, 100, {0, 50, 101}), categories_of(4), number(0, 100, {0, 50, 101})};
  out.values.resize(3);
  for (std::size_t i = 0; i < n; ++i) {
    const double x = random.uniform(3 * i);
    out.values[0].push_back(std::floor(100 * x * x));
    out.values[1].push_back(std::floor(4 * (0.7 * x + 0.3 * random.uniform(3 * i + 1))));
    out.values[2].push_back(std::floor(100 * random.uniform(3 * i + 2)));
  }
  out.labels.assign(n, 0);
  return out;
}

TEST(ScoreReach, IsWhatOtherRowsOfTheSameLawDifferBy) {
  const Rows real = drawn_rows(0, 4000);
  const auto bins_of = [&] {
    std::vector<Bins> out;
    for (std::size_t j = 0; j < 3; ++j) out.push_back(Bins::to_pair(real.columns[j], real.values[j]));
    return out;
  };
  constexpr std::size_t kDraws = 40;
  std::vector<double> pairs, ranks;
  double reach_of_pairs = 0, reach_of_ranks = 0;
  for (std::uint32_t draw = 1; draw <= kDraws; ++draw) {
    const Rows made = drawn_rows(draw, 600);
    const TableScores scores = score_table(real, std::nullopt, made, {});
    pairs.push_back(scores.pairs);
    ranks.push_back(*scores.ranks);
    const auto reach = reach_by_rows(real, made, bins_of(), {});
    ASSERT_TRUE(reach);
    EXPECT_EQ(reach->pairs, scores.reach->pairs);
    reach_of_pairs += reach->pairs / kDraws;
    reach_of_ranks += reach->ranks / kDraws;
  }
  const auto deviation = [](const std::vector<double>& all) {
    double mean = 0, squares = 0;
    for (const double x : all) mean += x / static_cast<double>(all.size());
    for (const double x : all) squares += (x - mean) * (x - mean);
    return std::sqrt(squares / static_cast<double>(all.size() - 1));
  };
  // An interval of 95 % reaches 2.26 deviations; 40 draws know one to within a quarter.
  EXPECT_GT(reach_of_pairs, 1.3 * deviation(pairs));
  EXPECT_LT(reach_of_pairs, 4.0 * deviation(pairs));
  EXPECT_GT(reach_of_ranks, 1.3 * deviation(ranks));
  EXPECT_LT(reach_of_ranks, 4.0 * deviation(ranks));
  EXPECT_FALSE(reach_by_rows(real, drawn_rows(1, 99), bins_of(), {}));
}

TEST(ScoreReach, ManyRowsAreKnownBetter) {
  const Rows real = drawn_rows(0, 2000);
  std::vector<Bins> bins;
  for (std::size_t j = 0; j < 3; ++j) bins.push_back(Bins::to_pair(real.columns[j], real.values[j]));
  const double few = reach_by_rows(real, drawn_rows(1, 500), bins, {})->shapes,
               many = reach_by_rows(real, drawn_rows(1, 40'000), bins, {})->shapes;  // to scale, of 10,000
  EXPECT_LT(many, few / 2);
}

TEST(Floors, AreWhatTheSchemaAloneSays) {
  Rows rows;
  rows.columns = {categories_of(4), number(0, 100, {0, 50, 101})};
  rows.values = {{0, 0, 0, 0}, {100, 100, kNoValue, 100}};
  rows.labels.assign(4, 0);
  EXPECT_DOUBLE_EQ(mean_distance_from_even(rows), (0.75 + 1.0) / 2);
  rows.values = {{0, 1, 2, 3}, {25, 75, 25, 75}};
  EXPECT_DOUBLE_EQ(mean_distance_from_even(rows), (0.0 + 0.25) / 2);
  const TableScores scores = score_table(drawn_rows(0, 1000), std::nullopt, drawn_rows(1, 1000), {});
  EXPECT_LT(scores.even_shapes, scores.shapes - 0.1);  // the first number is no even one
  ASSERT_TRUE(scores.independent_ranks);
  EXPECT_GT(*scores.independent_ranks, 0.95);  // the two numbers know nothing of each other
}

TEST(Follows, IsTheShareOfRowsThatTheOtherColumnDecides) {
  std::vector<double> from(200), one(200);
  for (std::size_t i = 0; i < 200; ++i) {
    from[i] = static_cast<double>(i % 4);
    one[i] = i % 4 == 3 ? kNoValue : from[i] * from[i];
  }
  EXPECT_EQ(follows(one, from), 1.0);
  one[0] = 77;
  EXPECT_EQ(follows(one, from), 199.0 / 200);
  for (std::size_t i = 0; i < 200; ++i) from[i] = static_cast<double>(i);
  EXPECT_FALSE(follows(one, from));  // every row's own value decides anything
}

TEST(Follows, WhatIsLostIsNamedWithItsKeys) {
  // A degree and its number of years; two numbers that are one.
  const CounterStream random(9, Stream::kTest, 77);
  Rows real;
  real.columns = {categories_of(5), number(0, 30, {0, 10, 31}), number(0, 1000, {0, 500, 1001}),
                  number(0, 2000, {0, 500, 2001})};
  real.columns[0].name = "degree";
  real.columns[1].name = "years";
  real.columns[2].name = "net";
  real.columns[3].name = "gross";
  real.values.resize(4);
  for (std::size_t i = 0; i < 1000; ++i) {
    real.values[0].push_back(static_cast<double>(random.below(2 * i, 5)));
    real.values[1].push_back(8 + 2 * real.values[0].back());
    real.values[2].push_back(static_cast<double>(random.below(2 * i + 1, 1000)));
    real.values[3].push_back(2 * real.values[2].back());
  }
  real.labels.assign(1000, 0);
  EXPECT_TRUE(lost_dependencies(real, real, score_table(real, std::nullopt, real, {}).all).empty());
  Rows made = real;
  for (std::size_t i = 0; i < 1000; i += 5) {
    made.values[1][i] = 8 + 2 * static_cast<double>(i / 5 % 5);
    made.values[3][i] = static_cast<double>(i);
  }
  const auto said = lost_dependencies(real, made, score_table(real, std::nullopt, made, {}).all);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_NE(said[0].find("'degree' from 'years'"), std::string::npos) << said[0];
  EXPECT_NE(said[1].find("'net' and 'gross'"), std::string::npos) << said[1];
}

TEST(Follows, AHierarchyOfManyCategoriesIsNamedByTheOneThatFollows) {
  // 32 grades of 7 kinds: the map draws 16 of them, what follows is seen in all.
  Rows real;
  real.columns = {categories_of(7), categories_of(32)};
  real.columns[0].name = "grade";
  real.columns[1].name = "sub_grade";
  real.values.resize(2);
  const CounterStream random(9, Stream::kTest, 78);
  for (std::size_t i = 0; i < 3000; ++i) {
    real.values[1].push_back(static_cast<double>(random.below(i, 32)));
    real.values[0].push_back(std::floor(real.values[1].back() / 5));
  }
  real.labels.assign(3000, 0);
  Rows made = real;
  for (std::size_t i = 0; i < 3000; i += 2) made.values[0][i] = static_cast<double>(i / 2 % 7);
  const auto said = lost_dependencies(real, made, score_table(real, std::nullopt, made, {}).all);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("'grade' from 'sub_grade'"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("determined_by"), std::string::npos);
  EXPECT_TRUE(lost_dependencies(real, real, score_table(real, std::nullopt, real, {}).all).empty());
}

TEST(Follows, CategoriesOfFewRowsAreJudgedByTheirAssociation) {
  // 14 values in 200 rows: too few of each to say value by value what follows.
  Rows real;
  real.columns = {categories_of(14), categories_of(14)};
  real.columns[0].name = "code";
  real.columns[1].name = "text";
  real.values.resize(2);
  for (std::size_t i = 0; i < 200; ++i) {
    real.values[0].push_back(static_cast<double>(i % 14));
    real.values[1].push_back(static_cast<double>(13 - i % 14));
  }
  real.labels.assign(200, 0);
  EXPECT_FALSE(follows(real.values[0], real.values[1]));
  Rows made = real;
  for (std::size_t i = 0; i < 200; i += 3) made.values[1][i] = static_cast<double>(i / 3 % 14);
  const auto said = lost_dependencies(real, made, score_table(real, std::nullopt, made, {}).all);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("'code' and 'text'"), std::string::npos) << said[0];
}

/// Two classes of vectors, so far apart in each number; two more at the same place.
PublicMaterial release_of(float apart, double epsilon) {
  const CounterStream random(3, Stream::kTest, 5);
  constexpr std::size_t kRecords = 4000, kDims = 3;
  std::vector<float> x;
  std::vector<std::int32_t> y;
  for (std::size_t i = 0; i < kRecords; ++i) {
    const auto c = static_cast<std::int32_t>(i % 3);
    y.push_back(c);
    for (std::size_t j = 0; j < kDims; ++j)
      x.push_back(0.3f + 0.1f * static_cast<float>(random.uniform(kDims * i + j)) + (c == 2 ? apart : 0.0f));
  }
  PublicMaterial m;
  const schema::Schema schema = test::schema_of({kDims}, 3);
  m.verification.artifact = test::planned_release(
      schema, {test::named("waves", test::make_map("rff", {{"count", "64"}}, schema))}, x, y, epsilon, 1);
  m.records = static_cast<double>(kRecords);
  return m;
}

TEST(ClassGaps, TellFarClassesFromAlikeOnes) {
  const PublicMaterial m = release_of(0.3f, 20.0);
  const std::vector<ClassGap> gaps = class_gaps(m);
  ASSERT_EQ(gaps.size(), 3u);
  EXPECT_LT(gaps[0].surplus, 4.0);  // 0 and 1 are of one law: what they differ by is chance's and noise's
  EXPECT_GT(gaps[1].surplus, 10.0);
  EXPECT_GT(gaps[2].times, 2.0);
  std::vector<std::string> good, bad;
  judge_classes_by_noise(m, good, bad);
  EXPECT_TRUE(good.empty());
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_NE(bad[0].find("Of 3 pairs of classes the release's noise hides how 1 differs: 0 and 1."),
            std::string::npos)
      << bad[0];
  // Much noise hides all of them.
  bad.clear();
  judge_classes_by_noise(release_of(0.3f, 0.01), good, bad);
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_NE(bad[0].find("hides how 3 differ"), std::string::npos) << bad[0];
}

}  // namespace
}  // namespace muffle::report
