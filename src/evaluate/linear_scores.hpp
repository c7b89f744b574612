#pragma once

#include <Eigen/Core>

#include "table_classifier.hpp"

namespace muffle::evaluate {

/// Scores that are linear in the features.
class LinearScores final : public TableClassifier {
 public:
  /// @param weights  C x F  @param intercepts  C
  LinearScores(Eigen::MatrixXd weights, Eigen::VectorXd intercepts);
  void score(const Rows& rows, std::span<double> scores) const override;

 private:
  Eigen::MatrixXd weights_;  ///< column-major: a feature's are side by side
  Eigen::VectorXd intercepts_;
};

/// x as a dense matrix, rows first .. first + n - 1 of it, for closed forms: n x F.
using DenseRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
void expand(const Rows& rows, std::size_t first, std::size_t n, DenseRows& out);

/// How many rows each class has, C.
Eigen::VectorXd class_sizes(const Rows& rows);

}  // namespace muffle::evaluate
