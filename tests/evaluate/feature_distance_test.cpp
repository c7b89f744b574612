#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "evaluate/frechet.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/evaluate/metric.hpp"
#include "support/expect_error.hpp"
#include "support/records.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kHalves = 2, kEdge = 6;

/// Images whose class says which half is bright; `dim` makes them darker than the others.
schema::Records halves(std::size_t n, std::uint32_t substream, bool dim = false) {
  const CounterStream stream(2, Stream::kTest, substream);
  schema::Records records;
  records.shape = {1, kEdge, kEdge};
  for (std::size_t i = 0; i < n; ++i) {
    records.labels.push_back(static_cast<std::uint8_t>(i % kHalves));
    for (std::size_t p = 0; p < kEdge * kEdge; ++p) {
      const bool bright = p / (kEdge * kEdge / 2) == i % kHalves;
      records.bytes.push_back(static_cast<std::uint8_t>(stream.below(i * kEdge * kEdge + p, 80) +
                                                        (bright ? (dim ? 60U : 150U) : 0U)));
    }
  }
  return records;
}

data::Settings settings_of(const test::TemporaryFolder& folder) {
  data::Settings data;
  data.dir = folder.path().string();
  data.features = "train-images.idx", data.labels = "train-labels.idx";
  data.test_features = "test-images.idx", data.test_labels = "test-labels.idx";
  data.schema = {.shape = {1, kEdge, kEdge}, .classes = kHalves, .hi = 255};
  return data;
}

const std::unique_ptr<Metric> kMetric = find_kind(metric_kinds(), "feature-distance", "metric").make();

TEST(Frechet, IsWhatTheFormulaSays) {
  // Of commuting covariances: the sum of (standard deviation - standard deviation)^2, and the means'.
  Eigen::Matrix2d turn;
  turn << 0.6, -0.8, 0.8, 0.6;
  const auto spread = [&](double m0, double m1, double s0, double s1) {
    const Eigen::Vector2d variance(s0 * s0, s1 * s1), mean(m0, m1);
    return Spread{turn * mean, turn * variance.asDiagonal() * turn.transpose()};
  };
  const FrechetDistance distance(spread(1, 2, 3, 0));
  EXPECT_NEAR(distance.to(spread(1, 2, 3, 0)), 0.0, 1e-12);
  EXPECT_NEAR(distance.to(spread(2, 4, 1, 0.5)), 1 + 4 + 4 + 0.25, 1e-12);
  // Of others: tr (C1 C2)^(1/2) of 2 x 2 matrices is sqrt(tr C1 C2 + 2 sqrt(det C1 C2)).
  Eigen::Matrix2d a, b;
  a << 2, 1, 1, 3;
  b << 4, -1, -1, 1;
  const double roots = std::sqrt((a * b).trace() + 2 * std::sqrt((a * b).determinant()));
  const Eigen::Vector2d zero(0, 0);
  EXPECT_NEAR(FrechetDistance({zero, a}).to({zero, b}), a.trace() + b.trace() - 2 * roots, 1e-12);
}

TEST(FeatureDistance, IsSmallForRealImagesAndLargeForOthers) {
  const test::TemporaryFolder folder;
  test::write_records(folder / "train-images.idx", halves(300, 0));
  test::write_records(folder / "test-images.idx", halves(300, 1));
  const data::Settings data = settings_of(folder);
  const auto score = [&](const schema::Records& made) {
    test::write_records(folder / "samples.npz", made);
    return json_of(kMetric->score({folder / "samples.npz", data.test(), data, 1, {}}), "feature-distance")
        .at("feature_distance");
  };
  const nlohmann::json same = score(halves(300, 2)), dim = score(halves(300, 2, true));
  EXPECT_EQ(same.at("real_training"), dim.at("real_training"));
  EXPECT_LT(same.at("synthetic"), 2 * same.at("real_training").get<double>()) << same << dim;
  EXPECT_GT(dim.at("synthetic"), 10 * same.at("real_training").get<double>()) << same << dim;
  EXPECT_EQ(score(halves(300, 2)), same);
}

TEST(FeatureDistance, ReadsTrainingRecordsAndRefusesWhatIsNoImage) {
  const test::TemporaryFolder folder;
  data::Settings data = settings_of(folder);
  EXPECT_EQ(kMetric->real_records(data.test(), data).size(), 2u);
  const auto problem = [&] {
    settings::Problems problems;
    kMetric->problems(data, problems);
    std::string all;
    for (const std::string& text : problems.take()) all += text + "\n";
    return all;
  };
  EXPECT_EQ(problem(), "");
  data.shards = data::ShardRule::kPerRank;
  EXPECT_NE(problem().find("per-rank"), std::string::npos);
  data.schema.shape = {1, 64, 64};
  EXPECT_NE(problem().find("8192 activations"), std::string::npos);
  data.features.clear();
  EXPECT_NE(problem().find("data.features"), std::string::npos);
  data.schema.shape = {36};
  EXPECT_NE(problem().find("at least 3 x 3 pixels"), std::string::npos);
  test::expect_error(ExitCode::kConfig, {"feature-distance", "images"}, [&] {
    kMetric->score({folder / "samples.npz", data.test(), data, 1, {}});
  });
}

}  // namespace
}  // namespace muffle::evaluate
