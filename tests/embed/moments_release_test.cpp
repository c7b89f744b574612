// Second moments of a release as real numbers, and what they share with other maps: the bound.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "embed/shards.hpp"
#include "muffle/embed/audit.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/release/noisy_moments.hpp"
#include "release/sample_artifact.hpp"
#include "support/expect_error.hpp"
#include "support/planned_release.hpp"

namespace muffle::embed {
namespace {

using release::testing_artifact::sample_artifact;
using test::expect_error;
using test::made_up;
using test::sums_of;

constexpr std::size_t kSide = 6, kDims = kSide * kSide, kClasses = 3;

std::unique_ptr<features::FeatureMap> image() {
  return test::make_moments({{"coefficients", "3"}}, test::schema_of({1, kSide, kSide}));
}

/// A release of these sums in which no noise was added.
release::Artifact release_of(const data::Batch& records, privacy::Adjacency adjacency, bool counts = true) {
  const Embedder embedder =
      make_embedder(release::make_plan({test::schema_of({1, kSide, kSide}, kClasses),
                                        {},
                                        {test::named("moments", image(), 2.0), test::rff_map(kDims, 70)},
                                        test::epsilon_of(1, adjacency),
                                        counts,
                                        records.n}));
  release::Artifact a = release::testing_artifact::artifact_of(embedder.plan);
  const auto sums = sums_of(embedder, records);
  a.values.assign(sums.begin(), sums.end());
  return a;
}

TEST(NoisyMoments, AreTheSumsOfZZtOfEveryClass) {
  const data::Batch records = made_up(500, kDims, kClasses);
  const release::Artifact a = release_of(records, privacy::Adjacency::kReplaceOne);
  const release::NoisyMoments m = release::make_noisy_moments(a);
  EXPECT_EQ(m.classes, kClasses);
  EXPECT_EQ(m.order, 10u);
  EXPECT_EQ(m.moments.lift->to_json(), image()->second_moments()->moments().lift->to_json());
  EXPECT_EQ(m.records, 500.0);
  std::vector<double> expected(kClasses * 100), z(10);
  std::vector<double> counts(kClasses);
  for (std::size_t i = 0; i < records.n; ++i) {
    z[0] = m.moments.offset;
    m.moments.lift->forward(records.x.data() + i * kDims, z.data() + 1);
    double squares = 0;
    for (const double v : z) squares += v * v;
    const auto c = static_cast<std::size_t>(records.y[i]);
    counts[c] += 1;
    for (std::size_t p = 0; p < 10; ++p) {
      for (std::size_t q = 0; q < 10; ++q) expected[c * 100 + p * 10 + q] += z[p] * z[q] / squares;
    }
  }
  // Rounded to 16 bits: half a unit in each z.
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(m.second[i], expected[i], 500 * 2e-5) << i;
  for (std::size_t c = 0; c < kClasses; ++c) {
    double trace = 0;
    for (std::size_t i = 0; i < m.order; ++i) trace += m.of_class(c)[i * m.order + i];
    EXPECT_NEAR(trace, counts[c], 0.01);
    EXPECT_EQ(m.of_class(c)[1], m.second[c * 100 + 1]);
  }
}

TEST(NoisyMoments, TheNoiseIsThatOfTheMapsWeight) {
  const release::Artifact a = release_of(made_up(50, kDims, kClasses), privacy::Adjacency::kReplaceOne);
  const release::NoisyMoments m = release::make_noisy_moments(a);
  // Weight 2: half of sigma in the block's own units; the constants: 2^16 against the scale of z.
  const double shrink = std::ldexp(1.0, 16) / m.moments.scale();
  EXPECT_NEAR(m.noise_diagonal, a.noise.sigma / 2 * shrink * shrink, 1e-6);
  EXPECT_NEAR(m.noise_off_diagonal * std::sqrt(2.0), m.noise_diagonal, 1e-6);
  release::Artifact shares = a;
  shares.aggregation = privacy::DistributedNoise{2, 1};
  EXPECT_NEAR(release::make_noisy_moments(shares).noise_diagonal / m.noise_diagonal, std::sqrt(2.0), 1e-6);
}

TEST(NoisyMoments, TracesTellAPrivateNumberOfRecords) {
  const data::Batch records = made_up(500, kDims, kClasses);
  const release::Artifact a = release_of(records, privacy::Adjacency::kAddRemoveOne, false);
  EXPECT_EQ(a.records, 0u);
  EXPECT_NEAR(release::make_noisy_moments(a).records, 500, 0.05);
  // Random features of the same release are divided by it, too.
  const release::Target target = release::make_target(a);
  EXPECT_NEAR(target.records, 500, 0.05);
  double share = 0;
  for (std::size_t i = 0; i < records.n; ++i) share += records.y[i] == 0 ? 1.0 / 500 : 0.0;
  EXPECT_NEAR(target.class_share[0], share, 1e-4);
  const auto noisy = release::noisy_counts(a);
  ASSERT_TRUE(noisy);
  EXPECT_NEAR(noisy->sigma, std::sqrt(10.0) * release::make_noisy_moments(a).noise_diagonal, 1e-9);

  release::Artifact empty = a;
  std::fill(empty.values.begin(), empty.values.end(), 0);
  EXPECT_EQ(release::make_noisy_moments(empty).records, 1) << "the noise left nothing: all is a guess";
}

TEST(NoisyMoments, NeedTheMapAndItsLift) {
  expect_error(ExitCode::kConfig, {"second moments", "only \"rff\"", "[map.NAME]"},
               [] { release::make_noisy_moments(sample_artifact()); });
  release::Artifact a = sample_artifact({.moments = true});
  a.map_hashes[0] = std::string(64, '0');
  expect_error(ExitCode::kProtocol, {"feature map", "moments"}, [&] { release::make_noisy_moments(a); });
}

// The bound of both blocks together, sqrt(2 w^2 + 4): adversaries reach it, and none passes it.
TEST(CombinedBound, IsReachedAndNeverPassed) {
  for (const double weight : {0.1, 0.5, 1.0, 2.0, 5.0}) {
    // One frequency that turns more than once: a pair can be orthogonal in one map, opposite in the other.
    const auto moments = test::make_moments({{"offset", "0.1"}}, test::schema_of({6}));
    const auto rff = test::make_rff({.dims = 6, .features = 2, .length_scale = 0.2});
    const Embedder embedder = test::embedder_of(
        {test::named("moments", moments->clone(), weight), test::named("rff", rff)}, {6}, 2, false);
    const double sensitivity = embedder.plan.noise.sensitivity.value;
    EXPECT_NEAR(sensitivity, std::sqrt(2 * weight * weight + 4), 1e-12);
    const CanaryPair pair = worst_pair(embedder);
    EXPECT_GT(pair.distance, 0.98 * sensitivity) << weight;
    EXPECT_LE(pair.distance, sensitivity) << weight;
  }
}

}  // namespace
}  // namespace muffle::embed
