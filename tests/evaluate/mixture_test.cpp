#include "muffle/data/mixture.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "muffle/core/kinds.hpp"
#include "muffle/evaluate/metric.hpp"
#include "support/expect_error.hpp"
#include "support/records.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::evaluate {
namespace {

using muffle::test::expect_error;

class MixtureNll : public ::testing::Test {
 protected:
  static nlohmann::json scores_of(const std::filesystem::path& samples) {
    Subject subject;
    subject.samples = samples;
    const auto metric = find_kind(metric_kinds(), "mixture-nll", "metric").make();
    return json_of(metric->score(subject), metric->kind()).at("mixture_nll");
  }
  nlohmann::json score(const std::vector<float>& points, const std::vector<std::uint8_t>& labels) {
    test::write_records(file(), {{2}, {}, points, labels});
    return scores_of(file());
  }
  std::filesystem::path file() const { return folder_ / "samples.npz"; }

  muffle::test::TemporaryFolder folder_;
};

/// Both scores of one record, by the formulas of the page, in long double and without care for underflow.
std::pair<double, double> reference(double x1, double x2, int y) {
  const long double s = 0.2L, pi = std::acos(-1.0L);
  long double sum = 0.0L;
  for (int column = 0; column < 5; ++column) {
    for (int row = 0; row < 5; ++row) {
      if ((column + 2 * row) % 5 != y) continue;
      sum += std::exp(-((x1 - column) * (x1 - column) + (x2 - row) * (x2 - row)) / (2 * s * s));
    }
  }
  return {static_cast<double>(-std::log(sum / (25 * 2 * pi * s * s))),
          static_cast<double>(-std::log(sum / (25 * std::sqrt(2 * pi) * s)))};
}

TEST_F(MixtureNll, MatchesAPlainLoop) {
  const std::vector<float> points{0, 0, 0.25f, -0.5f, 3.75f, 1.5f, 2.5f, 2.5f, -1, 5};
  const std::vector<std::uint8_t> labels{0, 1, 2, 3, 4};
  double want_true = 0.0, want_authors = 0.0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto [t, a] = reference(points[2 * i], points[2 * i + 1], labels[i]);
    want_true += t;
    want_authors += a;
  }
  const nlohmann::json got = score(points, labels);
  EXPECT_EQ(got["records"], 5);
  EXPECT_NEAR(got["nll_true"], want_true, 1e-12 * std::fabs(want_true));
  EXPECT_NEAR(got["nll_authors_convention"], want_authors, 1e-12 * std::fabs(want_authors));
  EXPECT_NEAR(got["per_90000_true"], want_true * 18000, 1e-7 * std::fabs(want_true));
  EXPECT_NEAR(got["per_90000_authors_convention"], want_authors * 18000, 1e-7 * std::fabs(want_authors));
}

TEST_F(MixtureNll, ItsSeriesAreDensities) {
  test::write_records(file(), {{2}, {}, {0.05f, 2, 0.05f, 2, 3.05f, 2, 3.05f, 99}, {0, 1, 2, 3}});
  Subject subject;
  subject.samples = file();
  const Findings found = find_kind(metric_kinds(), "mixture-nll", "metric").make()->score(subject);
  ASSERT_EQ(found.series.size(), 2u);
  const auto integral = [](const FoundSeries::Line& line) {
    double sum = 0;
    for (const double density : line.values) sum += 0.1 * density;
    return sum;
  };
  EXPECT_NEAR(integral(found.series[0].lines[0]), 1.0, 1e-9);
  EXPECT_NEAR(integral(found.series[1].lines[0]), 0.75, 1e-9);  // one of four is far away
  EXPECT_NEAR(integral(found.series[0].lines[1]), 1.0, 1e-4);   // the mixture's own
  EXPECT_NEAR(found.series[0].at[10], 0.05, 1e-9);
  EXPECT_NEAR(found.series[0].lines[0].values[10], 0.5 / 0.1, 1e-9);
}

TEST_F(MixtureNll, MuffleDataScoresWhatThePapersDataDoes) {
  data::write_mixture(folder_.path());
  const auto stream = data::open_records({.dir = folder_.path().string(),
                                          .features = "mixture-train-points.idx",
                                          .labels = "mixture-train-labels.idx",
                                          .schema = {{2}, 5}});
  std::vector<float> x;
  std::vector<std::uint8_t> plain;
  for (data::Row row; plain.size() < stream->records();) {
    stream->read(row);
    x.insert(x.end(), row.floats.begin(), row.floats.end());
    plain.push_back(static_cast<std::uint8_t>(row.label));
  }
  const nlohmann::json got = score(x, plain);
  ASSERT_EQ(got["records"], 90000);
  // Expected: 90,000 (log 25 + 2 log(sqrt(2 pi) 0.2) + 1) = 2.5541e5, and 0.6214e5 more; r^2 / (2 s^2) is
  // exponential, so the sum's standard deviation is 300: five of them. The next centre of the class is
  // sqrt(5) away and adds nothing.
  EXPECT_NEAR(got["per_90000_true"], 255412.0, 1500.0);
  EXPECT_NEAR(got["per_90000_authors_convention"], 317559.0, 1500.0);
  EXPECT_NEAR(double{got["per_90000_authors_convention"]} - double{got["per_90000_true"]}, 0.62e5, 0.01e5);

  // Wrong labels must cost: the score is the density of y's class, not of the whole mixture.
  for (std::uint8_t& label : plain) label = static_cast<std::uint8_t>((label + 1) % 5);
  EXPECT_GT(double{score(x, plain)["per_90000_true"]}, 1.0e6);
}

TEST_F(MixtureNll, FarPointsDoNotUnderflow) {
  const nlohmann::json got = score({1000.0f, 1000.0f}, {0});
  // Nearest centre of class 0: the grid's corner side; the exponent dominates everything else.
  EXPECT_NEAR(got["nll_true"], (997.0 * 997.0 + 996.0 * 996.0) / 0.08, 1e5);
}

TEST_F(MixtureNll, RefusesWhatIsNotTheMixture) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  expect_error(ExitCode::kData, {"samples.npz", "no records"}, [&] { score({}, {}); });
  expect_error(ExitCode::kData, {"record 1 ", "finite"}, [&] { score({0, 0, nan, 0}, {0, 0}); });
  expect_error(ExitCode::kData, {"record 0 ", "finite"}, [&] { score({0, inf}, {0}); });
  expect_error(ExitCode::kData, {"record 0 ", "0..4"}, [&] { score({0, 0}, {5}); });
  test::write_records(file(), {{1, 1, 2}, {1, 2}, {}, {0}});
  expect_error(ExitCode::kData, {"samples.npz", "these are bytes"}, [&] { scores_of(file()); });
  expect_error(ExitCode::kIo, {"absent.npz"}, [&] { scores_of(folder_ / "absent.npz"); });
}

}  // namespace
}  // namespace muffle::evaluate
