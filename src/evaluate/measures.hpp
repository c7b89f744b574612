#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace muffle::evaluate {

/// How well scores put the positives first. Equal scores are one step. Of scikit-learn: roc_auc_score,
/// average_precision_score, and auc() over the points of precision_recall_curve.
struct Ranking {
  double roc_auc = 0.0;
  double average_precision = 0.0;  ///< sum over steps of precision times the gain in recall
  double pr_trapezoids = 0.0;      ///< between the steps' points, from (recall 0, precision 1) on
};

/// @param positive  of each score; both classes must be there
Ranking rank_scores(std::span<const double> scores, std::span<const bool> positive);

/// What is said of one classifier. Of two classes the second is the positive one; of more, the areas are the
/// means over the classes, each against the others.
struct Measures {
  double accuracy = 0.0;
  double macro_f1 = 0.0;      ///< ConfusionMatrix::macro_f1()
  double weighted_f1 = 0.0;   ///< ConfusionMatrix::weighted_f1()
  double roc_auc = 0.0;       ///< of the scores
  double pr_auc = 0.0;        ///< their average precision
  double roc_auc_hard = 0.0;  ///< of the predicted labels, 0 or 1
  double pr_auc_hard = 0.0;   ///< theirs, by trapezoids
};

/// One name and field after the other, in the order in which they are shown.
struct MeasureName {
  const char* name;
  double Measures::*field;
};
std::span<const MeasureName> measure_names();

/// @param truth  n labels in 0..C-1, every class among them
/// @param scores  n x C, row-major: the predicted class has the largest, the first of equal ones
/// @throws InvariantError  a score that is not finite.
Measures measure(std::span<const std::int32_t> truth, std::span<const double> scores, std::size_t classes);

}  // namespace muffle::evaluate
