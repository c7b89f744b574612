#include "muffle/model/moments_model.hpp"

#include <Eigen/Eigenvalues>

#include "muffle/model/class_gaussians.hpp"

namespace muffle::model {
namespace {

/// F with F F^T = covariance, which may be singular.
Eigen::MatrixXd root(const Eigen::MatrixXd& covariance) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  return solver.eigenvectors() * solver.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal();
}

}  // namespace

MomentsModel fit_moments_model(const embed::NoisyMoments& moments, ModelInfo info) {
  MomentsModel model;
  model.info = std::move(info);
  model.info.spec.kind = GeneratorKind::kMoments;
  model.lift = moments.spec;
  if (!features::MomentLift(moments.spec).is_affine()) {
    model.grid = fit_grid_density(moments);
    return model;
  }
  ClassGaussians laws = fit_class_gaussians(moments);
  model.mean = std::move(laws.mean);
  for (const Eigen::MatrixXd& covariance : laws.covariance) model.factor.push_back(root(covariance));
  return model;
}

}  // namespace muffle::model
