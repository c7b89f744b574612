// The arithmetic of `muffle verify`, done again from the definitions, against the product's.
#include "release/recompute.hpp"

#include <gtest/gtest.h>

#include "muffle/privacy/accountant.hpp"

namespace muffle::release {
namespace {

TEST(Recompute, AgreesWithTheReferenceValues) {
  const double points[][3] = {{1, 1, 0.12693673750664395},
                              {1, 4, 2.9242721048564073e-6},
                              {0.1, 10, 0.008751768145809594},
                              {5, 0.5, 0.032281984750072821},
                              {0.2, 25, 2.3629281167356276e-9}};
  for (const auto& [epsilon, sigma, delta] : points)
    EXPECT_NEAR(static_cast<double>(plain_delta(epsilon, 1 / sigma)) / delta, 1, 1e-12) << epsilon;
  const double sigmas[][2] = {{0.2, 16.3041334209}, {0.5, 7.03182667558}, {1, 3.73063163482},
                              {2, 1.99381244564},   {5, 0.891868264952},  {10, 0.499888619709}};
  for (const auto& [epsilon, sigma] : sigmas)
    EXPECT_NEAR(static_cast<double>(plain_multiplier(epsilon, 1e-5)) / sigma, 1, 1e-11) << epsilon;
}

TEST(Recompute, AgreesWithTheAccountantOverItsDomain) {
  for (const double epsilon : {1e-3, 0.03, 0.7, 8.0, 40.0, 100.0}) {
    for (const double delta : {1e-18, 1e-15, 1e-12, 1e-8, 1e-5, 1e-3, 0.1}) {
      const double exact = privacy::noise_multiplier_for(epsilon, delta);
      EXPECT_NEAR(static_cast<double>(plain_multiplier(epsilon, delta)) / exact, 1, 1e-10)
          << epsilon << " " << delta;
    }
  }
}

TEST(Recompute, AgreesWithTheCombinedSensitivity) {
  for (const auto adjacency : {privacy::Adjacency::kReplaceOne, privacy::Adjacency::kAddRemoveOne}) {
    for (const bool counts : {false, true}) {
      for (const bool nonnegative : {false, true}) {
        for (const bool labelled : {false, true}) {
          const privacy::SensitivityInput input{
              {{1.0, false, "", 1.0, labelled}, {0.7, nonnegative, "", 1.0, !labelled}},
              adjacency,
              counts,
              0.9,
              3};
          EXPECT_NEAR(
              static_cast<double>(plain_sensitivity(input)) / privacy::combined_sensitivity(input).value, 1,
              1e-14);
        }
      }
    }
  }
}

}  // namespace
}  // namespace muffle::release
