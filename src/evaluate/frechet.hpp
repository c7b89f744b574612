#pragma once

#include <Eigen/Core>

namespace muffle::evaluate {

/// Mean and covariance of vectors of F numbers.
struct Spread {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
};

/// Squared Frechet distances of normal laws to one of them (docs/reference/metrics.md).
class FrechetDistance {
 public:
  explicit FrechetDistance(Spread reference);
  /// ||mu1 - mu2||^2 + tr(C1 + C2 - 2 (C1 C2)^(1/2)), not below 0. Order F^3.
  double to(const Spread& other) const;

 private:
  Spread reference_;
  Eigen::MatrixXd root_;  ///< of its covariance, symmetric
};

}  // namespace muffle::evaluate
