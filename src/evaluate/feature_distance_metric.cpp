#include <fmt/format.h>

#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "rounded.hpp"

namespace muffle::evaluate {
namespace {

/// Beyond, their covariances would take gigabytes and their roots an hour.
constexpr std::size_t kMostActivations = 4096;

/// How far synthetic images are from real ones, as a CNN sees them that was trained on real ones.
class FeatureDistanceMetric final : public Metric {
 public:
  std::string_view kind() const override { return "feature-distance"; }
  std::unique_ptr<Metric> clone() const override { return std::make_unique<FeatureDistanceMetric>(*this); }

  std::vector<data::DataSpec> real_records(const data::DataSpec& test,
                                           const data::DataSpec& train) const override {
    return {test, train};
  }

  bool reads_own_records() const override { return true; }

  void problems(const data::Settings& data, settings::Problems& p) const override {
    needs(!data.test_features.empty() && data::find_format(data.format).labels_problem(data.test()).empty(),
          "needs data.test_features and data.test_labels", p);
    needs(!data.features.empty(), "trains on real records, but data.features names no file", p);
    needs(
        data.shards != data::ShardRule::kPerRank,
        "trains on all real records in one process, and with one file a rank (data.shards = \"per-rank\") no "
        "process may read them all: leave it out",
        p);
    needs(data.schema.classes >= 2, "needs data.classes of at least 2", p);
    shape_problems(data.schema, p);
  }

  void sample_problems(const schema::Schema& schema, std::uint64_t count,
                       settings::Problems& p) const override {
    shape_problems(schema, p);
    needs(count >= schema.classes, "needs a sample of every class, but sample.count is below data.classes",
          p);
  }

  Findings score(const Subject& subject) const override {
    settings::Problems wrong;
    shape_problems(subject.test.schema, wrong);
    if (!wrong.empty()) throw ConfigError(wrong.take().front() + ".");
    const FeatureDistances found = feature_distances(subject);
    const Fineness fine = fineness_of_own(subject);
    Findings out;
    out.tables.push_back(
        {"distance to real test images in a CNN's activations",
         {"distance"},
         {{"synthetic images", {fine.number_cell(found.synthetic, {"feature_distance", "synthetic"})}},
          {"real training images",
           {fine.number_cell(found.real_training, {"feature_distance", "real_training"})}}}});
    return out;
  }

 private:
  static void needs(bool met, std::string_view what, settings::Problems& p) {
    p.unless(met, fmt::format("evaluate.metrics has \"feature-distance\", which {}", what));
  }
  static void shape_problems(const schema::Schema& schema, settings::Problems& p) {
    const std::size_t width = cnn_width(schema);
    needs(width > 0, "needs images of at least 3 x 3 pixels", p);
    needs(width <= kMostActivations,
          fmt::format("compares {} activations of such an image, above {}: leave it out, or make the images "
                      "smaller (44 x 44 pixels will do)",
                      width, kMostActivations),
          p);
  }
};

}  // namespace

std::unique_ptr<Metric> make_feature_distance_metric() { return std::make_unique<FeatureDistanceMetric>(); }

}  // namespace muffle::evaluate
