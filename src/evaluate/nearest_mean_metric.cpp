#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/text.hpp"
#include "muffle/data/format.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "muffle/networks/network_block.hpp"
#include "muffle/release/artifact.hpp"
#include "rounded.hpp"

namespace muffle::evaluate {
namespace {

/// So many features of records are held at once.
constexpr std::size_t kMostFeatures = std::size_t{1} << 22;
/// Of what is apart in a stretch: below, it would have no say, and where no stretch has more, none would.
constexpr double kLeastShare = 1e-4;

using features::CoordinateRun;
using release::Artifact;

/// Does the map release a mean of each class?
bool has_means(const features::NamedMap& map) {
  return map.labelled && !map.minibatches && !map.map->tables();
}

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

/// The classes' noisy mean embeddings by one map, in units of its features, drawn together by their noise.
class ClassMeans {
 public:
  ClassMeans(const Artifact& a, std::size_t b)
      : runs_(a.maps[b].map->coordinates(a.lattice)),
        means_(static_cast<Eigen::Index>(a.classes()), static_cast<Eigen::Index>(a.features(b))),
        offsets_(Eigen::VectorXf::Zero(means_.rows())) {
    const std::vector<double> counts = believed_counts(a);
    const std::int64_t* sum = a.values.data() + a.offset(b);
    // What the noise is expected to add to a mean's squares, number by number and class by class.
    Eigen::MatrixXf noise(means_.rows(), means_.cols());
    for (Eigen::Index c = 0; c < means_.rows(); ++c) {
      const double count = counts[static_cast<std::size_t>(c)];
      Eigen::Index j = 0;
      for (std::size_t r = 0; r < runs_.size(); ++r) {
        const double unit = runs_[r].unit * count;
        const double sigma = count > 0 ? release::carried_sigma(a, a.aggregation, b, r) / unit : 0.0;
        for (std::uint64_t i = 0; i < runs_[r].count; ++i, ++j, ++sum) {
          means_(c, j) = count > 0 ? static_cast<float>(static_cast<double>(*sum) / unit) : 0.0f;
          noise(c, j) = static_cast<float>(sigma * sigma);
        }
      }
    }
    std::vector<Eigen::Index> there;
    for (Eigen::Index c = 0; c < means_.rows(); ++c) {
      if (counts[static_cast<std::size_t>(c)] > 0) {
        there.push_back(c);
      } else {  // nobody is given a class that the noise has emptied
        offsets_(c) = std::numeric_limits<float>::infinity();
      }
    }
    Eigen::Index begin = 0;
    for (const std::size_t stretch : a.maps[b].map->stretches()) {
      const auto n = static_cast<Eigen::Index>(stretch);
      draw_together(means_.middleCols(begin, n), noise.middleCols(begin, n), there);
      begin += n;
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
  /// Moves the means toward their middle: by the fourth root of that share of their squared distances from it
  /// that is not expected of noise. (James and Stein's is the share itself, docs/reference/metrics.md.) What
  /// the noise adds to their squares is left out of those.
  void draw_together(Eigen::Block<Eigen::MatrixXf, Eigen::Dynamic, Eigen::Dynamic, true> means,
                     const Eigen::Block<Eigen::MatrixXf, Eigen::Dynamic, Eigen::Dynamic, true>& noise,
                     const std::vector<Eigen::Index>& classes) {
    if (classes.empty()) return;
    const auto count = static_cast<double>(classes.size());
    Eigen::VectorXd middle = Eigen::VectorXd::Zero(means.cols());
    for (const Eigen::Index c : classes) middle += means.row(c).transpose().cast<double>() / count;
    double apart = 0.0, expected = 0.0;
    for (const Eigen::Index c : classes) {
      apart += (means.row(c).transpose().cast<double>() - middle).squaredNorm();
      expected += noise.row(c).cast<double>().sum() * (1.0 - 1.0 / count);
    }
    const double share = apart > 0.0 ? std::max(kLeastShare, 1.0 - expected / apart) : 1.0;
    const double factor = std::sqrt(std::sqrt(share));
    double of_all = 0.0;  // of the middle's noise, which all classes have
    for (const Eigen::Index c : classes) of_all += noise.row(c).cast<double>().sum() / (count * count);
    for (const Eigen::Index c : classes) {
      const Eigen::VectorXd drawn = middle + factor * (means.row(c).transpose().cast<double>() - middle);
      means.row(c) = drawn.transpose().cast<float>();
      // mean = factor x noise of its own + (1 - factor) x that of the middle, of which 1 / count is its own.
      const double own = noise.row(c).cast<double>().sum();
      const double added = factor * factor * own + 2.0 * factor * (1.0 - factor) * own / count +
                           (1.0 - factor) * (1.0 - factor) * of_all;
      offsets_(c) += static_cast<float>((drawn.squaredNorm() - added) / 2);
    }
  }

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
    if (a.schema.table && a.schema.table->counted_person())
      throw ConfigError(fmt::format(
          "evaluate.metrics has \"nearest-mean\", and records of {} have the number of the row among its "
          "person's (rows, in the schema), which single ones have not. Leave the metric out.",
          name));
    const schema::Schema& other = subject.test.schema;
    if (a.schema.shape != other.shape || a.classes() != other.classes || a.schema.lo != other.lo ||
        a.schema.hi != other.hi)
      throw ConfigError(
          fmt::format("{} was made of records of another shape, other classes or other bounds than "
                      "data.shape, data.classes, "
                      "data.lo and data.hi say of data.test_features. Correct whichever is wrong.",
                      name));
    if (!schema::class_names_agree(a.schema, other))
      throw ConfigError(
          fmt::format("{} has other classes than data.class_names says of data.test_features, or "
                      "the same in another order: {}. Correct whichever is wrong.",
                      name, printable(fmt::format("{}", fmt::join(a.schema.class_names, ", ")))));
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
                      "(labelled = true, minibatches = 0).",
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
