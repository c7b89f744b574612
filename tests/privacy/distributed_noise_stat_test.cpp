// The noise that shares add up to: as large, in all and in its honest part, and as Gaussian as planned.
//
// Three checks a sum of n = 10,000 numbers, each with false-failure probability below 1e-9: variance (a
// chi-square with n degrees of freedom, +-6.2 standard errors of 1.4 %), law (Kolmogorov-Smirnov, by the
// Dvoretzky-Kiefer-Wolfowitz-Massart inequality a true bound), and, for pairs of shares, correlation (6.2
// standard errors). About 300 checks of honest noise: a run fails by chance with probability below 1e-6. The
// checks see a variance that is off by 15 % with probability above 1 - 1e-4; mutants are off by 20 %.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "muffle/privacy/distributed_noise.hpp"
#include "privacy/noise_checks.hpp"

namespace muffle::privacy {
namespace {

constexpr std::size_t kNumbers = 10000;
constexpr std::uint64_t kSigma = std::uint64_t{3} << 24;
constexpr double kStandardErrors = 6.2;  // two-sided 5.6e-10
using Numbers = testing_noise::Noise;

DistributedNoisePlan plan_for(int ranks, int colluding) {
  NoisePlan plan;
  plan.parts = {{{{kNumbers, 1.0, kSigma}}, 1}};
  return plan_distributed_noise(plan, ranks, colluding);
}

/// A rank's share as it goes into the secure sum of an empty shard.
Numbers draw_share(const DistributedNoisePlan& plan) {
  const auto entropy = os_entropy();
  Numbers out;
  for (const std::uint64_t v : NoiseShare(plan.shares, *entropy).cover(std::vector<std::uint64_t>(kNumbers)))
    out.push_back(static_cast<std::int64_t>(v));
  return out;
}

std::vector<Numbers> draw_shares(const DistributedNoisePlan& plan) {
  std::vector<Numbers> shares;
  for (int r = 0; r < plan.ranks; ++r) shares.push_back(draw_share(plan));
  return shares;
}

Numbers sum(const std::vector<Numbers>& shares, std::size_t count) {
  Numbers out(kNumbers, 0);
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t i = 0; i < kNumbers; ++i) out[i] += shares[r][i];
  }
  return out;
}

double relative_variance(const Numbers& x, double sigma) {
  double squares = 0;
  for (const std::int64_t v : x) squares += std::pow(static_cast<double>(v) / sigma, 2);
  return squares / kNumbers;
}

/// What is wrong with these shares under this plan; nothing for honest ones.
std::set<std::string> problems_of(const std::vector<Numbers>& shares, const DistributedNoisePlan& plan) {
  std::set<std::string> found;
  const double standard_error = std::sqrt(2.0 / kNumbers);
  const auto honest_count = static_cast<std::size_t>(plan.ranks - plan.colluding);
  // Any coalition may be the curious one: by symmetry, the first or the last ranks.
  const std::vector<Numbers> reversed(shares.rbegin(), shares.rend());
  for (const auto* order : {&shares, &reversed}) {
    // Against the full noise that was promised, not against the plan's own number.
    const double full = relative_variance(sum(*order, honest_count), static_cast<double>(kSigma));
    if (!(full >= 1 - kStandardErrors * standard_error)) found.insert("honest part below the full noise");
  }
  const Numbers total = sum(shares, shares.size());
  const double predicted = static_cast<double>(kSigma) *
                           std::sqrt(static_cast<double>(plan.ranks) / static_cast<double>(honest_count));
  const double ratio = relative_variance(total, predicted);
  if (!(ratio >= 1 - kStandardErrors * standard_error)) found.insert("too little in all");
  if (!(ratio <= 1 + kStandardErrors * standard_error)) found.insert("too much in all");
  if (!(testing_noise::ks_p(total, predicted) >= 1e-9)) found.insert("law");
  for (std::size_t a = 0; a < shares.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const double scale = std::sqrt(relative_variance(shares[a], 1.0) * relative_variance(shares[b], 1.0));
      const double p = testing_noise::correlation_p(shares[a], shares[b], 0, std::sqrt(scale));
      if (scale > 0 && !(p >= 5.6e-10)) found.insert("shares correlate");
    }
  }
  return found;
}

const std::set<std::string> kNothing;

/// Calls it for 2 to 5 ranks of which 0 to all but one collude.
void for_all(const std::function<void(int ranks, int t, const DistributedNoisePlan&)>& action) {
  for (int ranks = 2; ranks <= 5; ++ranks) {
    for (int t = 0; t < ranks; ++t) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(t) + " colluding");
      action(ranks, t, plan_for(ranks, t));
    }
  }
}

TEST(DistributedNoiseStatTest, HonestSharesAddUpToThePlan) {
  for_all([](int, int, const DistributedNoisePlan& plan) {
    EXPECT_EQ(problems_of(draw_shares(plan), plan), kNothing);
  });
}

TEST(DistributedNoiseStatMutantTest, SharesForNoCollusionAreTooLittle) {
  for_all([](int ranks, int t, const DistributedNoisePlan& plan) {
    if (t == 0) return;
    const auto found = problems_of(draw_shares(plan_for(ranks, 0)), plan);
    EXPECT_TRUE(found.contains("honest part below the full noise"));
    EXPECT_TRUE(found.contains("too little in all"));
  });
}

TEST(DistributedNoiseStatMutantTest, ARankWithoutAShareIsCaught) {
  for_all([](int, int, const DistributedNoisePlan& plan) {
    auto shares = draw_shares(plan);
    shares[0].assign(kNumbers, 0);
    const auto found = problems_of(shares, plan);
    EXPECT_TRUE(found.contains("honest part below the full noise"));
    EXPECT_TRUE(found.contains("too little in all"));
  });
}

TEST(DistributedNoiseStatMutantTest, AShareUsedByTwoRanksIsCaught) {
  for_all([](int, int, const DistributedNoisePlan& plan) {
    auto shares = draw_shares(plan);
    shares[1] = shares[0];
    EXPECT_TRUE(problems_of(shares, plan).contains("shares correlate"));
  });
}

TEST(DistributedNoiseStatMutantTest, TheFullNoiseFromEachRankIsTooMuch) {
  for_all([](int ranks, int t, const DistributedNoisePlan& plan) {
    if (t == ranks - 1) return;  // then each share is the full noise, and must be
    const auto found = problems_of(draw_shares(plan_for(ranks, ranks - 1)), plan);
    EXPECT_TRUE(found.contains("too much in all"));
    EXPECT_FALSE(found.contains("honest part below the full noise"));
  });
}

}  // namespace
}  // namespace muffle::privacy
