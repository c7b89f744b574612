#include "muffle/privacy/accountant.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/expect_error.hpp"

namespace muffle::privacy {
namespace {

using test::expect_error;

struct LogCdfRow {
  double x, log_cdf;
};
struct LogDeltaRow {
  double epsilon, mu, log_delta;
};
struct CalibrationRow {
  double epsilon, delta, noise_multiplier;
};
#include "privacy/accountant_table.inc"

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Accountant, LogNormalCdfAgreesWithTheOracle) {
  for (const auto& row : kLogCdf) {
    // In the upper tail the rounding of x / sqrt(2) alone moves the result by x^2 ulp.
    const double tolerance = std::fabs(row.log_cdf) * (2e-15 + (row.x > 0 ? 3e-16 * row.x * row.x : 0.0));
    EXPECT_NEAR(log_normal_cdf(row.x), row.log_cdf, tolerance) << row.x;
  }
  EXPECT_EQ(log_normal_cdf(-kInf), -kInf);
  EXPECT_EQ(log_normal_cdf(kInf), 0.0);
}

// kLogDeltaError is what calibration relies on: the computation must be ten times better.
TEST(Accountant, LogDeltaAgreesWithTheOracle) {
  double worst = 0.0;
  for (const auto& row : kLogDelta) {
    const double error = std::fabs(log_delta(row.epsilon, row.mu) - row.log_delta);
    EXPECT_LT(error, kLogDeltaError / 10)
        << "eps " << row.epsilon << " mu " << row.mu << " log delta " << row.log_delta;
    worst = std::fmax(worst, error);
  }
  RecordProperty("worst_log_delta_error", testing::PrintToString(worst));
}

TEST(Accountant, CalibrationAgreesWithTheOracleAndRoundsUp) {
  for (const auto& row : kCalibration) {
    const double multiplier = noise_multiplier_for(row.epsilon, row.delta);
    EXPECT_GE(multiplier, row.noise_multiplier) << row.epsilon << " " << row.delta;
    EXPECT_LT(multiplier, row.noise_multiplier * (1 + 1e-11)) << row.epsilon << " " << row.delta;
    // The other two ways around: nothing is flattered, and nothing lost beyond 1e-9.
    EXPECT_LE(delta_for(row.epsilon, 1 / multiplier), row.delta);
    EXPECT_NEAR(delta_for(row.epsilon, 1 / row.noise_multiplier) / row.delta, 1.0, 1e-9);
    if (row.epsilon == kMaxEpsilon) continue;  // rounded up, the answer would leave the domain
    const double epsilon = epsilon_for(row.delta, 1 / row.noise_multiplier);
    EXPECT_GE(epsilon, row.epsilon * (1 - 1e-15)) << row.epsilon << " " << row.delta;
    EXPECT_NEAR(epsilon / row.epsilon, 1.0, 1e-9) << row.epsilon << " " << row.delta;
  }
}

// What the DP-MERF code's noise multipliers really give (it claims 1 and 0.2).
TEST(Accountant, PublishedNoiseMultipliersGiveLessThanTheyClaim) {
  EXPECT_NEAR(epsilon_for(1e-5, 1 / 5.0), 0.72552, 5e-6);
  EXPECT_NEAR(epsilon_for(1e-5, 1 / 25.0), 0.12542, 5e-6);
}

TEST(Accountant, IsMonotone) {
  std::vector<double> epsilons, deltas;
  for (int i = 0; i <= 60; ++i) epsilons.push_back(std::clamp(1e-3 * std::pow(1e5, i / 60.0), 1e-3, 100.0));
  for (int i = 0; i <= 24; ++i) deltas.push_back(std::clamp(1e-18 * std::pow(1e17, i / 24.0), 1e-18, 0.1));
  std::vector<double> at_smaller_delta(epsilons.size(), kInf);
  for (const double delta : deltas) {
    double at_smaller_epsilon = kInf;
    for (std::size_t e = 0; e < epsilons.size(); ++e) {
      const double multiplier = noise_multiplier_for(epsilons[e], delta);
      EXPECT_LT(multiplier, at_smaller_epsilon) << epsilons[e] << " " << delta;
      EXPECT_LT(multiplier, at_smaller_delta[e]) << epsilons[e] << " " << delta;
      at_smaller_epsilon = at_smaller_delta[e] = multiplier;
    }
  }
  // Across the seams between the ways of evaluation, in fine steps: no jump beyond the stated error.
  for (const double epsilon : {0.0, 1e-3, 0.1, 1.0, 10.0, 100.0}) {
    double last = -kInf;
    for (double mu = 0.01; mu < 20; mu *= 1.0003) {
      const double now = log_delta(epsilon, mu);
      EXPECT_GT(now, last - kLogDeltaError) << epsilon << " " << mu;
      last = now;
    }
  }
}

TEST(Accountant, SeveralReleasesCompose) {
  EXPECT_EQ(mu_total(std::vector<double>{3, 4}), 5.0);
  EXPECT_EQ(mu_total(std::vector<double>{0.25}), 0.25);
  const std::vector<double> many(10, 0.1);
  EXPECT_NEAR(mu_total(many), std::sqrt(0.1), 1e-15);
  EXPECT_GE(mu_total(many) * mu_total(many), 0.1);
  expect_error(ExitCode::kConfig, {"no release"}, [] { (void)mu_total(std::vector<double>{}); });
  for (const double bad : {0.0, -1.0, kNan, kInf}) {
    expect_error(ExitCode::kConfig, {"mu"}, [=] { (void)mu_total(std::vector<double>{1.0, bad}); });
  }
}

TEST(Accountant, AnyTwoGiveTheThird) {
  const Guarantee a = complete_guarantee(1.0, 1e-5, std::nullopt);
  EXPECT_NEAR(a.noise_multiplier, 3.73063163482, 1e-10);
  const Guarantee b = complete_guarantee(std::nullopt, 1e-5, a.noise_multiplier);
  EXPECT_NEAR(b.epsilon, 1.0, 1e-10);
  const Guarantee c = complete_guarantee(1.0, std::nullopt, a.noise_multiplier);
  EXPECT_NEAR(c.delta / 1e-5, 1.0, 1e-10);
  EXPECT_GE(c.delta, delta_for(1.0, 1 / a.noise_multiplier));
  for (const int given : {0, 1, 2, 4, 7}) {
    expect_error(ExitCode::kConfig, {"exactly two"}, [&] {
      (void)complete_guarantee(given & 1 ? std::optional(1.0) : std::nullopt,
                               given & 2 ? std::optional(1e-5) : std::nullopt,
                               given & 4 ? std::optional(4.0) : std::nullopt);
    });
  }
}

TEST(Accountant, RefusesAbsurdInput) {
  const double tiny = 1e-19;
  for (const double epsilon : {0.0, -1.0, kNan, kInf, 9e-4, 101.0}) {
    expect_error(ExitCode::kConfig, {"epsilon", "0.001"}, [=] { (void)noise_multiplier_for(epsilon, 1e-5); });
  }
  for (const double delta : {0.0, -1e-5, kNan, kInf, tiny, 0.2, 1.0, 2.0}) {
    expect_error(ExitCode::kConfig, {"delta", "1e-18"}, [=] { (void)noise_multiplier_for(1.0, delta); });
    expect_error(ExitCode::kConfig, {"delta", "0.1"}, [=] { (void)epsilon_for(delta, 1.0); });
  }
  for (const double mu : {0.0, -1.0, kNan, kInf}) {
    expect_error(ExitCode::kConfig, {"mu"}, [=] { (void)epsilon_for(1e-5, mu); });
    expect_error(ExitCode::kConfig, {"mu"}, [=] { (void)log_delta(1.0, mu); });
    expect_error(ExitCode::kConfig, {"noise multiplier"},
                 [=] { (void)complete_guarantee(std::nullopt, 1e-5, mu); });
  }
  expect_error(ExitCode::kConfig, {"epsilon"}, [] { (void)log_delta(-1e-9, 1.0); });
  expect_error(ExitCode::kConfig, {"epsilon"}, [] { (void)log_delta(kNan, 1.0); });
  // Noise too small for any honest claim; noise so large that eps = 0 holds.
  expect_error(ExitCode::kConfig, {"noise multiplier of 0.01"}, [] { (void)epsilon_for(1e-5, 100.0); });
  EXPECT_EQ(epsilon_for(1e-5, 1e-6), 0.0);
  // Extremes give limits, not NaN.
  EXPECT_EQ(log_delta(1.0, 1e-300), -kInf);
  EXPECT_EQ(log_delta(1.0, 1e300), 0.0);
}

}  // namespace
}  // namespace muffle::privacy
