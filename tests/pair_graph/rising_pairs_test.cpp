// Numbers that rise together: normal copulas of tables, and what noise leaves of them.
#include "pair_graph/rising_pairs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "muffle/core/philox.hpp"

namespace muffle::pair_graph {
namespace {

using Eigen::Index;

Eigen::VectorXd even_groups(Index groups, double records) {
  return Eigen::VectorXd::Constant(groups, records / static_cast<double>(groups));
}

/// The correlation of the groups' numbers.
double correlation(const Eigen::MatrixXd& table) {
  const double n = table.sum();
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (Index i = 0; i < table.rows(); ++i) {
    for (Index j = 0; j < table.cols(); ++j) {
      const double share = table(i, j) / n, a = static_cast<double>(i), b = static_cast<double>(j);
      x += share * a;
      y += share * b;
      xx += share * a * a;
      yy += share * b * b;
      xy += share * a * b;
    }
  }
  return (xy - x * y) / std::sqrt((xx - x * x) * (yy - y * y));
}

/// 4,000 records of two numbers in 10 groups each, whose copula is the k-th; noise in every cell.
NoisyInteraction noisy_pair(int k, double sigma, std::uint32_t seed) {
  constexpr double kOfNumbers = 4000;
  const Eigen::VectorXd each = even_groups(10, kOfNumbers);
  Eigen::MatrixXd measured = kOfNumbers * NormalTables(each, each).of(k);
  const CounterStream random(seed, Stream::kTest, 9);
  for (Index i = 0; i < measured.size(); ++i)
    measured(i) += sigma * random.normal(static_cast<std::uint64_t>(i));
  measured.colwise() -= measured.rowwise().mean().eval();
  measured.rowwise() -= measured.colwise().mean().eval();
  return {0, 1, measured, sigma, each, each};
}

TEST(NormalTables, AreThoseOfTwoNormalNumbers) {
  Eigen::VectorXd first(4), second(3);
  first << 10, 40, 25, 25;  // half below the second threshold
  second << 30, 20, 50;
  const NormalTables tables(first, second);
  for (int k = 0; k < NormalTables::kCorrelations; ++k) {
    const Eigen::MatrixXd all = tables.of(k) + first * second.transpose() / (first.sum() * second.sum());
    EXPECT_LT(tables.of(k).rowwise().sum().cwiseAbs().maxCoeff(), 1e-12);
    EXPECT_LT(tables.of(k).colwise().sum().cwiseAbs().maxCoeff(), 1e-12);
    EXPECT_GT(all.minCoeff(), -1e-3) << NormalTables::correlation(k);
    // Both below their medians: Sheppard's 1/4 + asin(rho) / 2 pi.
    const double rho = NormalTables::correlation(k);
    EXPECT_NEAR(all.topLeftCorner(2, 2).sum(), 0.25 + std::asin(rho) / (2 * std::numbers::pi), 1e-4) << rho;
  }
  EXPECT_LT(tables.of(NormalTables::kCorrelations / 2).cwiseAbs().maxCoeff(), 1e-15) << "independent";
}

TEST(RisingTogether, IsKnownWhereCellsAreNot) {
  constexpr int kStrong = 35, kNothing = 20;  // of 0.995, and of 0
  const std::vector<Order> numbers{Order::kNumbers, Order::kNumbers};
  std::vector<NoisyInteraction> pairs;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    pairs.push_back(noisy_pair(kStrong, 40, seed));
    pairs.push_back(noisy_pair(kNothing, 40, 100 + seed));
  }
  const std::vector<Interaction> made = rising_together(pairs, numbers, {});
  const Eigen::MatrixXd independent = even_groups(10, 4000) * even_groups(10, 1).transpose();
  const Eigen::MatrixXd truth =
      independent + 4000 * NormalTables(even_groups(10, 1), even_groups(10, 1)).of(kStrong);
  for (std::size_t p = 0; p < pairs.size(); p += 2) {
    EXPECT_TRUE(made[p].is_seen());
    EXPECT_NEAR(correlation(independent + made[p].mean), correlation(truth), 0.02);
    EXPECT_LT(made[p + 1].mean.norm(), 0.3 * pairs[p + 1].measured.norm()) << "noise alone";
  }
}

TEST(RisingTogether, FallingIsSeenToo) {
  const std::vector<Interaction> made =
      rising_together({noisy_pair(10, 20, 3)}, {Order::kNumbers, Order::kNumbers}, {});
  const Eigen::MatrixXd independent = even_groups(10, 4000) * even_groups(10, 1).transpose();
  EXPECT_LT(correlation(independent + made[0].mean), -0.9);
}

TEST(RisingTogether, MissingValuesAndCategoriesHaveNoPartInIt) {
  const std::vector<NoisyInteraction> pair{noisy_pair(35, 20, 5)};
  const std::vector<Interaction> made =
      rising_together(pair, {Order::kNumbersAndMissing, Order::kNumbers}, {});
  EXPECT_EQ(made[0].mean.row(9).cwiseAbs().maxCoeff(), 0.0);
  EXPECT_GT(made[0].mean.topRows(9).norm(), 100.0);
  EXPECT_EQ(rising_together(pair, {Order::kNone, Order::kNumbers}, {})[0].mean.size(), 0);
}

}  // namespace
}  // namespace muffle::pair_graph
