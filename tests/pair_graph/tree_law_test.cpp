#include "pair_graph/tree_law.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "muffle/core/philox.hpp"
#include "pair_graph/spikes.hpp"
#include "pair_graph/split_prior.hpp"

namespace muffle::pair_graph {
namespace {

using features::DyadicTree;

/// Noisy counts of all nodes but the root, of one standard deviation.
TreeCounts observed(const DyadicTree& tree, const std::vector<double>& cells, double sigma,
                    std::uint64_t seed) {
  TreeCounts out;
  out.tree = &tree;
  const CounterStream random(seed, Stream::kTest, 3);
  for (std::size_t v = 0; v < tree.nodes.size(); ++v) {
    const auto first = cells.begin() + tree.nodes[v].first, last = cells.begin() + tree.nodes[v].last;
    out.counts.push_back(std::accumulate(first, last, 0.0) + sigma * random.normal(v));
    out.precision.push_back(v == 0 ? 0.0 : 1 / (sigma * sigma));
  }
  out.records = std::accumulate(cells.begin(), cells.end(), 0.0);
  return out;
}

/// Largest difference of the two distribution functions at the cells' ends.
double ks(const DyadicTree& tree, const TreeLaw& law, const std::vector<double>& cells) {
  double one = 0, other = 0, most = 0, all = std::accumulate(cells.begin(), cells.end(), 0.0);
  for (std::size_t x = 0; x < cells.size(); ++x) {
    one += cells[x] / all;
    other += law.nodes[tree.leaf[x]] / law.nodes[0];
    most = std::max(most, std::fabs(one - other));
  }
  return most;
}

/// Half of the records in the first cell, others falling off, and a spike far out.
std::vector<double> spiky(std::size_t cells, double records) {
  std::vector<double> out(cells);
  for (std::size_t x = 0; x < cells; ++x) out[x] = std::exp(-static_cast<double>(x) / 12);
  const double sum = std::accumulate(out.begin(), out.end(), 0.0);
  for (double& n : out) n *= 0.4 * records / sum;
  out[0] += 0.5 * records;
  out[cells * 3 / 4] += 0.1 * records;
  return out;
}

TEST(TreeLaw, WithoutNoiseTheCellsComeBack) {
  const std::vector<double> cells = spiky(77, 10000);
  const DyadicTree tree(cells.size());
  const std::vector<TreeLaw> laws = tree_laws({observed(tree, cells, 1e-3, 1)}, {});
  for (std::size_t x = 0; x < cells.size(); ++x)
    EXPECT_NEAR(laws[0].nodes[tree.leaf[x]], cells[x], 0.05 + 1e-3 * cells[x]) << x;
}

TEST(TreeLaw, NodesAddUpAndNoneIsNegative) {
  const std::vector<double> cells = spiky(100, 2000);
  const DyadicTree tree(cells.size());
  const std::vector<TreeLaw> laws = tree_laws({observed(tree, cells, 60, 2)}, {});
  for (std::size_t v = 0; v < tree.nodes.size(); ++v) {
    EXPECT_GE(laws[0].nodes[v], 0.0);
    if (!tree.nodes[v].is_cell()) {
      EXPECT_NEAR(laws[0].nodes[v], laws[0].nodes[tree.nodes[v].left] + laws[0].nodes[tree.nodes[v].right],
                  1e-6);
    }
  }
  EXPECT_NEAR(laws[0].nodes[0], 2000.0, 1e-9);
}

TEST(TreeLaw, UnderNoiseHeavyTailsAndSpikesAreStillThere) {
  double learned = 0, counted = 0, far = 0;
  constexpr int kNoises = 10;
  for (std::uint64_t seed = 1; seed <= kNoises; ++seed) {
    const std::vector<double> cells = spiky(200, 5000);
    const DyadicTree tree(cells.size());
    const TreeCounts noisy = observed(tree, cells, 100, seed);
    const TreeLaw law = tree_laws({noisy}, {}).front();
    learned += ks(tree, law, cells) / kNoises;
    far += law.nodes[tree.leaf[150]] / kNoises;
    TreeLaw raw = law;  // what the cells' own counts say
    for (const std::size_t v : tree.leaf) raw.nodes[v] = std::max(0.0, noisy.counts[v]);
    raw.nodes[0] = 0;
    for (const std::size_t v : tree.leaf) raw.nodes[0] += raw.nodes[v];
    counted += ks(tree, raw, cells) / kNoises;
  }
  EXPECT_LT(learned, 0.045);
  EXPECT_LT(learned, counted / 4);
  EXPECT_GT(far, 300) << "a spike of 500 stays one: smoothed away it would have 3";
}

TEST(TreeLaw, MissingValuesAreTheRest) {
  const std::vector<double> cells = spiky(40, 3000);
  const DyadicTree tree(cells.size());
  TreeCounts noisy = observed(tree, cells, 1, 4);
  noisy.may_miss = true;
  noisy.records = 4000;
  noisy.missing = 1003;
  noisy.missing_precision = 1.0 / 9;
  const TreeLaw law = tree_laws({noisy}, {}).front();
  EXPECT_NEAR(law.missing, 1000, 4);
  EXPECT_NEAR(law.missing + law.nodes[0], 4000, 1e-9);
}

TEST(TreeLaw, ALawIsLikeTheOneThatItIsThoughtToBeLikeWhereNoiseHidesIt) {
  const std::vector<double> cells = spiky(60, 400);
  const DyadicTree tree(cells.size());
  std::vector<TreeCounts> alone, like;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    alone.push_back(observed(tree, cells, 60, 10 + seed));
    like.push_back(alone.back());
    for (std::size_t v = 0; v < tree.nodes.size(); ++v) {
      const auto first = cells.begin() + tree.nodes[v].first, last = cells.begin() + tree.nodes[v].last;
      like.back().like.push_back(std::accumulate(first, last, 0.0));
    }
  }
  double by_itself = 0, with = 0;
  for (const TreeLaw& law : tree_laws(alone, {})) by_itself += ks(tree, law, cells);
  for (const TreeLaw& law : tree_laws(like, {})) with += ks(tree, law, cells);
  EXPECT_LT(with, 0.75 * by_itself);
}

/// Means over releases: noise is a fiftieth of all records, and four times what lies beside the spike.
TEST(TreeLaw, AValueThatNearlyAllRecordsHaveKeepsThem) {
  constexpr int kNoises = 10;
  for (const std::size_t at : {0u, 77u, 199u}) {
    std::vector<double> cells(200, 25.0 / 199);
    cells[at] = 4975;
    const DyadicTree tree(cells.size());
    double kept = 0;
    for (std::uint64_t seed = 1; seed <= kNoises; ++seed)
      kept += tree_laws({observed(tree, cells, 100, seed)}, {}).front().nodes[tree.leaf[at]] / kNoises;
    EXPECT_GT(kept, 4900) << at;
  }
}

TEST(TreeLaw, WhatIsPlainlyBesideASpikeStaysThere) {
  constexpr int kNoises = 10;
  std::vector<double> cells(200, 0.0);
  cells[0] = 4000;
  for (std::size_t x = 100; x < 150; ++x) cells[x] = 20;
  const DyadicTree tree(cells.size());
  double spike = 0, upper = 0;
  for (std::uint64_t seed = 1; seed <= kNoises; ++seed) {
    const TreeLaw law = tree_laws({observed(tree, cells, 100, seed)}, {}).front();
    spike += law.nodes[tree.leaf[0]] / kNoises;
    for (std::size_t x = 100; x < 150; ++x) upper += law.nodes[tree.leaf[x]] / kNoises;
  }
  EXPECT_NEAR(spike, 4000, 60);
  EXPECT_NEAR(upper, 1000, 60);
}

TEST(Spikes, ASplitOfTwoCellsIsWeighedAsBayesSays) {
  const DyadicTree tree(2);
  const double p = 0.0004, q = 0.0003, split = -1.3, before = 0.2;
  const std::vector<double> precision{p + q, p, q};
  const auto chances_of = [&](double left, double right) {
    const std::vector<double> counts{left + right, left, right};
    return Spikes(tree, counts, precision).chances({100, 60, 40}, {split, 0, 0}, {before}).here[0];
  };
  const auto expected = [&](double left, double right) {
    const double one = before * (std::exp(left) + std::exp(right)) / 2;
    return one / (one + (1 - before) * std::exp(split));
  };
  // All 100 left: the halves' counts, 90 and 5, are 10 and 5 off; all right: 90 and 95. How far the counts'
  // sum is from 100 says nothing of the split.
  const double sum_off = 5 * 5 / (1 / p + 1 / q);
  const double left = -(10 * 10 * p + 5 * 5 * q - sum_off) / 2,
               right = -(90 * 90 * p + 95 * 95 * q - sum_off) / 2;
  EXPECT_NEAR(chances_of(90, 5), expected(left, right), 1e-12);
  // Counts that nothing makes likely: beyond what is possible three standard deviations count.
  EXPECT_NEAR(chances_of(900, -700), expected(-4.5, -1e9), 1e-12);

  const std::vector<double> counts{95, 90, 5};
  const Spikes spikes(tree, counts, precision);
  const Spikes::Chances chances = spikes.chances({100, 60, 40}, {split, 0, 0}, {before});
  const double here = chances.here[0];
  EXPECT_NEAR(chances.reached[1], 1 - here, 1e-12);
  const std::vector<double> mean = spikes.mean({100, 60, 40}, chances);
  const double in_left = std::exp(left) / (std::exp(left) + std::exp(right));
  EXPECT_NEAR(mean[1], here * 100 * in_left + (1 - here) * 60, 1e-9);
  EXPECT_NEAR(mean[1] + mean[2], 100, 1e-9);
}

TEST(TreeLaw, TheVarianceOfARangeIsThatOfItsNodes) {
  const DyadicTree tree(8);
  const TreeLaw law = tree_laws({observed(tree, std::vector<double>(8, 10.0), 2, 1)}, {}).front();
  // Upward: a cell 4, a pair 1 / (1/4 + 1/8) = 8/3, four 1 / (1/4 + 3/16) = 16/7.
  EXPECT_NEAR(law.variance(tree, 0, 1), 4.0, 1e-9);
  EXPECT_NEAR(law.variance(tree, 2, 4), 8.0 / 3, 1e-9);
  EXPECT_NEAR(law.variance(tree, 0, 7), 16.0 / 7 + 8.0 / 3 + 4, 1e-9);
}

TEST(SplitPrior, WhatIsExpectedCanBeNextToNothing) {
  const SplitPrior prior;
  for (const double share : {0.001, 0.01, 0.5, 0.999}) {
    const SplitPrior::Reading reading = prior.read(0.5, 1000.0, share);  // nothing was counted
    for (std::size_t k = 5; k < 9; ++k)
      EXPECT_NEAR(reading.share[k] / reading.evidence[k], share, 0.1 * share) << "law " << k;
  }
}

/// The integrals over the cells of theta, by many points in each.
TEST(SplitPrior, IntegratesAsManyPointsDo) {
  const SplitPrior prior;
  constexpr int kPoints = 400;
  for (const double sd : {0.004, 0.05, 0.7, 40.0}) {
    for (const double m : {0.0, 0.03, 0.5, 0.98}) {
      const SplitPrior::Reading reading = prior.read(m, sd, 0.31);
      double evidence = 0, share = 0;  // of the uniform law, which is the fifth
      for (std::size_t cell = 0; cell < SplitPrior::kCells; ++cell) {
        const auto edge = [](std::size_t e) {
          if (e == 0 || e == SplitPrior::kCells) return e == 0 ? 0.0 : 1.0;
          return 1 / (1 + std::exp(9.0 - 18.0 * static_cast<double>(e) / SplitPrior::kCells));
        };
        const double from = edge(cell), width = edge(cell + 1) - from;
        for (int i = 0; i < kPoints; ++i) {
          const double theta = from + width * (i + 0.5) / kPoints, t = (theta - m) / sd;
          evidence += width / kPoints * std::exp(-t * t / 2);
          share += width / kPoints * theta * std::exp(-t * t / 2);
        }
      }
      EXPECT_NEAR(reading.evidence[4], evidence, 1e-4 * evidence) << m << " +- " << sd;
      EXPECT_NEAR(reading.share[4], share, 1e-4 * evidence) << m << " +- " << sd;
      EXPECT_NEAR(reading.evidence[SplitPrior::kLaws - 2], std::exp(-m * m / (2 * sd * sd)), 1e-12);
      EXPECT_EQ(reading.share[SplitPrior::kLaws - 2], 0.0) << "all in the right half";
    }
  }
}

}  // namespace
}  // namespace muffle::pair_graph
