#include "pair_graph/short_tails.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace muffle::pair_graph {
namespace {

using Eigen::Index;
using features::DyadicTree;

/// 64 cells of 10 values: 1,000 records in each of the first 16, and `far` in each of the others.
struct Number {
  DyadicTree tree{64};
  TreeLaw known;
  Eigen::VectorXd law = Eigen::VectorXd::Zero(65);
  std::vector<double> widths = std::vector<double>(64, 10.0);

  explicit Number(double far, double noise = 100) {
    known.precision.assign(tree.nodes.size(), 1 / (noise * noise));
    for (Index x = 0; x < 64; ++x) law(x) = x < 16 ? 1000 : far;
    law(64) = 77;  // missing
  }
  std::vector<Tail> tails() const { return short_tails(law, known, tree, widths); }
};

std::vector<std::uint32_t> one_group() { return std::vector<std::uint32_t>(65, 0); }

TEST(ShortTails, NoiseBehindTheLastRecordsIsDrawnTogether) {
  Number number(4);  // 192 records in 48 cells, of noise of 141 (of 16 and 32 cells)
  const Eigen::VectorXd before = number.law;
  const std::vector<Tail> tails = number.tails();
  ASSERT_EQ(tails.size(), 1u);
  EXPECT_EQ(tails[0].cells.size(), 48u);
  EXPECT_EQ(tails[0].cells.front(), 16u);
  number.law = laid_out(tails, one_group(), number.law);
  EXPECT_NEAR(number.law.sum(), before.sum(), 1e-9);
  EXPECT_EQ(number.law.head(16), before.head(16));
  EXPECT_EQ(number.law(64), 77);
  // It begins with the density before it: 100 records a value, half of them within two values or so. Three in
  // 100 stay.
  EXPECT_GT(number.law(16), 180);
  EXPECT_NEAR(number.law(20), 0.03 * 4, 1e-3);
}

TEST(ShortTails, EachGroupKeepsItsRecords) {
  Number number(4);
  std::vector<std::uint32_t> groups = one_group();
  for (std::size_t x = 40; x < 64; ++x) groups[x] = 1;  // pairs counted these together
  const Eigen::VectorXd law = laid_out(number.tails(), groups, number.law);
  EXPECT_NEAR(law.segment(16, 24).sum(), 96, 1e-9);
  EXPECT_NEAR(law.segment(40, 24).sum(), 96, 1e-9);
  EXPECT_GT(law(16), 90);
  EXPECT_GT(law(40), 90) << "as near as the group allows";
}

TEST(ShortTails, WhatWasCountedStays) {
  EXPECT_TRUE(Number(10).tails().empty() || Number(10).tails()[0].cells.size() < 48)
      << "480 records are some";
  Number spike(0);
  spike.law(63) = 500;
  EXPECT_TRUE(spike.tails().empty()) << "five times the noise, at the end";
  EXPECT_TRUE(Number(0).tails().empty()) << "nothing to draw together";
  EXPECT_TRUE(Number(4, 1e-3).tails().empty()) << "no noise";
}

TEST(ShortTails, ASpikeSaysNothingOfWhatLiesBesideIt) {
  Number number(0);
  number.law.setZero();
  number.law(0) = 16000;
  for (Index x = 1; x < 64; ++x) number.law(x) = 3;
  number.widths[0] = 1;
  EXPECT_TRUE(number.tails().empty());
  number.widths[0] = 10;
  EXPECT_EQ(number.tails().size(), 1u) << "the same, of ten values";
}

TEST(ShortTails, BothEndsHaveThem) {
  Number number(2);
  for (Index x = 0; x < 64; ++x) number.law(x) = x >= 30 && x < 40 ? 2000 : 2;
  const std::vector<Tail> tails = number.tails();
  ASSERT_EQ(tails.size(), 2u);
  EXPECT_EQ(tails[0].cells.front(), 29u);
  EXPECT_EQ(tails[1].cells.front(), 40u);
  number.law = laid_out(tails, one_group(), number.law);
  EXPECT_GT(number.law(29), number.law(28));
  EXPECT_NEAR(number.law.head(30).sum(), 60, 1e-9);
  EXPECT_NEAR(number.law.segment(40, 24).sum(), 48, 1e-9);
}

}  // namespace
}  // namespace muffle::pair_graph
