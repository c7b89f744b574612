#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/data/format.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "muffle/networks/network_block.hpp"
#include "muffle/release/artifact.hpp"
#include "rounded.hpp"

namespace muffle::evaluate {
namespace {

/// So many features of records are held at once.
constexpr std::size_t kMostFeatures = std::size_t{1} << 22;

using features::CoordinateRun;
using release::Artifact;

/// Does the map release a mean of each class?
bool has_means(const features::NamedMap& map) { return map.labelled && !map.map->tables(); }

/// Each class's records, at least one and one standard deviation of a count's noise (as
/// release::make_target() has them); 0: by the noisy counts it has none. Without counts, or if all are empty:
/// all equal.
std::vector<double> believed_counts(const Artifact& a) {
  const std::size_t classes = a.classes();
  const auto noisy = release::noisy_counts(a);
  if (!noisy || std::none_of(noisy->counts.begin(), noisy->counts.end(), [](double n) { return n > 0; }))
    return std::vector<double>(classes, std::max(1.0, release::records_of(a) / static_cast<double>(classes)));
  std::vector<double> out = noisy->counts;
  for (double& n : out) n = n > 0 ? std::max({1.0, noisy->sigma, n}) : 0.0;
  return out;
}

/// The classes' noisy mean embeddings by one map, in units of its features.
class ClassMeans {
 public:
  ClassMeans(const Artifact& a, std::size_t b)
      : runs_(a.maps[b].map->coordinates(a.lattice)),
        means_(static_cast<Eigen::Index>(a.classes()), static_cast<Eigen::Index>(a.features(b))),
        offsets_(means_.rows()) {
    const std::vector<double> counts = believed_counts(a);
    const std::int64_t* sum = a.values.data() + a.offset(b);
    for (Eigen::Index c = 0; c < means_.rows(); ++c) {
      const double count = counts[static_cast<std::size_t>(c)];
      if (count <= 0) {  // nobody is given a class that the noise has emptied
        means_.row(c).setZero();
        offsets_(c) = std::numeric_limits<float>::infinity();
        sum += means_.cols();
        continue;
      }
      double square = 0.0;
      Eigen::Index j = 0;
      for (std::size_t r = 0; r < runs_.size(); ++r) {
        const double unit = runs_[r].unit * count;
        const double sigma = release::carried_sigma(a, a.aggregation, b, r) / unit;
        for (std::uint64_t i = 0; i < runs_[r].count; ++i) {
          const double mean = static_cast<double>(*sum++) / unit;
          means_(c, j++) = static_cast<float>(mean);
          square += mean * mean - sigma * sigma;  // without what the noise adds to it
        }
      }
      offsets_(c) = static_cast<float>(square / 2);
    }
  }

  /// The class whose mean is nearest to each record's features.
  /// @param sums  n x D, lattice units
  std::vector<std::size_t> nearest(std::span<const std::uint64_t> sums, std::size_t n) const {
    Eigen::MatrixXf features(means_.cols(), static_cast<Eigen::Index>(n));
    const std::uint64_t* sum = sums.data();
    float* feature = features.data();
    for (std::size_t i = 0; i < n; ++i) {
      for (const CoordinateRun& run : runs_) {
        for (std::uint64_t j = 0; j < run.count; ++j)
          *feature++ = static_cast<float>(static_cast<double>(static_cast<std::int64_t>(*sum++)) / run.unit);
      }
    }
    const Eigen::MatrixXf scores = (means_ * features).colwise() - offsets_;
    std::vector<std::size_t> out;
    for (Eigen::Index i = 0; i < scores.cols(); ++i) {
      Eigen::Index best = 0;
      scores.col(i).maxCoeff(&best);
      out.push_back(static_cast<std::size_t>(best));
    }
    return out;
  }

 private:
  std::vector<CoordinateRun> runs_;
  Eigen::MatrixXf means_;    ///< C x D
  Eigen::VectorXf offsets_;  ///< half their squares
};

/// Held-out records are given the class whose mean in the release is nearest: what the release itself
/// carries, before anything is made of it.
class NearestMeanMetric final : public Metric {
 public:
  std::string_view kind() const override { return "nearest-mean"; }
  std::unique_ptr<Metric> clone() const override { return std::make_unique<NearestMeanMetric>(*this); }

  std::vector<data::DataSpec> real_records(const data::DataSpec& test, const data::DataSpec&) const override {
    return {test};
  }

