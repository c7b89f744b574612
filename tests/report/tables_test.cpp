// What columns and pairs are counted by, on values that are known.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/associations.hpp"
#include "report/distances.hpp"

namespace muffle::report {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

Column number(double lo, double hi, std::vector<double> edges, bool missing = false) {
  Column out;
  out.name = "n";
  out.lo = lo;
  out.hi = hi;
  out.may_be_missing = missing;
  out.schema.emplace();
  out.schema->type = schema::ColumnType::kInteger;
  out.schema->lo = lo;
  out.schema->hi = hi;
  out.schema->edges = std::move(edges);
  out.schema->missing = missing;
  return out;
}

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

TEST(Bins, ManyCategoriesAreTheMostFrequentAndOthers) {
  const Column column = categories(50);
  std::vector<double> values;
  for (std::size_t c = 0; c < 50; ++c) values.insert(values.end(), 50 - c, static_cast<double>(c));
  const Bins bins = Bins::to_draw(column, values);
  EXPECT_EQ(bins.count(), 30u);
  EXPECT_EQ(bins.labels().back(), "21 others");
  EXPECT_EQ(bins.of(49), 29u);
}

TEST(Bins, WhatTheReleaseSaysIsSharedOutByWidth) {
  // Codes 0..49 and 50..100, one table without groups; sigma 3.
  const Column column = number(0, 100, {0, 50, 101});
  const NoisyMargin margin{{600, 400}, {0, 1}, {1, 1}, 3.0};
  const std::vector<double> values{0, 25, 50, 75, 100};
  const Bins bins = Bins::to_draw(column, values);
  const auto released = bins.released(margin, 1000);
  double sum = 0, squares = 0;
  for (const auto& [share, sigma] : released) {
    sum += share;
    squares = std::max(squares, sigma);
  }
  EXPECT_NEAR(sum, 1.0, 1e-9);
  EXPECT_LE(squares, 3.0 / 1000 + 1e-12);
  const Bins whole = Bins::to_pair(categories(2), std::vector<double>{0, 1});
  const auto each = whole.released(margin, 1000);
  EXPECT_DOUBLE_EQ(each[0].first, 0.6);
  EXPECT_DOUBLE_EQ(each[0].second, 0.003);
}

TEST(NoisyMargins, SumOverTheOtherColumnsAndClasses) {
  release::NoisyTables all;
  all.classes = 2;
  all.codes = {2, 3};
  all.tables.push_back({{0, 1}, {}, {2, 3}, {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60}, 2.0});
  all.tables.push_back({{1}, {{0, 0, 1}}, {2}, {1, 2, 3, 4}, 1.0});
  schema::Schema schema;
  schema.classes = 2;
  const auto margins = noisy_margins(all, schema);
  ASSERT_EQ(margins.size(), 3u);
  EXPECT_EQ(margins[0].counts, (std::vector<double>{66, 165}));
  EXPECT_DOUBLE_EQ(margins[0].sigma, 2 * std::sqrt(6.0));
  EXPECT_EQ(margins[1].counts, (std::vector<double>{55, 77, 99}));  // the finer table
  EXPECT_EQ(margins[2].counts, (std::vector<double>{3, 7}));        // the label's: by the least noise
  EXPECT_DOUBLE_EQ(margins[2].sigma, std::sqrt(2.0));
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
