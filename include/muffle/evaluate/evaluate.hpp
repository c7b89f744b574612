#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muffle/evaluate/metric.hpp"
#include "muffle/features/perceptual.hpp"

namespace muffle::evaluate {

/// The names in the table of classifiers (classifiers.hpp).
std::vector<std::string> classifier_names();
/// Those that are trained unasked: without what takes hours on a processor.
std::vector<std::string> default_classifiers();

/// Channels of the CNN's last convolution.
inline constexpr std::size_t kCnnChannels = 32;
/// Numbers that its last layer reads of an image; 0: it cannot look at such records.
inline std::size_t cnn_width(const schema::Schema& schema) {
  const auto halved_twice = [](std::size_t side) { return (side + 1) / 2 / 2; };
  return schema.is_image() ? kCnnChannels * halved_twice(schema.shape[1]) * halved_twice(schema.shape[2]) : 0;
}

/// Which classifiers are trained, and on what.
struct EvaluateSpec {
  std::vector<std::string> classifiers = default_classifiers();
  bool also_real = false;  ///< the same classifiers trained on real data beside it
  /// Use only the first so many synthetic (and real) training records; 0: all.
  std::uint64_t train_limit = 0;
  /// Each classifier once more on the first so many synthetic records alone.
  std::vector<std::size_t> train_sizes = {};
  std::uint64_t epochs = 0;  ///< 0: each classifier's own plan
  std::uint64_t seed = 1;
};

/// How often each class was taken for each other one: what accuracy and F1 are computed from, in one pass
/// over any number of test records. Memory: C x C counts.
class ConfusionMatrix {
 public:
  /// @param classes  C >= 1.
  explicit ConfusionMatrix(std::size_t classes);

  /// Counts one test record; both in 0..C-1. @throws InvariantError otherwise.
  void add(std::size_t truth, std::size_t predicted);

  /// Share of records whose class was found; 0 with no records.
  double accuracy() const;
  /// Unweighted mean over all C classes of F1 = 2 TP / (2 TP + FP + FN); a class never predicted and never
  /// true counts 0 (scikit-learn's f1_score with labels = 0..C-1, average = "macro", zero_division = 0).
  double macro_f1() const;
  /// The same, each class by its share of the records (average = "weighted"); 0 with no records.
  double weighted_f1() const;

 private:
  struct OfClass {
    std::uint64_t records = 0;  ///< whose class it is
    double f1 = 0.0;
  };
  OfClass of_class(std::size_t c) const;
  std::uint64_t at(std::size_t truth, std::size_t predicted) const {
    return cells_[truth * classes_ + predicted];
  }

  std::size_t classes_;
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> cells_;
};

/// One classifier's score on real test records.
struct Score {
  std::string name;
  double accuracy = 0.0;
  double macro_f1 = 0.0;  ///< unweighted mean over classes; a class never predicted and never true counts 0
};

/// Of each classifier, trained on the first `records` synthetic records.
struct AccuraciesOf {
  std::size_t records = 0;
  std::vector<double> accuracies;
};

/// Scores on real test records: not covered by the guarantee of the release.
struct ClassifierReport {
  std::vector<Score> synthetic;        ///< trained on synthetic records
  std::vector<Score> real;             ///< trained on real records, on request
  std::vector<AccuraciesOf> of_sizes;  ///< trained on so few synthetic records, on request; ascending
  /// What was left out and why, such as the CNN for records that are not images.
  std::vector<std::string> notes;
};

/// Train on synthetic, test on real (single process). Reads REAL data: its result is not covered by the
/// release's guarantee, and choosing anything by it costs privacy; callers say so.
/// @param subject  `train` is used only with also_real; if its `records` is 0, m is private and no progress
/// is shown. `threads` classifiers are trained at a time, each by one thread: the scores do not depend on it.
/// The process's thread counts are set back afterwards. `heartbeat` is called while files are read, after
/// every training step and before every batch of test records, by one thread at a time; what it throws ends
/// the evaluation at once and comes out of here.
/// @throws IoError; ConfigError: an unknown or repeated classifier; DataError: unlabelled data, records of
/// another size than the test data's, a label outside the schema, a class (or all but one) without records.
ClassifierReport evaluate_classifiers(const Subject& subject, const EvaluateSpec& spec);

/// Squared Frechet distances to the real test images, in the penultimate layer of the CNN.
struct FeatureDistances {
  double synthetic = 0.0;
  double real_training = 0.0;  ///< of the images that the CNN was trained on
};

/// Trains the CNN on subject.train, one thread, and compares images by what its last layer reads of them:
/// normal laws with their means and covariances. F = cnn_width() numbers a record: memory F^2, and order
/// F^3 in time. Reads REAL data, training and test records: not covered by the release's guarantee.
/// @throws IoError; DataError: as evaluate_classifiers(), or fewer than two test records.
FeatureDistances feature_distances(const Subject& subject);

/// Squared Frechet distances in what a public network makes of images.
struct NetworkDistances {
  std::uint64_t samples = 0;       ///< synthetic images
  double synthetic = 0.0;          ///< from real test images to synthetic ones
  std::optional<double> training;  ///< from real training images to synthetic ones
  std::optional<double> floor;     ///< from real training images to real test images
};

/// Compares images by the outputs that `spec` names, as they are (its weights, moments and norm are of
/// releases): normal laws with their means and covariances of F = spec.numbers(). Memory F^2, order F^3.
/// @param own  against the release's own records, too. Reads REAL data: not covered by the guarantee.
/// @throws IoError; ConfigError  the network is not what the spec says, or fails; DataError  fewer than two
/// images, or it makes numbers that are not finite.
NetworkDistances network_distances(const Subject& subject, const features::PerceptualSpec& spec, bool own);

}  // namespace muffle::evaluate
