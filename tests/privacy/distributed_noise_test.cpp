#include "muffle/privacy/distributed_noise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>
#include <type_traits>

#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/aggregation.hpp"
#include "support/expect_error.hpp"
#include "support/one_noise.hpp"

namespace muffle::privacy {
namespace {

using test::expect_error;
using Masses = std::vector<double>;
__extension__ using Uint128 = unsigned __int128;

NoisePlan plan_with(std::uint64_t sigma_lattice, std::uint64_t numbers = 1) {
  NoisePlan plan;
  plan.parts = {{{{numbers, 1.0, sigma_lattice}}, 1}};
  return plan;
}

const NoiseRun& share_of(const DistributedNoisePlan& plan) { return plan.shares.at(0).runs.at(0); }

TEST(DistributedNoisePlanTest, ShareIsTheLeastIntegerThatSuffices) {
  for (const std::uint64_t sigma : {32ull, 1000ull, 62588123ull, (1ull << 40) + 12345, (1ull << 48) - 1}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      for (int t = 0; t < ranks; ++t) {
        const DistributedNoisePlan plan = plan_distributed_noise(plan_with(sigma), ranks, t);
        const auto honest = static_cast<std::uint64_t>(ranks - t);
        const Uint128 s = share_of(plan).sigma_lattice, wanted = Uint128{sigma} * sigma;
        EXPECT_TRUE(s * s * honest >= wanted) << sigma << " " << ranks << " " << t;
        EXPECT_TRUE((s - 1) * (s - 1) * honest < wanted) << sigma << " " << ranks << " " << t;
        EXPECT_GE(plan.honest_sigma(share_of(plan)), static_cast<double>(sigma));
        const auto share = static_cast<double>(share_of(plan).sigma_lattice);
        EXPECT_NEAR(plan.honest_sigma(share_of(plan)) / share, std::sqrt(ranks - t), 1e-13);
        EXPECT_NEAR(plan.total_sigma(share_of(plan)) / share, std::sqrt(ranks), 1e-13);
      }
    }
  }
}

// Blocks with noise of their own: each run's share is its own, and the run with the least noise decides how
// close the shares' sum is to a Gaussian.
TEST(DistributedNoisePlanTest, EveryRunHasItsOwnShare) {
  NoisePlan plan;
  plan.parts = {{{{5, 8.0, 1000}, {7, 4.0, 500}}, 3}, {{{2, 1.0, 90'000}}, 1}};
  const DistributedNoisePlan shares = plan_distributed_noise(plan, 4, 1);
  ASSERT_EQ(shares.shares.size(), 2u);
  EXPECT_EQ(shares.shares[0].repeat, 3u);
  for (std::size_t p = 0; p < 2; ++p) {
    for (std::size_t r = 0; r < plan.parts[p].runs.size(); ++r) {
      const NoiseRun &run = shares.shares[p].runs[r], &full = plan.parts[p].runs[r];
      EXPECT_EQ(run.count, full.count);
      EXPECT_EQ(run.sigma_lattice,
                share_of(plan_distributed_noise(plan_with(full.sigma_lattice), 4, 1)).sigma_lattice);
      EXPECT_GE(shares.honest_sigma(run), static_cast<double>(full.sigma_lattice));
    }
  }
  EXPECT_EQ(shares.log_closeness, log_closeness_bound(shares.shares[0].runs[1].sigma_lattice, 4));
  const auto entropy = insecure_seeded_entropy(5), same = insecure_seeded_entropy(5);
  const auto covered = NoiseShare(shares.shares, *entropy).cover(std::vector<std::uint64_t>(38, 0));
  const std::vector<std::int64_t> expected = draw_noise(shares.shares, *same);
  for (std::size_t i = 0; i < 38; ++i) EXPECT_EQ(static_cast<std::int64_t>(covered[i]), expected[i]) << i;
  plan.parts[1].runs[0].sigma_lattice = 5;
  expect_error(ExitCode::kConfig, {"sigma 3 lattice units"}, [&] { plan_distributed_noise(plan, 4, 1); });
}

TEST(DistributedNoisePlanTest, ClosenessIsBoundedFromAbove) {
  for (const std::uint64_t s : {1u, 2u, 3u, 4u, 7u}) {
    for (int ranks = 2; ranks <= 6; ++ranks) {
      long double tau = 0;
      for (int k = 1; k < ranks; ++k) {
        tau += 10 * std::exp(-2 * std::numbers::pi_v<long double> * std::numbers::pi_v<long double> *
                             static_cast<long double>(s * s) * k / (k + 1));
      }
      const auto exact = static_cast<double>(std::log(std::ldexp(tau, 35)));
      EXPECT_GE(log_closeness_bound(s, ranks), exact);
      EXPECT_LE(log_closeness_bound(s, ranks), exact + std::log(ranks) + 0.02 * static_cast<double>(s * s));
    }
  }
  // Any share that a real release has: d tau below 1e-200000.
  EXPECT_LT(log_closeness_bound(256, 1 << 20), -200000 * std::log(10.0));
  EXPECT_LT(log_closeness_bound(std::uint64_t{1} << 50, 1 << 20), -1e30);
}

TEST(DistributedNoisePlanTest, RefusesWhatTheTheoremDoesNotCover) {
  for (const auto& [ranks, t] : {std::pair{3, 3}, {3, 4}, {3, -1}, {1, 1}, {0, 0}, {-2, 0}, {1 << 30, 1}}) {
    expect_error(ExitCode::kConfig, {"nothing was released"},
                 [ranks = ranks, t = t] { plan_distributed_noise(plan_with(1 << 20), ranks, t); });
  }
  expect_error(ExitCode::kConfig, {"3 of 3 ranks", "privacy.colluding_ranks"},
               [] { plan_distributed_noise(plan_with(1 << 20), 3, 3); });
  // s = 3 is refused, s = 4 is not.
  EXPECT_EQ(share_of(plan_distributed_noise(plan_with(8), 4, 0)).sigma_lattice, 4u);
  expect_error(ExitCode::kConfig, {"sigma 3 lattice units"},
               [] { plan_distributed_noise(plan_with(6), 4, 0); });
  const DistributedNoisePlan alone = plan_distributed_noise(plan_with(3), 1, 0);
  EXPECT_EQ(share_of(alone).sigma_lattice, 3u) << "one rank draws the full noise and needs no closeness";
  EXPECT_EQ(alone.log_closeness, -std::numeric_limits<double>::infinity());
  expect_error(ExitCode::kConfig, {"2^50"},
               [] { plan_distributed_noise(plan_with(std::uint64_t{1} << 50), 4, 3); });
  expect_error(ExitCode::kInvariant, {"not been planned"}, [] { plan_distributed_noise(NoisePlan{}, 4, 1); });
}

// The numbers behind theorem 2 of docs/explanation/secure-aggregation.md, computed by plain sums where tau is
// large enough to be seen.

/// Discrete Gaussian of parameter s on the coset Z + offset, at z + offset for z = -kHalf..kHalf.
constexpr int kHalf = 60;
Masses coset_gaussian(double s, double offset) {
  Masses p(2 * kHalf + 1);
  double sum = 0;
  for (int z = -kHalf; z <= kHalf; ++z) {
    const double x = (z + offset) / s;
    sum += p[static_cast<std::size_t>(z + kHalf)] = std::exp(-x * x / 2);
  }
  for (double& v : p) v /= sum;
  return p;
}

/// round(N(0, s^2)).
Masses rounded_gaussian(double s) {
  Masses p(2 * kHalf + 1);
  const auto upper = [&](double x) { return 0.5 * std::erfc(x / s / std::numbers::sqrt2); };
  for (int z = -kHalf; z <= kHalf; ++z)
    p[static_cast<std::size_t>(z + kHalf)] = upper(std::abs(z) - 0.5) - upper(std::abs(z) + 0.5);
  return p;
}

/// Of the sum of two independent integers, cut to the same range.
Masses convolve(const Masses& a, const Masses& b) {
  Masses out(a.size(), 0.0);
  for (int i = -kHalf; i <= kHalf; ++i) {
    for (int j = std::max(-kHalf, -kHalf - i); j <= std::min(kHalf, kHalf - i); ++j) {
      out[static_cast<std::size_t>(i + j + kHalf)] +=
          a[static_cast<std::size_t>(i + kHalf)] * b[static_cast<std::size_t>(j + kHalf)];
    }
  }
  return out;
}

double tau_of(double s, int h) {
  double tau = 0;
  for (int k = 1; k < h; ++k)
    tau += 10 * std::exp(-2 * std::numbers::pi * std::numbers::pi * s * s * k / (k + 1.0));
  return tau;
}

// Lemma: the sum of discrete Gaussians on cosets is within e^{+-tau}, pointwise, of the discrete Gaussian on
// the sum of the cosets; and the bound is of the right size, not vacuous.
TEST(DistributedNoiseTheoremTest, SumsOfCosetGaussiansAreCosetGaussians) {
  double worst = 0;
  for (const double s : {0.55, 0.6, 0.8, 1.0}) {
    for (const double first : {-0.5, -0.31, 0.0, 0.25, 0.49}) {
      double offset = first;
      Masses sum = coset_gaussian(s, first);
      for (int h = 2; h <= 5; ++h) {
        const double next = std::remainder(first * 7 * h + 0.17, 1.0);
        offset += next;
        sum = convolve(sum, coset_gaussian(s, next));
        const Masses ideal = coset_gaussian(s * std::sqrt(static_cast<double>(h)), offset);
        for (int z = -8; z <= 8; ++z) {
          const auto i = static_cast<std::size_t>(z + kHalf);
          if (ideal[i] < 1e-12) continue;
          const double ratio = std::fabs(std::log(sum[i] / ideal[i]));
          EXPECT_LE(ratio, tau_of(s, h) + 1e-12) << "s " << s << ", h " << h << ", z " << z;
          worst = std::max(worst, ratio / tau_of(s, h));
        }
      }
    }
  }
  EXPECT_GT(worst, 0.1) << "the bound is within ten times the truth";
}

/// delta(eps) of releasing an integer S with this noise, where neighbours differ by `sensitivity`.
double exact_delta(const Masses& noise, int sensitivity, double epsilon) {
  double delta = 0;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    const auto j = static_cast<std::ptrdiff_t>(i) - sensitivity;
    const double other =
        j >= 0 && j < static_cast<std::ptrdiff_t>(noise.size()) ? noise[static_cast<std::size_t>(j)] : 0;
    delta += std::max(0.0, noise[i] - std::exp(epsilon) * other);
  }
  return delta;
}

Masses sum_of_rounded(double s, int shares) {
  Masses sum = rounded_gaussian(s);
  for (int i = 1; i < shares; ++i) sum = convolve(sum, rounded_gaussian(s));
  return sum;
}

// Theorem 2 itself, d = 1: the honest shares' exact delta(eps) is at most e^tau delta_Gauss(eps - 2 tau); and
// it is within a few per cent of the Gaussian's, so that too little noise would exceed it.
TEST(DistributedNoiseTheoremTest, HonestSharesGiveTheGaussianGuarantee) {
  for (const double s : {1.0, 1.5, 3.0}) {
    for (int h = 1; h <= 4; ++h) {
      const Masses honest = sum_of_rounded(s, h);
      const double tau = tau_of(s, h);
      for (const int sensitivity : {1, 2, 5}) {
        const double mu = sensitivity / (s * std::sqrt(static_cast<double>(h)));
        for (const double epsilon : {0.25, 0.5, 1.0, 2.0}) {
          const double claimed = std::exp(tau) * delta_for(epsilon - 2 * tau, mu);
          EXPECT_LE(exact_delta(honest, sensitivity, epsilon), claimed * (1 + 1e-9) + 1e-13)
              << "s " << s << ", h " << h << ", sensitivity " << sensitivity << ", epsilon " << epsilon;
        }
      }
    }
  }
}

TEST(DistributedNoiseTheoremTest, TooLittleNoiseExceedsTheGuarantee) {
  // P = 3, t = 1, full sigma 6: shares of 6 / sqrt(3) instead of 6 / sqrt(2), or one of two honest shares
  // left out.
  const double sigma = 6, epsilon = 0.5;
  const int sensitivity = 6;
  const double claimed = delta_for(epsilon, sensitivity / sigma);
  EXPECT_LE(exact_delta(sum_of_rounded(sigma / std::sqrt(2.0), 2), sensitivity, epsilon), claimed);
  EXPECT_GT(exact_delta(sum_of_rounded(sigma / std::sqrt(3.0), 2), sensitivity, epsilon), 1.2 * claimed);
  EXPECT_GT(exact_delta(sum_of_rounded(sigma / std::sqrt(2.0), 1), sensitivity, epsilon), 1.2 * claimed);
}

// The calibration's margin of kLogDeltaError in log delta covers the theorem's loss: |d log delta / d eps| is
// at most 1 / delta, and d tau < 1e-40.
TEST(DistributedNoiseTheoremTest, TheCalibrationsMarginCoversTheLoss) {
  const double d_tau = 1e-40;
  EXPECT_LT(2 * d_tau / (kMinDelta * std::exp(-kLogDeltaError)) + d_tau, kLogDeltaError / 1e5);
}

template <class T>
concept SpendableTwice = requires(T share, std::vector<std::uint64_t> v) {
  share.cover(std::move(v));
};

TEST(NoiseShareTest, IsAddedModulo2To64AndSpentOnce) {
  static_assert(!std::is_copy_constructible_v<NoiseShare> && !std::is_copy_assignable_v<NoiseShare> &&
                !std::is_move_assignable_v<NoiseShare> && !SpendableTwice<NoiseShare>);
  const DistributedNoisePlan plan = plan_distributed_noise(plan_with(1 << 20, 100), 4, 1);
  const auto entropy = insecure_seeded_entropy(5), same = insecure_seeded_entropy(5);
  NoiseShare share(plan.shares, *entropy);
  EXPECT_FALSE(share.is_secure());
  const std::vector<std::int64_t> expected =
      draw_noise(test::one_noise(100, share_of(plan).sigma_lattice), *same);
  const std::vector<std::uint64_t> covered = std::move(share).cover(std::vector<std::uint64_t>(100, ~0ull));
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(static_cast<std::int64_t>(covered[i]), expected[i] - 1);
  expect_error(ExitCode::kInvariant, {"already spent"},
               [&] { std::move(share).cover(std::vector<std::uint64_t>(100)); });
}

TEST(NoiseShareTest, RefusesOtherLengths) {
  const DistributedNoisePlan plan = plan_distributed_noise(plan_with(1 << 20, 100), 4, 1);
  const auto entropy = os_entropy();
  NoiseShare share(plan.shares, *entropy);
  EXPECT_TRUE(share.is_secure());
  expect_error(ExitCode::kInvariant, {"99 numbers", "100"},
               [&] { std::move(share).cover(std::vector<std::uint64_t>(99)); });
  expect_error(ExitCode::kInvariant, {"without numbers"},
               [&] { NoiseShare(std::vector<NoisePart>{}, *entropy); });
  expect_error(ExitCode::kInvariant, {"too many"},
               [&] { NoiseShare(plan_with(1 << 20, kMaxDistributedLength + 1).parts, *entropy); });
}

TEST(AggregationModeTest, ContradictionsAreRefusedTogether) {
  EXPECT_NO_THROW(require_valid(AggregationMode()));
  EXPECT_NO_THROW(require_valid(DistributedNoise{5, 4, SignedSites{2, 4}}));
  EXPECT_NO_THROW(require_valid(DistributedNoise{1, 0}));
  const auto refused = [](std::initializer_list<std::string> parts, const AggregationMode& mode) {
    expect_error(ExitCode::kConfig, parts, [&] { require_valid(mode); });
  };
  refused({"0 ranks take part"}, Masked{0});
  for (const int t : {-1, 3, 4})
    refused({"privacy.colluding_ranks is a number from 0 to 2"}, DistributedNoise{3, t});
  refused({"from 0 to 2", "cannot be"}, DistributedNoise{3, 9, SignedSites{4, 1}});
  refused({"holds 2 of the ranks", "colluding_ranks to 2 or more"},
          DistributedNoise{3, 1, SignedSites{2, 2}});
  // Whoever holds a share faces less than the full noise: no site may, whatever t is.
  refused({"holds 1 of the ranks", "colluding_ranks to 1 or more"},
          DistributedNoise{2, 0, SignedSites{2, 1}});
  EXPECT_NO_THROW(require_valid(DistributedNoise{2, 1, SignedSites{2, 1}}));
  EXPECT_NO_THROW(require_valid(DistributedNoise{2, 0}));
  EXPECT_NO_THROW(require_valid(DistributedNoise{1, 0, SignedSites{1, 1}}));
  for (const auto& [sites, largest] : {std::pair{0, 0}, {4, 1}, {3, 2}, {2, 1}, {-1, 1}})
    refused({"cannot be"}, Masked{3, SignedSites{sites, largest}});
}

// Whose a rank is decides what masks hide: whoever is one of two sites takes its own part off the total.
TEST(AggregationModeTest, TheStatementCountsSitesNotRanks) {
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  using ::testing::Not;
  const Guarantee promised = complete_guarantee(1.0, 1e-5, std::nullopt);
  const auto told = [&](bool distributed, int ranks, int sites, int largest) {
    const SignedSites held{sites, largest};
    const AggregationMode mode = distributed ? AggregationMode(DistributedNoise{ranks, largest, held})
                                             : AggregationMode(Masked{ranks, held});
    require_valid(mode);
    return describe(mode, promised);
  };
  const auto hidden = HasSubstr("not the coordinator saw another rank's sum"), few = HasSubstr("hid nothing");
  EXPECT_THAT(told(false, 3, 1, 3),
              AllOf(HasSubstr("it saw every rank's sum"), few, Not(hidden), Not(HasSubstr("other"))));
  for (const auto& [ranks, largest] :
       {std::pair{2, 1}, {3, 2}, {4, 2}}) {  // (north, north, south) the second
    EXPECT_THAT(told(false, ranks, 2, largest), AllOf(HasSubstr("is the other site's own"), few, Not(hidden),
                                                      HasSubstr("2 sites take part")));
    EXPECT_THAT(told(true, ranks, 2, largest),
                AllOf(HasSubstr("what is left is the other site's sum"), Not(hidden), Not(few)));
  }
  for (const bool distributed : {false, true})
    EXPECT_THAT(told(distributed, 3, 3, 1), AllOf(hidden, HasSubstr("3 sites take part"), Not(few)));
}

TEST(AggregationModeTest, TheStatementSaysWhoIsTrusted) {
  using ::testing::HasSubstr;
  using ::testing::Not;
  const Guarantee promised = complete_guarantee(1.0, 1e-5, std::nullopt);
  const auto told = [&](const AggregationMode& mode) { return describe(mode, promised); };
  EXPECT_EQ(name_of({}), "single coordinator");
  EXPECT_THAT(told({}), HasSubstr("saw the exact sum"));
  const AggregationMode masked = Masked{4};
  EXPECT_EQ(name_of(masked), "masked");
  EXPECT_THAT(told(masked), HasSubstr("trusted with the total"));
  EXPECT_THAT(told(masked), HasSubstr("not signed"));
  EXPECT_THAT(told(Masked{4, SignedSites{4, 1}}), HasSubstr("signed by the sites"));
  // With one rank or two, masks hide nothing from the coordinator.
  const std::string one = told(Masked{1}), two = told(Masked{2}), three = told(Masked{3});
  EXPECT_THAT(one, HasSubstr("hid nothing"));
  EXPECT_THAT(two, HasSubstr("hid nothing from the coordinator"));
  EXPECT_THAT(two, HasSubstr("minus the sum of its own rank is the other rank's"));
  for (const std::string& few : {one, two}) EXPECT_THAT(few, Not(HasSubstr("not the coordinator saw")));
  EXPECT_THAT(three, HasSubstr("not the coordinator saw"));
  EXPECT_THAT(three, Not(HasSubstr("hid nothing")));
  EXPECT_THAT(told(DistributedNoise{1, 0}), HasSubstr("hid nothing"));
  const AggregationMode distributed = DistributedNoise{4, 2};
  EXPECT_EQ(name_of(distributed), "distributed noise");
  EXPECT_THAT(told(distributed), HasSubstr("any 2 of the ranks"));
  EXPECT_THAT(told(distributed), Not(HasSubstr("trusted with the total")));
  // With t = 0 the words say what one rank faces: mu is sqrt(P / (P - 1)) times the stated one.
  const std::string none = told(DistributedNoise{2, 0});
  EXPECT_THAT(none, HasSubstr("holds no share"));
  EXPECT_NEAR(*epsilon_to_tell(std::sqrt(2.0) / promised.noise_multiplier, 1e-5), 1.465, 1e-3);
  EXPECT_THAT(
      none,
      HasSubstr(
          "a noise multiplier of 2.63795 where 3.73063 is stated, that is epsilon 1.466 at delta 1e-05"));
  EXPECT_THAT(describe(DistributedNoise{2, 0}, std::nullopt), Not(HasSubstr("epsilon")));
  EXPECT_THAT(told(DistributedNoise{2, 1}), Not(HasSubstr("multiplier")));
}

}  // namespace
}  // namespace muffle::privacy