  void problems(const data::Settings& data, settings::Problems& p) const override {
    needs(!data.test_features.empty() && data::find_format(data.format).labels_problem(data.test()).empty(),
          "needs data.test_features and data.test_labels", p);
    needs(data.schema.classes >= 2, "needs data.classes of at least 2", p);
  }

  Findings score(const Subject& subject) const override {
    const std::string name = fmt::format("'{}'", subject.release.string());
    if (subject.release.empty() || !std::filesystem::exists(subject.release))
      throw ConfigError(
          fmt::format("evaluate.metrics has \"nearest-mean\", which reads the release, and there is none at "
                      "{}: give it with --release.",
                      name));
    Artifact a = release::parse_artifact(read_file(subject.release), name);
    const std::string hash = release::artifact_hash(a);
    features::find_assets(a.maps, subject.assets);
    if (a.schema.table && a.schema.table->target())
      throw ConfigError(fmt::format(
          "evaluate.metrics has \"nearest-mean\", and {} has no mean of each class: its label was "
          "counted like any other column. Leave the metric out, or release with data.label_as = "
          "\"class\".",
          name));
    const schema::Schema& other = subject.test.schema;
    if (a.schema.shape != other.shape || a.classes() != other.classes || a.schema.lo != other.lo ||
        a.schema.hi != other.hi)
      throw ConfigError(
          fmt::format("{} was made of records of another shape, other classes or other bounds than "
                      "data.shape, data.classes, "
                      "data.lo and data.hi say of data.test_features. Correct whichever is wrong.",
                      name));
    Findings out;
    out.facts["release_hash"] = hash;
    if (!a.is_private) out.facts["is_private"] = false;
    FoundTable& table = out.tables.emplace_back();
    table.title = "nearest noisy mean";
    table.columns = {"accuracy", "macro F1"};
    for (std::size_t b = 0; b < a.maps.size(); ++b) {
      if (!has_means(a.maps[b])) continue;
      const ConfusionMatrix found = read_out(a, b, subject);
      const std::string& map = a.maps[b].name;
      const Fineness fine;
      table.rows.push_back({map,
                            {fine.share_cell(found.accuracy(), {"nearest_mean", map, "accuracy"}),
                             fine.share_cell(found.macro_f1(), {"nearest_mean", map, "macro_f1"})}});
    }
    if (table.rows.empty())
      throw ConfigError(
          fmt::format("evaluate.metrics has \"nearest-mean\", and no map of {} has a mean of each class "
                      "(labelled = true).",
                      name));
    return out;
  }

 private:
  static void needs(bool met, std::string_view what, settings::Problems& p) {
    p.unless(met, fmt::format("evaluate.metrics has \"nearest-mean\", which {}", what));
  }

  static ConfusionMatrix read_out(const Artifact& a, std::size_t b, const Subject& subject) {
    release::check_map(a, b);
    const features::FeatureMap& map = *a.maps[b].map;
    std::unique_ptr<features::Block> block = networks::make_network_block(map, a.lattice);
    if (!block) block = map.make_block(a.lattice);
    const ClassMeans means(a, b);
    const auto workspace = block->make_workspace();
    const auto source = data::open_shard(subject.test, 0, 1);
    ConfusionMatrix found(a.classes());
    // Each record of a tile is summed as if it were a class of its own.
    const std::size_t tile = std::clamp<std::size_t>(kMostFeatures / block->features(), 1, block->tile());
    std::vector<std::int32_t> own(tile);
    std::iota(own.begin(), own.end(), 0);
    std::vector<std::uint64_t> sums;
    data::Batch batch;
    for (source->next(tile, batch); batch.n > 0; source->next(tile, batch)) {
      beat(subject.heartbeat);
      sums.assign(batch.n * block->features(), 0);
      block->accumulate(batch.x.data(), own.data(), batch.n, *workspace, sums);
      const std::vector<std::size_t> classes = means.nearest(sums, batch.n);
      for (std::size_t i = 0; i < batch.n; ++i) {
        if (batch.y[i] != schema::kNoClass) found.add(static_cast<std::size_t>(batch.y[i]), classes[i]);
      }
    }
    return found;
  }
};

}  // namespace

std::unique_ptr<Metric> make_nearest_mean_metric() { return std::make_unique<NearestMeanMetric>(); }

}  // namespace muffle::evaluate
