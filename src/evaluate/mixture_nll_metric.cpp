#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"
#include "muffle/data/mixture.hpp"
#include "muffle/evaluate/metric.hpp"

namespace muffle::evaluate {
namespace {

constexpr int kCentres = data::kMixtureGrid * data::kMixtureGrid;
constexpr double kPapersRecords = 90000.0;
constexpr std::uint64_t kHeartbeatEvery = 100'000;  ///< records: some milliseconds

/// log sum exp(-r^2 / (2 s^2)) over the centres of class y; finite wherever the point is, for the nearest
/// centre's exponent is taken out first.
double log_sum_of_class(double x1, double x2, int y) {
  std::array<double, kCentres> exponents{};
  std::size_t n = 0;
  for (int column = 0; column < data::kMixtureGrid; ++column) {
    for (int row = 0; row < data::kMixtureGrid; ++row) {
      if (data::mixture_class(column, row) != y) continue;
      const double d1 = x1 - column, d2 = x2 - row;
      exponents[n++] = -(d1 * d1 + d2 * d2) / (2.0 * data::kMixtureStd * data::kMixtureStd);
    }
  }
  const double largest = *std::max_element(exponents.begin(), exponents.begin() + n);
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += std::exp(exponents[i] - largest);
  return largest + std::log(sum);
}

/// The points that the mixture has: two numbers, five classes.
schema::Schema mixture_schema() {
  schema::Schema schema;
  schema.shape = {2};
  schema.classes = data::kMixtureGrid;
  return schema;
}

/// Of one coordinate: how many samples lie in each bin around the centres.
class Density {
 public:
  void add(double x) {
    const double bin = std::floor((x - kFrom) / kWidth);
    if (bin >= 0 && bin < kBins) counts_[static_cast<std::size_t>(bin)] += 1.0;
    ++records_;
  }
  /// Beside the law's own: as many records at each of the centres.
  FoundSeries series(int coordinate) const {
    FoundSeries out{fmt::format("density along coordinate {}", coordinate),
                    fmt::format("coordinate {}", coordinate),
                    {},
                    {{"synthetic", {}}, {"the mixture", {}}}};
    for (std::size_t b = 0; b < counts_.size(); ++b) {
      const double x = kFrom + kWidth * (static_cast<double>(b) + 0.5);
      double law = 0;
      for (int centre = 0; centre < data::kMixtureGrid; ++centre) {
        const double z = (x - centre) / data::kMixtureStd;
        law +=
            std::exp(-z * z / 2) / (std::sqrt(2 * std::numbers::pi) * data::kMixtureStd * data::kMixtureGrid);
      }
      out.at.push_back(x);
      out.lines[0].values.push_back(counts_[b] / (records_ * kWidth));
      out.lines[1].values.push_back(law);
    }
    return out;
  }

 private:
  static constexpr double kFrom = -1.0, kWidth = 0.1, kBins = 60;
  std::array<double, 60> counts_{};
  double records_ = 0;
};

class MixtureNllMetric final : public Metric {
 public:
  std::string_view kind() const override { return "mixture-nll"; }
  std::unique_ptr<Metric> clone() const override { return std::make_unique<MixtureNllMetric>(*this); }

  void sample_problems(const schema::Schema& schema, std::uint64_t, settings::Problems& p) const override {
    p.unless(
        schema.shape == mixture_schema().shape && schema.classes <= mixture_schema().classes,
        "evaluate.metrics has \"mixture-nll\", which scores points of the 2-D mixture: data.shape = [2] and "
        "at most 5 classes");
  }

  /// Sums over records of -log p(x, y): true (the 25 centres' density, y's five of them), and with the
  /// authors' 1-D normaliser on 2-D data (0.69 per record higher); both also scaled to 90,000 records.
  /// @throws DataError  another shape or type, no records, a coordinate that is not finite, a label above 4.
  Findings score(const Subject& subject) const override {
    const std::string name = fmt::format("'{}'", subject.samples.string());
    data::DataSpec spec = data::written_records(subject.samples);
    spec.schema = mixture_schema();
    const auto records = data::open_records(spec);
    const std::uint64_t n = records->records();
    if (n == 0) throw DataError(name + " holds no records to score.");
    if (records->holds_bytes()) {
      throw DataError(name +
                      " does not hold points of the 2-D mixture: they are floats, and these are bytes.");
    }
    double sum = 0.0;
    Density first, second;
    data::Row row;
    for (std::uint64_t i = 0; i < n; ++i) {
      if (i % kHeartbeatEvery == 0) beat(subject.heartbeat);
      records->read(row);
      const double x1 = row.floats[0], x2 = row.floats[1];
      if (!std::isfinite(x1) || !std::isfinite(x2) || row.label < 0 || row.label >= data::kMixtureGrid) {
        throw DataError(fmt::format(
            "record {} (counting from 0) of {} is not a point of the 2-D mixture: its coordinates must "
            "be finite and its label in 0..{}.",
            i, name, data::kMixtureGrid - 1));
      }
      sum += log_sum_of_class(x1, x2, static_cast<int>(row.label));
      first.add(x1);
      second.add(x2);
    }
    records->expect_end();
    // One over sqrt(2 pi) s for each dimension that the convention counts.
    const double per_dimension = std::log(std::sqrt(2.0 * std::numbers::pi) * data::kMixtureStd);
    const double count = static_cast<double>(n), scaled = kPapersRecords / count;
    const double nll_true = -sum + count * (std::log(kCentres) + 2.0 * per_dimension);
    const double authors = -sum + count * (std::log(kCentres) + per_dimension);
    Findings out;
    FoundTable& table = out.tables.emplace_back();
    table.title = fmt::format("NLL of {} records", n);
    table.columns = {"of all", "per 90,000"};
    const auto add = [&](const char* convention, double nll, const char* all, const char* per) {
      table.rows.push_back({convention,
                            {{nll, fmt::format("{:.4g}", nll), {"mixture_nll", all}},
                             {nll * scaled, fmt::format("{:.4g}", nll * scaled), {"mixture_nll", per}}}});
    };
    add("authors' convention", authors, "nll_authors_convention", "per_90000_authors_convention");
    add("true", nll_true, "nll_true", "per_90000_true");
    out.series = {first.series(1), second.series(2)};
    out.facts["mixture_nll"] = {{"records", n}};
    return out;
  }
};

}  // namespace

std::unique_ptr<Metric> make_mixture_nll_metric() { return std::make_unique<MixtureNllMetric>(); }

}  // namespace muffle::evaluate
