#include <torch/torch.h>

#include "muffle/evaluate/classifiers.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "muffle/synth/sampler.hpp"
#include "spread_sums.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::int64_t kBatch = 1000;
constexpr std::uint64_t kSeed = 1;  ///< of the CNN: distances by different ones cannot be compared

Spread spread_of(const TrainingSet& set, const Classifier& cnn, const Heartbeat& heartbeat) {
  SpreadSums sums;
  for (std::int64_t first = 0; first < set.x.size(0); first += kBatch) {
    beat(heartbeat);
    sums.add(cnn.activations(set.x.slice(0, first, first + kBatch)));
  }
  return sums.spread();
}

}  // namespace

FeatureDistances feature_distances(const Subject& subject) {
  const schema::Schema& schema = subject.test.schema;
  const TrainingSet synthetic = read_synthetic(subject.samples, schema, 0, subject.heartbeat);
  const TrainingSet train = read_real(subject.train, 0, subject.heartbeat);
  const synth::ScopedThreads one(1);
  const ClassifierKind& kind = classifier_kind("cnn");
  const Classifier cnn =
      train_classifier(kind, kind.plan, train, schema, kSeed, [&] { beat(subject.heartbeat); });
  const FrechetDistance distance(spread_of_records(
      subject.test, [&](const torch::Tensor& x) { return cnn.activations(x); }, subject.heartbeat));
  const auto to = [&](const TrainingSet& set) {
    const Spread spread = spread_of(set, cnn, subject.heartbeat);
    beat(subject.heartbeat);
    return distance.to(spread);
  };
  return {to(synthetic), to(train)};
}

}  // namespace muffle::evaluate
