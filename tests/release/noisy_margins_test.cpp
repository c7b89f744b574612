// What all levels of a tree of noisy counts say together, and how well; which table tells a column best.
#include "muffle/release/noisy_margins.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "release/tree_release.hpp"

namespace muffle::release {
namespace {

TEST(NoisyTree, WithoutNoiseTheCountsComeBack) {
  const std::vector<double> cells = falling(77);
  const auto tree = NoisyTree::of(tree_release(cells, 40, true, 1e-6, 0), 0);
  ASSERT_TRUE(tree);
  EXPECT_NEAR(tree->missing().records, 40, 1e-3);
  for (std::size_t x = 0; x < cells.size(); ++x) EXPECT_NEAR(tree->range(x, x + 1).records, cells[x], 1e-3);
  EXPECT_NEAR(tree->distribution().back(), 1.0, 1e-12);
  EXPECT_LT(tree->reach().most, 1e-7);
}

TEST(NoisyTree, TheAreaIsOverTheCellsWidths) {
  const auto tree = NoisyTree::of(tree_release(falling(8), 0, false, 5.0, 1), 0);
  ASSERT_TRUE(tree);
  const double even = tree->reach().area;
  EXPECT_GT(even, 0.0);
  EXPECT_LT(even, tree->reach().mean) << "nowhere farther than where it is farthest";
  std::vector<double> edges{0, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_NEAR(tree->reach(edges).area, even, 1e-12);
  edges.back() = 1e9;  // what is known of the last cell, whose end is 1, is all that counts
  EXPECT_LT(tree->reach(edges).area, 0.75 * even);
  EXPECT_DOUBLE_EQ(tree->reach(std::vector<double>(9, 5.0)).area, even) << "no width at all";
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
      NoisyTables all = tree_release(cells, 500, true, 60.0, 2 + k);
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
      const features::TreeErrors::Reach reach = tree->reach();
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

TEST(NoisyTree, ItsReachIsKnownBeforeThereAreCounts) {
  for (const std::size_t cells : {1, 2, 3, 11, 64, 77}) {
    const auto tree = NoisyTree::of(tree_release(std::vector<double>(cells, 40.0), 0, false, 3.0, 1), 0);
    std::vector<double> even(cells);
    for (std::size_t c = 0; c < cells; ++c) even[c] = static_cast<double>(c + 1) / static_cast<double>(cells);
    const auto before = features::TreeErrors::before_counting(cells, 3.0 * std::sqrt(2.0))
                            .reach(40.0 * static_cast<double>(cells), even);
    if (cells == 1) {
      EXPECT_EQ(before.mean, 0.0);
      continue;
    }
    ASSERT_TRUE(tree) << cells;
    EXPECT_NEAR(tree->reach().mean, before.mean, 1e-9) << cells;
    EXPECT_NEAR(tree->reach().most, before.most, 1e-9) << cells;
    EXPECT_NEAR(tree->reach().area, before.area, 1e-9) << cells;
  }
}

TEST(NoisyTree, AnUncountedCellIsToldOf) {
  NoisyTables all = tree_release({10, 20, 30}, 0, false, 2.0, 1);
  all.tables.pop_back();
  EXPECT_FALSE(NoisyTree::of(all, 0));
}

TEST(NoisyMargins, SumOverTheOtherColumnsAndClasses) {
  NoisyTables all;
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

}  // namespace
}  // namespace muffle::release
