#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "muffle/schema/schema.hpp"

namespace muffle::evaluate {

/// Labelled records in memory, as a classifier is trained on them.
struct TrainingSet {
  torch::Tensor x;  ///< n x dims, float32, scaled to [0, 1]
  torch::Tensor y;  ///< n, int64, in 0..C-1
};

enum class ClassifierKind {
  /// Multinomial, L2 penalty ||W||^2 / (2 n) as in scikit-learn with C = 1.
  kLogisticRegression,
  /// One hidden layer of 100 ReLU units, Adam, batch 200, L2 1e-4: scikit-learn's MLPClassifier, with a
  /// learning rate
  /// that falls to zero in a fixed number of steps instead of a stopping rule.
  kMlp,
  /// conv 3x3 (stride 2) 16, ReLU, conv 3x3 32, max pool 2, ReLU, linear. The stride halves the image before
  /// the
  /// costly layer, so that 60,000 images take seconds.
  kCnn,
};

/// "logistic_regression", "mlp", "cnn". @throws ConfigError that lists them.
ClassifierKind classifier_kind(const std::string& name);
std::string classifier_name(ClassifierKind kind);

/// Whether this kind of classifier can look at such records: all but the CNN at all, the CNN at images of at
/// least 3 x 3 pixels.
bool classifier_applies(ClassifierKind kind, const schema::Schema& schema);

/// A trained classifier. Immutable; copies share their parameters.
class Classifier {
 public:
  /// Parameters in the order of their use, weight and bias by turns.
  Classifier(ClassifierKind kind, const schema::Schema& schema, std::vector<torch::Tensor> parameters);

  /// @param x  n x dims, float32, scaled to [0, 1]
  /// @returns unnormalised log-probabilities, n x C.
  torch::Tensor logits(const torch::Tensor& x) const;
  /// The likeliest class of each record, n, int64. Without gradients.
  torch::Tensor predict(const torch::Tensor& x) const;

  const std::vector<torch::Tensor>& parameters() const { return parameters_; }

 private:
  ClassifierKind kind_;
  schema::Schema schema_;
  std::vector<torch::Tensor> parameters_;
};

/// Steps that training this kind on n records takes; a step's cost differs between kinds.
std::uint64_t training_steps(ClassifierKind kind, std::uint64_t records);

/// Trains on the calling thread. A pure function of its arguments (for one build and, with LibTorch set to
/// more than one thread, one thread count): initial values and shuffles come from counter-based streams, not
/// from LibTorch's generator. Several may be trained at a time by different threads.
/// @param on_step  called after every step, on the calling thread.
/// The set needs at least one record; checks on its content are evaluate_classifiers()'s.
Classifier train_classifier(ClassifierKind kind, const TrainingSet& set, const schema::Schema& schema,
                            std::uint64_t seed, const std::function<void()>& on_step);

}  // namespace muffle::evaluate
