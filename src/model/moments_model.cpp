#include "muffle/model/moments_model.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>

#include "muffle/core/error.hpp"
#include "muffle/model/class_gaussians.hpp"
#include "muffle/model/generator_kind.hpp"

namespace muffle::model {
namespace {

/// F with F F^T = covariance, which may be singular.
Eigen::MatrixXd root(const Eigen::MatrixXd& covariance) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  return solver.eigenvectors() * solver.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal();
}

}  // namespace

const features::SecondMoments* moments_of(const std::vector<features::NamedMap>& maps) {
  for (const features::NamedMap& map : maps) {
    if (map.role == features::MapRole::kMatch && map.map->has_second_moments())
      return map.map->second_moments();
  }
  return nullptr;
}

void check_model_size(const features::SecondMoments& moments, std::size_t classes,
                      settings::Problems& problems) {
  problems.unless(
      moments_model_bytes(moments.order(), classes) <= static_cast<double>(kMostModelBytes),
      fmt::format("the coefficients of the second moments and data.classes make a closed form that is larger "
                  "than a model file, {} MB: use fewer coefficients",
                  kMostModelBytes / 1'000'000));
}

MomentsModel fit_moments_model(const release::NoisyMoments& moments, double plain_share,
                               const Heartbeat& heartbeat) {
  MomentsModel model;
  model.plain_share = plain_share;
  model.moments = moments.moments;
  const bool affine = moments.moments.lift->affine() != nullptr;
  if (const double bytes = moments_model_bytes(moments.order, moments.classes);
      affine && bytes > static_cast<double>(kMostModelBytes)) {
    throw ConfigError(fmt::format(
        "the closed form of {} classes with {} coefficients takes {:.1f} GB, more than a model file "
        "holds ({:.1f} GB). Release moments with fewer coefficients (the map's coefficients), or train "
        "on the release's random features.",
        moments.classes, moments.order - 1, bytes * 1e-9, static_cast<double>(kMostModelBytes) * 1e-9));
  }
  if (!affine) {
    model.grid = fit_grid_density(moments, heartbeat);
    return model;
  }
  ClassGaussians laws = fit_class_gaussians(moments, heartbeat);
  model.mean = std::move(laws.mean);
  for (const Eigen::MatrixXd& covariance : laws.covariance) {
    beat(heartbeat);
    model.factor.push_back(root(covariance));
  }
  return model;
}

}  // namespace muffle::model
