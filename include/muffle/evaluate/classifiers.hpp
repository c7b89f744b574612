#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/data/source.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::evaluate {

/// Labelled records in memory, as a classifier is trained on them.
struct TrainingSet {
  torch::Tensor x;  ///< n x dims, float32, scaled to [0, 1]
  torch::Tensor y;  ///< n, int64, in 0..C-1
};

/// The first `limit` (0: all) records of synthetic records, scaled to [0, 1]: bytes by 1/255, floats by the
/// schema's bounds and clamped to them. @throws IoError; DataError: another number of values per record than
/// the schema, a value that is not finite, a label >= C, or a class without a record.
/// @param heartbeat  called from time to time; what it throws comes out of here.
TrainingSet read_synthetic(const std::filesystem::path& path, const schema::Schema& schema,
                           std::uint64_t limit, const Heartbeat& heartbeat);

/// The first `limit` (0: all) records of real data, without those whose label the schema does not know
/// (on_error clamp).
/// @throws IoError; DataError, also for a class without a record: which one is a local detail.
TrainingSet read_real(const data::DataSpec& spec, std::uint64_t limit, const Heartbeat& heartbeat);

/// How one kind is trained. Synthetic records are noisy: the schedules end by steps, not by a score that
/// could be followed into the noise.
struct TrainingPlan {
  std::int64_t epochs;
  std::int64_t batch;
  double learning_rate;    ///< peak; rises in the first of `parts` of the steps, then falls linearly to zero
  double l2;               ///< per weight, not per bias; negative: 1 / n
  std::int64_t min_steps;  ///< small sets are passed over more often
  double parts = 20.0;
  double momentum = 0.0;   ///< of stochastic gradient descent; 0: Adam
  double smoothing = 0.0;  ///< of labels: this share of each is spread over all classes
};

/// Numbers of a classifier. Copies share them.
struct Weights {
  std::vector<torch::Tensor> learned;  ///< in the order of their use, weight and bias by turns
  /// Means and variances of what normalised weights make, by turns: running ones while it is trained.
  std::vector<torch::Tensor> running;
  bool training = false;
};

/// A line of the table of classifiers, cheapest first.
struct ClassifierKind {
  std::string_view name;
  std::uint32_t stream;  ///< of its random numbers: no two are alike, so that no score depends on which
                         ///< others are asked for
  TrainingPlan plan;
  std::vector<std::vector<std::int64_t>> (*weight_shapes)(const schema::Schema& schema);
  /// The penultimate layer, n x F, of which the last one makes logits: a linear layer in every kind.
  torch::Tensor (*activations)(const Weights& weights, const schema::Schema& schema, const torch::Tensor& x);
  /// Whether it can look at such records.
  bool (*applies)(const schema::Schema& schema);
  std::string_view needs = "";  ///< such records, in words
  std::size_t normalised = 0;   ///< what the first so many weights make is normalised over a batch
  /// Images are mirrored, left and right, at random while it is trained; a class is that of the mean of an
  /// image's and its mirror image's logits.
  bool mirrors = false;
};

/// One of the table: logistic_regression, mlp, cnn, resnet9. @throws ConfigError  an unknown name.
const ClassifierKind& classifier_kind(const std::string& name);

/// A trained classifier. Copies share their weights.
struct Classifier {
  const ClassifierKind* kind = nullptr;
  schema::Schema schema;
  Weights weights;

  /// @param x  n x dims, float32, scaled to [0, 1]
  /// @returns unnormalised log-probabilities, n x C.
  torch::Tensor logits(const torch::Tensor& x) const;
  /// What the last layer reads, n x F. Without gradients.
  torch::Tensor activations(const torch::Tensor& x) const;
  /// The likeliest class of each record, n, int64. Without gradients.
  torch::Tensor predict(const torch::Tensor& x) const;
};

/// The kind's own plan; with `epochs`, so many passes instead, however few the records.
TrainingPlan plan_of(const ClassifierKind& kind, std::uint64_t epochs);

/// Steps that training by this plan on n records takes; a step's cost differs between kinds.
std::uint64_t training_steps(const TrainingPlan& plan, std::uint64_t records);

/// Trains on the calling thread. A pure function of its arguments (for one build and, with LibTorch set to
/// more than one thread, one thread count): initial values and shuffles come from counter-based streams, not
/// from LibTorch's generator. Several may be trained at a time by different threads.
/// @param heartbeat  called before every step, on the calling thread.
/// The set needs at least one record; checks on its content are evaluate_classifiers()'s.
Classifier train_classifier(const ClassifierKind& kind, const TrainingPlan& plan, const TrainingSet& set,
                            const schema::Schema& schema, std::uint64_t seed, const Heartbeat& heartbeat);

}  // namespace muffle::evaluate
