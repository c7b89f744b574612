#include "linear_scores.hpp"

#include <utility>

namespace muffle::evaluate {

LinearScores::LinearScores(Eigen::MatrixXd weights, Eigen::VectorXd intercepts)
    : weights_(std::move(weights)), intercepts_(std::move(intercepts)) {}

void LinearScores::score(const Rows& rows, std::span<double> scores) const {
  const Eigen::Index classes = intercepts_.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Eigen::Map<Eigen::VectorXd> out(scores.data() + i * rows.classes, classes);
    out = intercepts_;
    rows.features->visit(rows.row(i), [&](std::size_t feature, float value) {
      out += static_cast<double>(value) * weights_.col(static_cast<Eigen::Index>(feature));
    });
  }
}

void expand(const Rows& rows, std::size_t first, std::size_t n, DenseRows& out) {
  out.setZero(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(rows.features->width()));
  for (std::size_t i = 0; i < n; ++i) {
    rows.features->visit(rows.row(first + i), [&](std::size_t feature, float value) {
      out(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(feature)) = value;
    });
  }
}

Eigen::VectorXd class_sizes(const Rows& rows) {
  Eigen::VectorXd sizes = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(rows.classes));
  for (const std::int32_t y : rows.y) sizes[y] += 1.0;
  return sizes;
}

}  // namespace muffle::evaluate
