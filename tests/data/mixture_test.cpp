#include "muffle/data/mixture.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/shard_fixture.hpp"
#include "muffle/core/hash.hpp"
#include "support/expect_error.hpp"

namespace muffle::data::test {
namespace {

class Mixture : public ::testing::Test {
 protected:
  DataSpec spec_of(const std::string& part) {
    return {.dir = folder_.path().string(),
            .features = "mixture-" + part + "-points.idx",
            .labels = "mixture-" + part + "-labels.idx",
            .schema = {{2}, kMixtureGrid, -1.0, 5.0}};
  }
  muffle::test::TemporaryFolder folder_;
};

TEST_F(Mixture, HasFourThousandPointsPerCentreOfTheRightClassAndSpread) {
  write_mixture(folder_.path());
  std::array<int, 25> counts{};
  double squares = 0.0;
  int expected[] = {90000, 10000};
  for (const bool test_part : {false, true}) {
    const auto source = open_shard(spec_of(test_part ? "test" : "train"), 0, 1);
    Batch batch;
    source->next(100000, batch);
    ASSERT_EQ(batch.n, static_cast<std::size_t>(expected[test_part]));
    for (std::size_t i = 0; i < batch.n; ++i) {
      const double x1 = 6.0 * batch.x[2 * i] - 1.0, x2 = 6.0 * batch.x[2 * i + 1] - 1.0;
      // Centres are five standard deviations apart: about 1 point in 80 lies nearer to another centre, whose
      // class differs.
      const int column = static_cast<int>(std::lround(x1)), row = static_cast<int>(std::lround(x2));
      if (column < 0 || column > 4 || row < 0 || row > 4 || mixture_class(column, row) != batch.y[i])
        continue;
      ++counts[static_cast<std::size_t>(5 * row + column)];
      squares += (x1 - column) * (x1 - column) + (x2 - row) * (x2 - row);
    }
  }
  // P(|z| < 2.5)^2 = 0.9753 of each inner centre's points, more at the edges.
  int kept = 0;
  for (const int c : counts) {
    EXPECT_GT(c, 3850);
    EXPECT_LE(c, 4000);
    kept += c;
  }
  // Variance of a normal cut at 2.5 standard deviations: 0.911 of it.
  EXPECT_NEAR(squares / kept, 2 * 0.04 * 0.92, 2 * 0.04 * 0.02);
}

TEST_F(Mixture, IsAFunctionOfTheSeed) {
  const auto hash = [&](const std::string& name, std::uint64_t seed) {
    write_mixture(folder_ / name, seed);
    std::string all;
    for (const char* part : {"train-points", "train-labels", "test-points", "test-labels"})
      all += sha256_file_hex(PublicFile(folder_ / name / fmt::format("mixture-{}.idx", part)));
    return all;
  };
  EXPECT_EQ(hash("a", 7), hash("b", 7));
  EXPECT_NE(hash("a", 7), hash("c", 8));
}

TEST_F(Mixture, IsShuffled) {
  write_mixture(folder_.path());
  Batch batch;
  open_shard(spec_of("train"), 0, 1)->next(1000, batch);
  std::array<int, 5> counts{};
  for (const std::int32_t y : batch.y) ++counts.at(static_cast<std::size_t>(y));
  for (const int c : counts) EXPECT_NEAR(c, 200, 65);  // five standard deviations
}

TEST_F(Mixture, AnUnwritableFolderIsAnIoError) {
  muffle::test::expect_error(ExitCode::kIo, {"/proc/muffle-mixture"},
                             [] { write_mixture("/proc/muffle-mixture", 1); });
}

}  // namespace
}  // namespace muffle::data::test
