#include "pair_graph/noisy_counts.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "muffle/core/philox.hpp"

namespace muffle::pair_graph {
namespace {

constexpr double kSigma = 40.0;

Eigen::VectorXd noise(Eigen::Index codes) {
  const CounterStream random(5, Stream::kTest);
  Eigen::VectorXd out(codes);
  for (Eigen::Index x = 0; x < codes; ++x) out(x) = kSigma * random.normal(static_cast<std::uint64_t>(x));
  return out;
}

/// What smoothing leaves of the noise's energy, the truth's mean known.
double left_of_noise(const Eigen::VectorXd& truth) {
  const Eigen::VectorXd drawn = noise(truth.size());
  const NoisyCounts out = smoothed({truth + drawn, kSigma * kSigma});
  return (out.counts - truth).squaredNorm() / drawn.squaredNorm();
}

Eigen::VectorXd years_of_age(Eigen::Index codes) {
  return Eigen::VectorXd::NullaryExpr(codes, [&](Eigen::Index x) {
    const double at =
        (static_cast<double>(x) - 0.4 * static_cast<double>(codes)) / (0.25 * static_cast<double>(codes));
    return 600 * std::exp(-at * at / 2);
  });
}

TEST(NoisyCounts, NeighboursTellOfEachOther) {
  const Eigen::VectorXd truth = years_of_age(74);
  EXPECT_LT(left_of_noise(truth), 0.4);
  const NoisyCounts out = smoothed({truth + noise(74), kSigma * kSigma});
  EXPECT_LT(out.variance, 0.4 * kSigma * kSigma);
  EXPECT_NEAR(out.counts.sum(), (truth + noise(74)).sum(), 1e-6);
}

TEST(NoisyCounts, WhatHasNoOrderStaysAsItIs) {
  const CounterStream random(6, Stream::kTest);
  Eigen::VectorXd truth(42);
  for (Eigen::Index x = 0; x < truth.size(); ++x)
    truth(x) = 3000 * std::pow(random.uniform(static_cast<std::uint64_t>(x)), 6);
  EXPECT_LT(left_of_noise(truth), 1.1);
  EXPECT_GT(smoothed({truth + noise(42), kSigma * kSigma}).variance, 0.9 * kSigma * kSigma);
}

TEST(NoisyCounts, NoiseAloneBecomesFlat) {
  const Eigen::VectorXd none = Eigen::VectorXd::Zero(60);
  EXPECT_LT(left_of_noise(none), 0.25);
}

TEST(NoisyCounts, FewCodesAndNoNoiseStayToTheBit) {
  for (const Eigen::Index codes : {1, 2, 7}) EXPECT_EQ(smoothed({noise(codes), 4.0}).counts, noise(codes));
  EXPECT_EQ(smoothed({noise(20), 0.0}).counts, noise(20));
  // Nor does a count beyond all others spoil the rest.
  Eigen::VectorXd spike = noise(20);
  spike(19) = 1e9;
  EXPECT_TRUE(smoothed({spike, 1e-6}).counts.allFinite());
}

}  // namespace
}  // namespace muffle::pair_graph
