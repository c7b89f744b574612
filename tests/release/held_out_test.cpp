#include "muffle/release/held_out.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "release/sample_artifact.hpp"

namespace muffle::release {
namespace {

using testing_artifact::sample_artifact;

struct Both {
  std::vector<std::int64_t> trained, held_out;
};
Both divide(Artifact a, std::uint64_t seed) {
  Both out;
  out.held_out = hold_out(a, seed);
  out.trained = a.values;
  return out;
}

/// Of two maps, one with noise of two sizes, and class counts; its values are noise alone.
Artifact noisy() {
  Artifact a = sample_artifact({.counts = true, .features = 4000, .moments = true, .weight = 0.3});
  const CounterStream random(1, Stream::kTest);
  privacy::for_each_run(a.noise.parts, [&](std::uint64_t first, const privacy::NoiseRun& run) {
    for (std::uint64_t i = first; i < first + run.count; ++i)
      a.values[i] = std::llround(static_cast<double>(run.sigma_lattice) * random.normal(i));
  });
  return a;
}

TEST(HoldOut, GivesTwoErrorsThatAreIndependentAndOfKnownSizes) {
  const Artifact a = noisy();
  const Both both = divide(a, 7);
  ASSERT_EQ(both.trained.size(), a.size());
  ASSERT_EQ(both.held_out.size(), a.size());
  double trained = 0, held_out = 0, product = 0, apart = 0;
  std::size_t n = 0;
  privacy::for_each_run(a.noise.parts, [&](std::uint64_t first, const privacy::NoiseRun& run) {
    const auto sigma = static_cast<double>(run.sigma_lattice);
    for (std::uint64_t i = first; i < first + run.count; ++i) {
      if (i >= a.offset(a.maps.size())) {  // a class count
        EXPECT_EQ(both.trained[i], a.values[i]);
        EXPECT_EQ(both.held_out[i], a.values[i]);
        continue;
      }
      const double x = static_cast<double>(both.trained[i]) / sigma,
                   y = static_cast<double>(both.held_out[i]) / sigma,
                   v = static_cast<double>(a.values[i]) / sigma;
      trained += x * x;
      held_out += y * y;
      product += x * y;
      // One draw makes both: what is put to one is taken from the other, 1 / t^2 times.
      apart = std::max(apart, std::fabs((y - v) + (x - v) / (kHeldOut * kHeldOut)) * sigma);
      ++n;
    }
  });
  ASSERT_GT(n, 12000u);
  const auto count = static_cast<double>(n);
  // Five standard deviations; the seeds are fixed.
  const double few = 5.0 * std::sqrt(2.0 / count);
  EXPECT_NEAR(trained / count / kTrainedNoise, 1.0, few);
  EXPECT_NEAR(held_out / count / kHeldOutNoise, 1.0, few);
  EXPECT_NEAR(product / count / std::sqrt(kTrainedNoise * kHeldOutNoise), 0.0, 5.0 / std::sqrt(count));
  EXPECT_LE(apart, 0.5 + 0.5 / (kHeldOut * kHeldOut)) << "rounding";
}

TEST(HoldOut, KnowsTheNoiseOfSharesThatWereAdded) {
  Artifact a = noisy();
  const Both one = divide(a, 7);
  a.aggregation = privacy::DistributedNoise{4, 1};
  const double more = carried_sigma(a, a.aggregation, 0, 0) /
                      static_cast<double>(a.noise.parts.front().runs.front().sigma_lattice);
  ASSERT_GT(more, 1.1);
  const Both shares = divide(a, 7);
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(static_cast<double>(shares.held_out[i] - a.values[i]),
                more * static_cast<double>(one.held_out[i] - a.values[i]), 2.0 * more);
}

TEST(HoldOut, IsAFunctionOfReleaseAndSeedAndLeavesExactNumbersAlone) {
  Artifact a = noisy();
  const Both both = divide(a, 7), again = divide(a, 7), other = divide(a, 8);
  EXPECT_EQ(both.trained, again.trained);
  EXPECT_EQ(both.held_out, again.held_out);
  EXPECT_NE(both.trained, other.trained);
  a.without_noise = true;
  EXPECT_EQ(divide(a, 7).trained, a.values);
  EXPECT_EQ(divide(a, 7).held_out, a.values);
}

}  // namespace
}  // namespace muffle::release
