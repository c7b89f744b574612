// The noise that the built command adds, measured: two releases of the same records in each mode and on
// several ranks, less the exact sums, which the test knows. Their law, variance and independence are those of
// noise_checks.hpp (honest noise fails a call with probability below 1e-8: below 1e-7 a run), at the sigma
// that the specification states, not at one that the release states. Noise added by each rank, noise reused
// or noise that is short must show.
#include <cmath>

#include "e2e/canary.hpp"
#include "muffle/privacy/gaussian.hpp"
#include "muffle/release/artifact.hpp"
#include "privacy/noise_checks.hpp"

namespace muffle::canary {
namespace {

using privacy::testing_noise::failed_checks;
using privacy::testing_noise::Noise;

constexpr std::size_t kFeatures = 6000;  // 18,000 numbers, and 3 counts: a variance is off by 1.1 % at most
/// epsilon 1, delta 1e-5, replace-one, one signed block, counts free: 3.7306... x 2 x 2^24.
const auto kSigma = static_cast<std::uint64_t>(std::ceil(3.73063163482 * 2 * 16777216));
const std::set<std::string> kNone;

struct NoiseCase {
  std::string name, flags;
  int ranks;
  double variance;  ///< in sigma^2
};

/// What the released numbers have beside the exact sums.
Noise noise_of_release(const Canary& canary, const NoiseCase& c, const std::string& run) {
  EXPECT_EQ(run_muffle(canary,
                       "release " + common(canary.records()) + map_flags({rff(kFeatures)}) + c.flags +
                           " --out run/" + run,
                       run, c.ranks),
            0)
      << read_file(canary.folder() / run);
  const std::string bytes = read_file(canary.folder() / "run" / run / "release.mfl");
  const release::Artifact artifact = release::parse_artifact(bytes, run);
  EXPECT_TRUE(artifact.is_private);
  EXPECT_NEAR(static_cast<double>(artifact.noise.parts.front().runs.front().sigma_lattice),
              static_cast<double>(kSigma), 1.0);
  const std::vector<std::uint64_t> exact = canary.exact_sums(true);
  Noise noise(exact.size());
  for (std::size_t i = 0; i < noise.size(); ++i)
    noise[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(artifact.values.at(i)) - exact[i]);
  EXPECT_EQ(artifact.values.size(), exact.size());
  return noise;
}

Noise plus(Noise noise, std::uint64_t sigma) {
  const auto entropy = privacy::os_entropy();
  const Noise more = privacy::draw_noise({{{{noise.size(), 1.0, sigma}}, 1}}, *entropy);
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] += more[i];
  return noise;
}

Noise times(Noise noise, double factor) {
  for (std::int64_t& v : noise) v = std::llround(static_cast<double>(v) * factor);
  return noise;
}

TEST(NoiseOfReleaseTest, HasTheStatedVarianceInEveryModeOnAnyNumberOfRanks) {
  const Canary canary({rff(kFeatures)});
  for (const NoiseCase& c : std::vector<NoiseCase>{
           {"single-1", "", 1, 1.0},
           {"single-4", "", 4, 1.0},
           {"masked-4", " --secure-aggregation", 4, 1.0},
           {"distributed-2", " --secure-aggregation --distributed-noise --set privacy.colluding_ranks=0", 2,
            1.0},
           // Any 2 of the 4 may be curious: the other two have the whole noise.
           {"distributed-4-2", " --secure-aggregation --distributed-noise --set privacy.colluding_ranks=2", 4,
            2.0}}) {
    SCOPED_TRACE(c.name);
    const Noise first = noise_of_release(canary, c, c.name + "-a"),
                second = noise_of_release(canary, c, c.name + "-b");
    if (HasFailure()) return;
    const auto sigma =
        static_cast<std::uint64_t>(std::llround(std::sqrt(c.variance) * static_cast<double>(kSigma)));
    EXPECT_EQ(failed_checks(first, second, sigma), kNone);
    // What the same numbers would look like from a broken release.
    EXPECT_TRUE(failed_checks(plus(first, kSigma), plus(second, kSigma), sigma).contains("variance"))
        << "noise added by one more rank";
    EXPECT_TRUE(failed_checks(times(first, 1 / 1.2), times(second, 1 / 1.2), sigma).contains("variance"))
        << "sigma / 1.2";
    EXPECT_TRUE(failed_checks(first, first, sigma).contains("releases correlate")) << "noise reused";
  }
}

}  // namespace
}  // namespace muffle::canary
