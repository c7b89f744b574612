// What columns and pairs are counted by, on values that are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "muffle/core/philox.hpp"
#include "report/associations.hpp"
#include "report/distances.hpp"
#include "report/number_column.hpp"
#include "report/number_table.hpp"
#include "report/results.hpp"

namespace muffle::report {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

Column categories(std::size_t n, bool missing = false) {
  Column out;
  out.is_number = false;
  out.may_be_missing = missing;
  for (std::size_t c = 0; c < n; ++c) out.categories.push_back("v" + std::to_string(c));
  out.schema.emplace();
  out.schema->missing = missing;
  for (const std::string& name : out.categories) out.schema->values.push_back({name, {}});
  return out;
}

TEST(Bins, EveryValueIsInOneAndMissingOnesInTheLast) {
  const Column column = number(0, 100, {0, 50, 101}, true);
  const std::vector<double> values{0, 1, 5, 5, 7, 20, 100, kMissing};
  for (const Bins& bins : {Bins::to_draw(column, values), Bins::to_pair(column, values)}) {
    const std::vector<double> shares = bins.shares(values);
    double sum = 0;
    for (const double share : shares) sum += share;
    EXPECT_NEAR(sum, 1.0, 1e-12);
    EXPECT_DOUBLE_EQ(shares.back(), 1.0 / 8);
    EXPECT_EQ(bins.labels().back(), "missing");
    EXPECT_EQ(bins.of(0), 0u);
    EXPECT_EQ(bins.of(100), bins.count() - 2);
  }
}

TEST(Bins, TicksAreWhereBinsBegin) {
  const Column column = number(0, 100, {0, 50, 101}, true);
  const std::vector<double> values{0, 1, 5, 5, 7, 20, 100, kMissing};
  const Bins bins = Bins::to_draw(column, values, nullptr, 5);
  EXPECT_EQ(bins.ticks(), (std::vector<std::string>{"0", "4", "8", "12", "16", "20", "100"}));
  EXPECT_EQ(bins.count(), 7u);  // what is farther out is in the last, and then the missing value
  EXPECT_TRUE(Bins::to_draw(categories(2), std::vector<double>{0, 1}).ticks().empty());
}

TEST(Columns, ShortTextsAreOfDatesAndDays) {
  Column column = number(0, 1e9, {0, 2e9});
  EXPECT_EQ(column.short_text(5), "5");
  EXPECT_EQ(column.short_text(123456789), "123456789");
  EXPECT_EQ(column.short_text(1234567890), "1.23e+09");
  column.schema->type = schema::ColumnType::kDecimal;
  column.schema->decimals = 5;
  EXPECT_EQ(column.short_text(30), "30");  // no zeros behind the point
  EXPECT_EQ(column.short_text(76.71875), "76.719");
  column.schema->type = schema::ColumnType::kDatetime;
  EXPECT_EQ(column.short_text(86400), "1970-01-02");
  column.schema->since = 0;
  EXPECT_EQ(column.short_text(86400 * 0.202777), "0.203 d");
}

TEST(RankCorrelation, IsOfRanksWithTiesAndWithoutMissingOnes) {
  EXPECT_EQ(ranks_of({10, 30, 20}), (std::vector<double>{0, 2, 1}));
  EXPECT_EQ(ranks_of({5, 5, 1, 9}), (std::vector<double>{1.5, 1.5, 0, 3}));
  const std::vector<double> one = ranks_of({1, 2, 3, 4}), square = ranks_of({1, 4, 9, 16}),
                            down = ranks_of({4, 3, 2, 1}), gap = ranks_of({1, kMissing, 3, 4});
  EXPECT_DOUBLE_EQ(rank_correlation(one, square), 1.0);
  EXPECT_DOUBLE_EQ(rank_correlation(one, down), -1.0);
  EXPECT_TRUE(std::isnan(gap[1]));
  EXPECT_NEAR(rank_correlation(gap, one), 0.98198, 1e-5);  // of 0 1 2 with 0 2 3
  EXPECT_EQ(rank_correlation(ranks_of({7, 7, 7, 7}), one), 0.0);
}

TEST(Scores, RankCorrelationsAreOfPairsOfNumbers) {
  Rows real;
  real.columns = {number(0, 100, {0, 50, 101}), number(0, 100, {0, 50, 101}), categories(2)};
  real.values.resize(3);
  for (int i = 0; i < 100; ++i) {
    real.values[0].push_back(i);
    real.values[1].push_back(i);
    real.values[2].push_back(i % 2);
  }
  real.labels.assign(100, 0);
  Rows turned = real;
  std::reverse(turned.values[1].begin(), turned.values[1].end());
  const TableScores same = score_table(real, real, real, {}),
                    other = score_table(real, std::nullopt, turned, {});
  EXPECT_DOUBLE_EQ(*same.ranks, 1.0);
  EXPECT_DOUBLE_EQ(*same.held_out_ranks, 1.0);
  EXPECT_DOUBLE_EQ(*other.ranks, 0.0);
  EXPECT_FALSE(other.held_out_ranks);
  for (const TableScores::Pair& pair : other.all)
    EXPECT_EQ(pair.rank_real.has_value(), pair.b == 1) << pair.b;
}

TEST(Numbers, AreToldByMeanDeviationAndQuantiles) {
  Rows made;
  made.columns = {categories(2), number(0, 100, {0, 50, 101}, true)};
  made.values = {{0, 1, 0, 1, 0, 0}, {10, 20, 30, 40, 0, kMissing}};
  made.labels.assign(6, 0);
  const std::vector<std::vector<std::string>> said = number_table(made, nullptr).rows;
  EXPECT_EQ(said, (std::vector<std::vector<std::string>>{{"n", "20", "14.142", "0", "0", "20", "40", "40"}}));
  Rows real = made;
  real.values[1].assign(6, kMissing);
  EXPECT_EQ(number_table(made, &real).rows[1],
            (std::vector<std::string>{"real", "-", "-", "-", "-", "-", "-", "-"}));
  real.values[1].assign(6, 1234567.0);
  EXPECT_EQ(number_table(made, &real).rows[1][1], "1234567");
  made.columns[1].schema->type = schema::ColumnType::kDate;
  EXPECT_EQ(number_table(made, nullptr).rows[0][1], "1970-01-21");
  EXPECT_EQ(number_table(made, nullptr).rows[0][2], "14.14 d");
  made.columns[1].schema->type = schema::ColumnType::kTime;
  made.values[1] = {3600, 3600, 10800, 10800, 3600, 10800};
  EXPECT_EQ(number_table(made, nullptr).rows[0][2], "1 h 00 min");
}

TEST(Rows, OfAClassAreThoseAlone) {
  Rows rows;
  rows.columns = {number(0, 9, {0, 10})};
  rows.values = {{1, 2, 3}};
  rows.labels = {0, 1, 0};
  EXPECT_EQ(rows_of_class(rows, 0).values, (std::vector<std::vector<double>>{{1, 3}}));
  EXPECT_EQ(rows_of_class(rows, 7).size(), 0u);
}

TEST(Distances, AtCutsWhatLiesBetweenThemIsNotSeen) {
  const std::vector<double> one{1, 2, 3, 6, kMissing}, other{3, 3, 3, 6};
  EXPECT_DOUBLE_EQ(distance_at(one, other, {5}), 0.0);
  EXPECT_DOUBLE_EQ(distance_at(one, other, {3, 5}), 0.5);
  EXPECT_EQ(distance_at({}, other, {5}), 1.0);
  EXPECT_EQ(distance_at({}, {kMissing}, {5}), 0.0);
}

TEST(Bins, ManyCategoriesAreTheMostFrequentAndOthers) {
  const Column column = categories(50);
  std::vector<double> values;
  for (std::size_t c = 0; c < 50; ++c) values.insert(values.end(), 50 - c, static_cast<double>(c));
  const Bins bins = Bins::to_draw(column, values);
  EXPECT_EQ(bins.count(), 30u);
  EXPECT_EQ(bins.labels().back(), "21 others");
  EXPECT_EQ(bins.of(49), 29u);
}

TEST(Bins, AreCutWhereTheReleaseCounts) {
  // Codes 0..49 and 50..100, sigma 3. All real values are 7: shares by width would say that half of 600 are
  // below 25.
  const Column column = number(0, 100, {0, 50, 101});
  const release::NoisyMargin margin{{600, 400}, {0, 1}, {1, 1}, 3.0};
  const std::vector<double> values{0, 25, 50, 75, 100};
  const Bins bins = Bins::to_draw(column, values, &margin);
  ASSERT_EQ(bins.count(), 2u);
  EXPECT_EQ(bins.of(49), 0u);
  EXPECT_EQ(bins.of(50), 1u);
  const Bins::Released released = bins.released(margin, 1000);
  ASSERT_TRUE(released.of[0] && released.of[1]);
  EXPECT_DOUBLE_EQ(released.of[0]->share, 0.6);
  EXPECT_DOUBLE_EQ(released.of[0]->sigma, 0.003);
  EXPECT_FALSE(released.rest);
  // Codes that were counted as one are drawn as one.
  const release::NoisyMargin grouped{{300, 300, 400}, {0, 0, 1}, {0.5, 0.5, 1}, 3.0};
  EXPECT_EQ(Bins::to_draw(number(0, 100, {0, 25, 50, 101}), values, &grouped).count(), 2u);
}

TEST(Bins, WhatIsSplitHasNoBand) {
  const Column column = number(0, 100, {0, 50, 101});
  const release::NoisyMargin margin{{600, 400}, {0, 1}, {1, 1}, 3.0};
  const Bins::Released split =
      Bins::to_draw(column, std::vector<double>{0, 25, 50, 75, 100}).released(margin, 1000);
  for (const auto& bin : split.of) EXPECT_FALSE(bin);
  EXPECT_NEAR(split.rest.value().share, 1.0, 1e-9);
  EXPECT_NEAR(split.rest.value().sigma, 3.0 * std::sqrt(2.0) / 1000, 1e-12);
  // Of categories two of three were counted together.
  const release::NoisyMargin grouped{{300, 300, 400}, {0, 0, 1}, {0.5, 0.5, 1}, 3.0};
  const Bins::Released one =
      Bins::to_draw(categories(3), std::vector<double>{0, 1, 2}).released(grouped, 1000);
  EXPECT_FALSE(one.of[0] || one.of[1]);
  EXPECT_DOUBLE_EQ(one.of[2].value().share, 0.4);
  EXPECT_DOUBLE_EQ(one.rest.value().share, 0.6);
  EXPECT_DOUBLE_EQ(one.rest.value().sigma, 0.003);
}

TEST(Bins, BandsHoldTheTruthInNineteenOfTwenty) {
  // Counts of 20 codes of five values each with noise of sigma 20, 100 times; drawn bins are several codes
  // wide or one.
  std::vector<double> edges, values;
  for (int e = 0; e <= 20; ++e) edges.push_back(5 * e + (e == 20 ? 1 : 0));
  for (int v = 0; v <= 100; ++v) values.insert(values.end(), static_cast<std::size_t>(1 + v % 5), v);
  const Column column = number(0, 100, edges);
  const auto n = static_cast<double>(values.size());
  int bands = 0, hold = 0;
  for (std::uint32_t k = 0; k < 100; ++k) {
    const CounterStream random(4, Stream::kTest, k);
    release::NoisyMargin margin{std::vector<double>(20, 0.0), {}, std::vector<double>(20, 1.0), 20.0};
    for (std::uint32_t code = 0; code < 20; ++code) margin.group.push_back(code);
    for (const double v : values)
      margin.counts[std::min<std::size_t>(19, static_cast<std::size_t>(v / 5))] += 1;
    for (std::size_t code = 0; code < 20; ++code) margin.counts[code] += 20.0 * random.normal(code);
    const std::vector<double> by{values.begin(), values.begin() + 1 + k};
    const Bins bins = Bins::to_draw(column, by, &margin);
    const auto truth = bins.shares(values);
    const Bins::Released released = bins.released(margin, n);
    for (std::size_t b = 0; b < truth.size(); ++b) {
      ASSERT_TRUE(released.of[b]);
      ++bands;
      hold += std::fabs(truth[b] - released.of[b]->share) <= 1.96 * released.of[b]->sigma ? 1 : 0;
    }
  }
  RecordProperty("bands", bands);
  RecordProperty("hold", hold);
  EXPECT_GT(bands, 300);
  EXPECT_GT(hold, 0.93 * bands);
  EXPECT_LT(hold, 0.97 * bands);
}

TEST(CramersV, IsOneOfTheSameAndZeroOfIndependentColumns) {
  const std::vector<double> same{0.5, 0, 0, 0.5}, apart{0.25, 0.25, 0.25, 0.25}, some{0.4, 0.1, 0.1, 0.4};
  EXPECT_NEAR(cramers_v(same, 2, 2, 1e6), 1.0, 1e-5);
  EXPECT_DOUBLE_EQ(cramers_v(apart, 2, 2, 1e6), 0.0);
  EXPECT_NEAR(cramers_v(some, 2, 2, 1e9), 0.6, 1e-6);  // phi of a 2 x 2 table
  EXPECT_NEAR(total_variation(some, as_independent(some, 2, 2)), 0.3, 1e-12);
}

TEST(Shapes, AreKolmogorovSmirnovAndTotalVariation) {
  Rows one, other;
  one.columns = other.columns = {number(0, 10, {0, 11}), categories(2, true)};
  one.values = {{0, 1, 2, 3}, {0, 0, 1, kMissing}};
  other.values = {{1, 2, 3, 4}, {0, 1, 1, 1}};
  one.labels = other.labels = {0, 0, 0, 0};
  const auto shapes = shapes_of(one, other);
  EXPECT_DOUBLE_EQ(shapes[0].distance, 0.25);
  EXPECT_DOUBLE_EQ(shapes[0].wasserstein, 0.1);
  EXPECT_DOUBLE_EQ(shapes[1].distance, 0.5);
}

}  // namespace
}  // namespace muffle::report
