#include <torch/torch.h>

#include <utility>

#include "frechet.hpp"
#include "muffle/core/error.hpp"
#include "muffle/evaluate/classifiers.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "muffle/synth/sampler.hpp"

namespace muffle::evaluate {
namespace {

using torch::Tensor;

constexpr std::int64_t kBatch = 1000;
constexpr std::uint64_t kSeed = 1;  ///< of the CNN: distances by different ones cannot be compared

/// Sums of the CNN's activations, in double. Memory does not grow with the records.
class Sums {
 public:
  Sums(const Classifier& cnn, const Heartbeat& heartbeat) : cnn_(cnn), heartbeat_(heartbeat) {}

  /// @param x  n x dims, scaled to [0, 1]
  void add(const Tensor& x) {
    for (std::int64_t first = 0; first < x.size(0); first += kBatch) {
      beat(heartbeat_);
      const Tensor a = cnn_.activations(x.slice(0, first, first + kBatch)).to(torch::kFloat64);
      const Tensor sum = a.sum(0), products = torch::mm(a.t(), a);
      sum_ = n_ == 0 ? sum : sum_ + sum;
      products_ = n_ == 0 ? products : products_.add_(products);
      n_ += a.size(0);
    }
  }

  std::int64_t records() const { return n_; }

  Spread spread() const {
    const Tensor mean = sum_ / static_cast<double>(n_);
    const Tensor covariance =
        ((products_ - torch::outer(sum_, mean)) / static_cast<double>(n_ - 1)).contiguous();
    return {Eigen::Map<const Eigen::VectorXd>(mean.data_ptr<double>(), mean.size(0)),
            Eigen::Map<const Eigen::MatrixXd>(covariance.data_ptr<double>(), mean.size(0), mean.size(0))};
  }

 private:
  const Classifier& cnn_;
  const Heartbeat& heartbeat_;
  std::int64_t n_ = 0;
  Tensor sum_, products_;
};

Spread spread_of_test(const Classifier& cnn, const Subject& subject) {
  const auto source = data::open_shard(subject.test, 0, 1);
  const auto dims = static_cast<std::int64_t>(subject.test.schema.dims());
  Sums sums(cnn, subject.heartbeat);
  data::Batch batch;
  for (source->next(kBatch, batch); batch.n > 0; source->next(kBatch, batch)) {
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < batch.n; ++i) {
      if (batch.y[i] != schema::kNoClass) rows.push_back(static_cast<std::int64_t>(i));
    }
    const Tensor all = torch::from_blob(batch.x.data(), {static_cast<std::int64_t>(batch.n), dims});
    sums.add(all.index_select(0, torch::tensor(rows, torch::kInt64)));
  }
  if (sums.records() < 2) {
    throw DataError("'" + data::resolve_path(subject.test, subject.test.features, 0) +
                    "' has no two records to compare samples with: name the right test files.");
  }
  return sums.spread();
}

Spread spread_of(const TrainingSet& set, const Classifier& cnn, const Heartbeat& heartbeat) {
  Sums sums(cnn, heartbeat);
  sums.add(set.x);
  return sums.spread();
}

}  // namespace

FeatureDistances feature_distances(const Subject& subject) {
  const schema::Schema& schema = subject.test.schema;
  const TrainingSet synthetic = read_synthetic(subject.samples, schema, 0, subject.heartbeat);
  const TrainingSet train = read_real(subject.train, 0, subject.heartbeat);
  const synth::ScopedThreads one(1);
  const Classifier cnn =
      train_classifier(classifier_kind("cnn"), train, schema, kSeed, [&] { beat(subject.heartbeat); });
  const FrechetDistance distance(spread_of_test(cnn, subject));
  const auto to = [&](const TrainingSet& set) {
    const Spread spread = spread_of(set, cnn, subject.heartbeat);
    beat(subject.heartbeat);
    return distance.to(spread);
  };
  return {to(synthetic), to(train)};
}

}  // namespace muffle::evaluate
