// Linear discriminant analysis: normal classes with one covariance.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <memory>

#include "linear_scores.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kBlock = 512;        ///< rows that are dense at a time
constexpr double kLeastSingular = 1e-4;    ///< of the whitened rows: what varies less is left out
constexpr double kConstantSpread = 1e-12;  ///< rounding
/// Of images: how much of the covariance is taken from what all their numbers have in common, the mean
/// variance times the identity.
constexpr double kShrinkage = 0.5;

/// Calls add(block, first) for all rows, dense.
template <class Add>
void over_blocks(const Rows& rows, const Heartbeat& heartbeat, Add&& add) {
  DenseRows block;
  for (std::size_t first = 0; first < rows.size(); first += kBlock) {
    beat(heartbeat);
    expand(rows, first, std::min(kBlock, rows.size() - first), block);
    add(block, first);
  }
}

}  // namespace

std::unique_ptr<TableClassifier> train_lda(const Rows& rows, std::uint64_t, const Heartbeat& heartbeat) {
  const auto classes = static_cast<Eigen::Index>(rows.classes);
  const auto width = static_cast<Eigen::Index>(rows.features->width());
  const Eigen::VectorXd sizes = class_sizes(rows);
  const double n = static_cast<double>(rows.size());
  Eigen::MatrixXd means = Eigen::MatrixXd::Zero(classes, width);
  over_blocks(rows, heartbeat, [&](const DenseRows& block, std::size_t first) {
    for (Eigen::Index i = 0; i < block.rows(); ++i)
      means.row(rows.y[first + static_cast<std::size_t>(i)]) += block.row(i);
  });
  const Eigen::RowVectorXd mean = means.colwise().sum() / n;
  means.array().colwise() /= sizes.array();

  Eigen::MatrixXd within = Eigen::MatrixXd::Zero(width, width);
  over_blocks(rows, heartbeat, [&](DenseRows& block, std::size_t first) {
    for (Eigen::Index i = 0; i < block.rows(); ++i)
      block.row(i) -= means.row(rows.y[first + static_cast<std::size_t>(i)]);
    within.selfadjointView<Eigen::Lower>().rankUpdate(block.transpose());
  });
  const bool shrunk = rows.features->are_of_images();
  if (shrunk) {
    const double common = within.diagonal().mean();
    within *= 1.0 - kShrinkage;
    within.diagonal().array() += kShrinkage * common;
  }
  Eigen::VectorXd spreads = (within.diagonal() / n).cwiseSqrt();
  spreads = (spreads.array() > kConstantSpread).select(spreads, 1.0);
  const double degrees = shrunk ? n : std::max(n - rows.classes, 1.0);
  const Eigen::VectorXd scale = spreads.cwiseInverse() / std::sqrt(degrees);
  within = scale.asDiagonal() * Eigen::MatrixXd(within.selfadjointView<Eigen::Lower>()) * scale.asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(within);
  const Eigen::VectorXd values = eigen.eigenvalues();
  const Eigen::VectorXd inverses = (values.array() > kLeastSingular * kLeastSingular)
                                       .select(values.cwiseInverse(), Eigen::VectorXd::Zero(width));

  const Eigen::MatrixXd directions = spreads.cwiseInverse().asDiagonal() * eigen.eigenvectors();
  means.rowwise() -= mean;
  const Eigen::MatrixXd weights = means * directions * inverses.asDiagonal() * directions.transpose();
  const Eigen::VectorXd intercepts = (sizes.array() / n).log() -
                                     0.5 * (weights.array() * means.array()).rowwise().sum() -
                                     (weights * mean.transpose()).array();
  return std::make_unique<LinearScores>(weights, intercepts);
}

}  // namespace muffle::evaluate
