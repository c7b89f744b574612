// What all levels of a tree of noisy counts say together, and how well.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "muffle/core/philox.hpp"
#include "report/bins.hpp"
#include "report/number_column.hpp"
#include "report/sections.hpp"

namespace muffle::report {
namespace {

/// A release of one column's tree: all levels, two classes, a missing value if asked for, noise of a standard
/// deviation.
release::NoisyTables tree_release(const std::vector<double>& cells, double missing, bool may_miss,
                                  double sigma, std::uint32_t seed) {
  const features::DyadicTree tree(cells.size());
  release::NoisyTables all;
  all.classes = 2;
  all.codes = {cells.size() + (may_miss ? 1 : 0)};
  all.grid_cells = {cells.size()};
  const CounterStream random(5, Stream::kTest, seed);
  std::uint64_t next = 0;
  for (std::size_t m = 1; m <= tree.levels; ++m) {
    release::NoisyTable table{{0}, {tree.level(m, all.codes[0])}, {}, {}, sigma};
    table.sizes = {*std::max_element(table.groups[0].begin(), table.groups[0].end()) + std::size_t{1}};
    table.counts.assign(2 * table.sizes[0], 0.0);
    for (std::size_t code = 0; code < all.codes[0]; ++code) {
      const double records = code < cells.size() ? cells[code] : missing;
      table.counts[table.groups[0][code]] += 0.25 * records;
      table.counts[table.sizes[0] + table.groups[0][code]] += 0.75 * records;
    }
    for (double& count : table.counts) count += sigma * random.normal(next++);
    all.tables.push_back(std::move(table));
  }
  all.records = missing + std::accumulate(cells.begin(), cells.end(), 0.0);
  return all;
}

std::vector<double> falling(std::size_t cells) {
  std::vector<double> out;
  for (std::size_t x = 0; x < cells; ++x)
    out.push_back(std::floor(3000 * std::exp(-static_cast<double>(x) / 9)));
  return out;
}

TEST(NoisyTree, WithoutNoiseTheCountsComeBack) {
  const std::vector<double> cells = falling(77);
  const auto tree = NoisyTree::of(tree_release(cells, 40, true, 1e-6, 0), 0);
  ASSERT_TRUE(tree);
  EXPECT_NEAR(tree->missing().records, 40, 1e-3);
  for (std::size_t x = 0; x < cells.size(); ++x) EXPECT_NEAR(tree->range(x, x + 1).records, cells[x], 1e-3);
  EXPECT_NEAR(tree->distribution().back(), 1.0, 1e-12);
  EXPECT_LT(tree->reach().most, 1e-7);
}

TEST(NoisyTree, RangesAreTheLeastSquaresAnswerWithItsOwnVariance) {
  // Three cells, {0, 1} and {2}, then each by itself; the last one is counted in both levels. All by hand:
  // with x0 + x1 + x2 = n known, unit variances of levels are 2 sigma^2 (two classes).
  const double v = 2 * 4.0;
  const auto tree = NoisyTree::of(tree_release({10, 20, 30}, 0, false, 2.0, 1), 0);
  ASSERT_TRUE(tree);
  // {0, 1} has variances v and 2 v: 2/3 v; {2} has v/2; given the sum, p q / (p + q).
  const double p = 2.0 / 3 * v, q = v / 2, both = p * q / (p + q);
  EXPECT_NEAR(tree->range(2, 3).sigma, std::sqrt(both), 1e-12);
  EXPECT_NEAR(tree->range(0, 2).sigma, std::sqrt(both), 1e-12);
  EXPECT_NEAR(tree->range(0, 1).sigma, std::sqrt(both / 4 + v / 2), 1e-12);
  EXPECT_NEAR(tree->range(0, 3).sigma, 0.0, 1e-12);
  EXPECT_NEAR(tree->range(0, 3).records, 60.0, 1e-9);
}

TEST(NoisyTree, BandsHoldTheTruthInNineteenOfTwenty) {
  const std::vector<double> cells = falling(77);
  const double there = std::accumulate(cells.begin(), cells.end(), 0.0);
  for (const bool known : {true, false}) {
    int ranges = 0, hold = 0, everywhere = 0;
    double farthest = 0, expected = 0;
    constexpr int kReleases = 300;
    for (std::uint32_t k = 0; k < kReleases; ++k) {
      release::NoisyTables all = tree_release(cells, 500, true, 60.0, 2 + k);
      all.records_known = known;
      const auto tree = NoisyTree::of(all, 0);
      ASSERT_TRUE(tree);
      for (const auto& [first, last] : {std::pair<std::size_t, std::size_t>{0, 5}, {3, 40}, {50, 77}}) {
        const NoisyTree::Count count = tree->range(first, last);
        const double truth = std::accumulate(cells.begin() + static_cast<std::ptrdiff_t>(first),
                                             cells.begin() + static_cast<std::ptrdiff_t>(last), 0.0);
        ++ranges;
        hold += std::fabs(count.records - truth) <= 1.96 * count.sigma ? 1 : 0;
      }
      const std::vector<double> told = tree->distribution();
      double most = 0, below = 0;
      for (std::size_t x = 0; x < cells.size(); ++x)
        most = std::max(most, std::fabs((below += cells[x]) / there - told[x]));
      const NoisyTree::Reach reach = tree->reach();
      farthest += most / kReleases;
      expected += reach.mean / kReleases;
      everywhere += most <= reach.most ? 1 : 0;
    }
    EXPECT_GT(hold, 0.93 * ranges);  // standard deviation 0.007: one in 200 at a margin of 0.02
    EXPECT_LT(hold, 0.97 * ranges);
    EXPECT_GT(everywhere, 0.91 * kReleases);
    EXPECT_LT(everywhere, 0.99 * kReleases);
    EXPECT_NEAR(farthest, expected, 0.05 * expected);
  }
}

TEST(NoisyTree, AnUncountedCellIsToldOf) {
  release::NoisyTables all = tree_release({10, 20, 30}, 0, false, 2.0, 1);
  all.tables.pop_back();
  EXPECT_FALSE(NoisyTree::of(all, 0));
}

TEST(NoisyTree, DrownedCellsAreDrawnTogetherAndKeepTheTruth) {
  // 64 cells of 50 records, noise of 60 in each: no cell is told, sums of them are.
  const std::vector<double> cells(64, 50.0);
  const release::NoisyTables all = tree_release(cells, 0, false, 60.0, 9);
  schema::Schema schema;
  schema.classes = 1;
  const auto margins = noisy_margins(all, schema);
  ASSERT_TRUE(margins[0].tree);
  std::vector<double> edges, values;
  for (int e = 0; e <= 64; ++e) edges.push_back(e);
  for (int v = 0; v < 64; ++v) values.insert(values.end(), 50, v);
  const Bins bins = Bins::to_draw(number(0.0, 63.0, edges), values, &margins[0]);
  EXPECT_GE(bins.count(), 2u);
  EXPECT_LT(bins.count(), 20u);
  const Bins::Released released = bins.released(margins[0], all.records);
  const auto truth = bins.shares(values);
  for (std::size_t b = 0; b < bins.count(); ++b) {
    ASSERT_TRUE(released.of[b]);
    EXPECT_NEAR(released.of[b]->share, truth[b], 4 * released.of[b]->sigma);
    EXPECT_GE(released.of[b]->share, 2 * released.of[b]->sigma);
  }
}

TEST(NoiseFindings, ALearnedColumnIsJudgedByItsDistributionFunction) {
  // 64 cells of 300 records: of cells noise displaces a tenth, of the function little.
  const std::vector<double> cells(64, 300.0);
  std::vector<double> edges;
  for (int e = 0; e <= 64; ++e) edges.push_back(e);
  PublicMaterial m;
  const auto judged = [&](double sigma, double farthest_right) {
    const release::NoisyTables all = tree_release(cells, 0, false, sigma, 11);
    schema::Schema schema;
    schema.classes = 1;
    m.noisy = noisy_margins(all, schema);
    m.records = all.records;
    m.samples.emplace();
    m.samples->columns = {number(0, 63, edges)};
    m.samples->values.emplace_back();
    for (double v = 0; v <= farthest_right; ++v)
      m.samples->values[0].insert(m.samples->values[0].end(), 300, v);
    m.samples->labels.assign(m.samples->values[0].size(), 0);
    std::pair<std::vector<std::string>, std::vector<std::string>> out;
    quality_by_noise(m, out.first, out.second);
    return out;
  };
  const auto as_released = judged(40.0, 63);
  EXPECT_TRUE(as_released.second.empty());
  ASSERT_EQ(as_released.first.size(), 2u);
  EXPECT_NE(as_released.first[0].find("share of records below any value"), std::string::npos);
  const auto elsewhere = judged(40.0, 31);  // half of them are missing on the right
  ASSERT_EQ(elsewhere.second.size(), 1u);
  EXPECT_NE(elsewhere.second[0].find("depart from the release"), std::string::npos);
  const auto drowned = judged(4000.0, 63);
  ASSERT_FALSE(drowned.second.empty());
  EXPECT_NE(drowned.second[0].find("moves the share of records below some value"), std::string::npos);
  // Where noise is all there is, that samples follow it is no praise.
  for (const std::string& praise : drowned.first)
    EXPECT_EQ(praise.find("follow the release"), std::string::npos);
  EXPECT_NE(as_released.first[1].find("In 1 of 1 columns with learned bins samples follow the release"),
            std::string::npos)
      << as_released.first[1];
}

/// What the columns' section says of 64 values, 300 records of each.
std::string columns_of_a_release(bool learned) {
  const release::NoisyTables tree = tree_release(std::vector<double>(64, 300.0), 0, false, 40.0, 11);
  release::NoisyTables all = tree;
  if (!learned) {
    all.tables = {tree.tables.back()};  // every value by itself
    all.tables.front().groups.clear();
    all.grid_cells.clear();
  }
  std::vector<double> edges;
  for (int e = 0; e <= 64; ++e) edges.push_back(e);
  PublicMaterial m;
  schema::Schema schema;
  schema.classes = 1;
  schema.table = std::make_shared<schema::Table>();
  m.noisy = noisy_margins(all, schema);
  m.records = all.records;
  m.verification.artifact.emplace().schema = schema;
  m.samples.emplace();
  m.samples->columns = {number(0, 63, edges)};
  m.samples->values.emplace_back();
  for (double v = 0; v < 64; ++v) m.samples->values[0].insert(m.samples->values[0].end(), 300, v);
  m.samples->labels.assign(m.samples->values[0].size(), 0);
  Page page;
  public_columns(m, page);
  return page.html();
}

TEST(ColumnsSection, WhatBinsByHandAreKnownToIsNoColumn) {
  const std::string learned = columns_of_a_release(true), by_hand = columns_of_a_release(false);
  for (const std::string* const html : {&learned, &by_hand}) {
    EXPECT_NE(html->find("of which the noise alone makes"), std::string::npos);
    EXPECT_NE(html->find("Total variation: 0 the same"), std::string::npos);
  }
  EXPECT_NE(learned.find("known to"), std::string::npos);
  EXPECT_EQ(by_hand.find("nown to"), std::string::npos) << "neither the column nor the note on it";
}

}  // namespace
}  // namespace muffle::report
