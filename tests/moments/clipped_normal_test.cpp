#include "muffle/moments/clipped_normal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "muffle/core/philox.hpp"

namespace muffle::moments {
namespace {

/// By Simpson's rule over the normal's density.
MeanVariance integrated(ClippedNormal law) {
  constexpr int kSteps = 200'000;
  const double width = 16.0 / kSteps;
  double first = 0, second = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double t = -8 + i * width;
    const double weight = (i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2) * width / 3;
    const double mass = weight * std::exp(-0.5 * t * t) / std::sqrt(2 * M_PI);
    const double x = std::clamp(law.location + law.scale * t, 0.0, 1.0);
    first += mass * x;
    second += mass * x * x;
  }
  return {first, second - first * first};
}

TEST(ClippedNormal, MomentsAgreeWithIntegration) {
  for (const ClippedNormal law : {ClippedNormal{0.5, 0.1}, ClippedNormal{-0.3, 0.4}, ClippedNormal{1.2, 0.3},
                                  ClippedNormal{0.5, 5.0}, ClippedNormal{-2.0, 1.0}}) {
    const MeanVariance closed = law.moments(), numeric = integrated(law);
    EXPECT_NEAR(closed.mean, numeric.mean, 1e-8);
    EXPECT_NEAR(closed.variance, numeric.variance, 1e-8);
  }
}

TEST(ClippedNormal, FittedLawsHaveTheWantedMoments) {
  for (const double mean : {0.002, 0.01, 0.1, 0.37, 0.5, 0.8, 0.99, 0.998}) {
    for (const double share : {1e-4, 0.01, 0.1, 0.3, 0.6, 0.9, 0.95}) {
      const MeanVariance wanted{mean, share * mean * (1 - mean)};
      if (wanted.variance < kLeastVariance) continue;
      const MeanVariance got = fit_clipped_normal(wanted).moments();
      EXPECT_NEAR(got.mean, wanted.mean, 1e-8 * wanted.mean) << mean << " " << share;
      EXPECT_NEAR(got.variance, wanted.variance, 1e-6 * wanted.variance) << mean << " " << share;
    }
  }
}

TEST(ClippedNormal, ImpossibleMomentsAreTakenToTheNearestPossibleOnes) {
  const MeanVariance got = fit_clipped_normal({-0.2, 4.0}).moments();
  EXPECT_NEAR(got.mean, kLeastMean, 1e-9);
  EXPECT_NEAR(got.variance, kLargestShare * kLeastMean * (1 - kLeastMean), 1e-8);
  EXPECT_NEAR(fit_clipped_normal({0.5, -1.0}).moments().variance, kLeastVariance, 1e-10);
}

TEST(ClippedNormal, WhereTheScaleIsBoundTheMeanIsKept) {
  for (const double mean : {0.01, 0.3, 0.99}) {
    const MeanVariance wanted{mean, 0.9 * mean * (1 - mean)};
    ASSERT_GT(fit_clipped_normal(wanted).scale, 0.3);
    const ClippedNormal law = fit_clipped_normal(wanted, 0.3);
    EXPECT_EQ(law.scale, 0.3);
    EXPECT_NEAR(law.moments().mean, mean, 1e-9);
    EXPECT_LT(law.moments().variance, wanted.variance);
  }
  const MeanVariance narrow{0.5, 0.01};
  EXPECT_EQ(fit_clipped_normal(narrow, 0.3).scale, fit_clipped_normal(narrow).scale) << "it is below already";
  EXPECT_EQ(fit_clipped_normal(narrow, 0.0).scale, 1e-3) << "a law all the same";
}

TEST(ClippedNormal, RandomTargetsAllArrive) {
  const CounterStream random(7, Stream::kTest);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const double mean = kLeastMean + (1 - 2 * kLeastMean) * random.uniform(2 * i);
    const MeanVariance wanted =
        attainable({mean, std::pow(random.uniform(2 * i + 1), 3) * mean * (1 - mean)});
    const MeanVariance got = fit_clipped_normal(wanted).moments();
    ASSERT_NEAR(got.mean, wanted.mean, 1e-7) << i;
    ASSERT_NEAR(got.variance, wanted.variance, 1e-6 * wanted.variance + 1e-10) << i;
  }
}

}  // namespace
}  // namespace muffle::moments
