#include "muffle/privacy/audit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/expect_error.hpp"

namespace muffle::privacy {
namespace {

using test::expect_error;

/// P(Bin(n, p) <= k), term by term.
double binomial_cdf(std::uint64_t k, std::uint64_t n, double p) {
  long double sum = 0;
  for (std::uint64_t i = 0; i <= k; ++i) {
    const auto x = static_cast<double>(i), m = static_cast<double>(n);
    sum +=
        std::exp(static_cast<long double>(std::lgamma(m + 1) - std::lgamma(x + 1) - std::lgamma(m - x + 1) +
                                          x * std::log(p) + (m - x) * std::log1p(-p)));
  }
  return static_cast<double>(sum);
}

TEST(ClopperPearson, IsWhereTheBinomialTailReachesAlpha) {
  for (const std::uint64_t n : {1ull, 10ull, 200ull, 100'000ull}) {
    for (const double share : {0.0, 0.001, 0.3, 0.5, 0.9, 0.999}) {
      const auto k = static_cast<std::uint64_t>(share * static_cast<double>(n));
      if (k == n) continue;
      for (const double alpha : {0.05, 1e-4, 1e-9}) {
        const double upper = clopper_pearson_upper(k, n, alpha);
        EXPECT_GT(upper, static_cast<double>(k) / static_cast<double>(n));
        // Not below it, and a little lower is not enough (near 1 doubles are 1e-16 apart).
        const double lower = upper - 4e-16 - 1e-6 * upper * (1 - upper);
        EXPECT_LE(binomial_cdf(k, n, upper), alpha * (1 + 1e-6)) << k << " of " << n << " at " << alpha;
        EXPECT_GE(binomial_cdf(k, n, lower), alpha) << k << " of " << n << " at " << alpha;
      }
    }
  }
  // In closed form.
  EXPECT_NEAR(clopper_pearson_upper(0, 100, 0.05), 1 - std::pow(0.05, 0.01), 1e-14);
  EXPECT_NEAR(clopper_pearson_upper(99, 100, 0.05), std::pow(0.95, 0.01), 1e-12);
  EXPECT_EQ(clopper_pearson_upper(7, 7, 0.01), 1.0);
  expect_error(ExitCode::kInvariant, {"bug"}, [] { (void)clopper_pearson_upper(8, 7, 0.01); });
}

std::vector<double> repeated(double low, std::size_t lows, double high, std::size_t highs) {
  std::vector<double> v(lows, low);
  v.insert(v.end(), highs, high);
  return v;
}

TEST(AuditBound, ConvertsErrorRates) {
  // 30.9 % errors each way is what N(0, 1) and N(1, 1) have at the threshold 1/2.
  const std::size_t n = 1'000'000, errors = 308'538;
  const std::vector<AuditScores> scores{
      {"made up", repeated(0, n - errors, 1, errors), repeated(0, errors, 1, n - errors)}};
  const std::vector<double> thresholds{0.5};
  const AuditBound bound = audit_bound(scores, thresholds, 1e-5, 0.99);
  EXPECT_LT(bound.mu, 1.0);
  EXPECT_GT(bound.mu, 0.99);
  EXPECT_NEAR(bound.epsilon_any, std::log((1 - 0.308538) / 0.308538), 0.01);
  ASSERT_EQ(bound.findings.size(), 1u);
  EXPECT_EQ(bound.findings[0].false_positives, errors);
  EXPECT_EQ(bound.findings[0].false_negatives, errors);
  EXPECT_GT(bound.findings[0].false_positive_rate, 0.308538);

  // More attacks or thresholds, or more confidence, only lower what may be said.
  const std::vector<double> three{0.5, 10.0, -10.0};
  EXPECT_LT(audit_bound(scores, three, 1e-5, 0.99).mu, bound.mu);
  EXPECT_LT(audit_bound(scores, thresholds, 1e-5, 0.999).mu, bound.mu);
}

TEST(AuditBound, FindsNothingWhereThereIsNothing) {
  const std::vector<double> thresholds{0.5};
  const std::vector<std::vector<AuditScores>> useless{
      {{"coin", repeated(0, 500, 1, 500), repeated(0, 500, 1, 500)}},
      {{"always no", repeated(0, 1000, 1, 0), repeated(0, 1000, 1, 0)}},
      {{"always yes", repeated(0, 0, 1, 1000), repeated(0, 0, 1, 1000)}},
      {{"the wrong way round", repeated(0, 0, 1, 1000), repeated(0, 1000, 1, 0)}}};
  for (const auto& scores : useless) {
    const AuditBound bound = audit_bound(scores, thresholds, 1e-5, 0.95);
    EXPECT_EQ(bound.mu, 0.0) << scores[0].attack;
    EXPECT_EQ(bound.epsilon_any, 0.0) << scores[0].attack;
  }
  const std::vector<AuditScores> perfect{{"perfect", repeated(0, 1000, 1, 0), repeated(0, 0, 1, 1000)}};
  const AuditBound bound = audit_bound(perfect, thresholds, 1e-5, 0.95);
  EXPECT_GT(bound.mu, 5.0);
  EXPECT_TRUE(std::isfinite(bound.mu));
}

TEST(AuditBound, RefusesAbsurdSettings) {
  const std::vector<AuditScores> scores{{"x", {0, 1}, {0, 1}}};
  const std::vector<double> thresholds{0.5};
  for (const double bad : {0.0, 1.0, -1.0, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    expect_error(ExitCode::kConfig, {"confidence"},
                 [&] { (void)audit_bound(scores, thresholds, 1e-5, bad); });
  }
  for (const double bad : {0.0, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    expect_error(ExitCode::kConfig, {"delta"}, [&] { (void)audit_bound(scores, thresholds, bad, 0.9); });
  }
}

}  // namespace
}  // namespace muffle::privacy
