#include "frechet.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <utility>

namespace muffle::evaluate {

FrechetDistance::FrechetDistance(Spread reference) : reference_(std::move(reference)) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(reference_.covariance);
  root_ = solver.eigenvectors() * solver.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal() *
          solver.eigenvectors().transpose();
}

double FrechetDistance::to(const Spread& other) const {
  // (C1 C2)^(1/2) has the trace of (C1^(1/2) C2 C1^(1/2))^(1/2), whose argument is symmetric.
  const Eigen::MatrixXd product = root_ * other.covariance * root_;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(product, Eigen::EigenvaluesOnly);
  const double roots = solver.eigenvalues().cwiseMax(0.0).cwiseSqrt().sum();
  return std::max(0.0, (reference_.mean - other.mean).squaredNorm() + reference_.covariance.trace() +
                           other.covariance.trace() - 2 * roots);
}

}  // namespace muffle::evaluate
