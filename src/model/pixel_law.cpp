#include "pixel_law.hpp"

#include <cmath>

#include "muffle/model/clipped_normal.hpp"

namespace muffle::model {

PixelLaw make_pixel_law(const features::AffineLift& lift, const Eigen::VectorXd& mean,
                        const Eigen::MatrixXd& factor) {
  const std::size_t d = lift.origin.size();
  PixelLaw law{std::vector<double>(d), std::vector<double>(d), std::vector<double>(d)};
  lift.back(mean.data(), law.centre.data());
  std::vector<double> variance(d), x(d);
  for (Eigen::Index j = 0; j < factor.cols(); ++j) {
    const Eigen::VectorXd u = mean + factor.col(j);
    lift.back(u.data(), x.data());
    for (std::size_t i = 0; i < d; ++i) variance[i] += (x[i] - law.centre[i]) * (x[i] - law.centre[i]);
  }
  for (std::size_t i = 0; i < d; ++i) {
    const ClippedNormal fitted = fit_clipped_normal({law.centre[i], variance[i]});
    law.location[i] = fitted.location;
    // A number that never varies has no g to stretch.
    law.stretch[i] = variance[i] > 0 ? fitted.scale / std::sqrt(variance[i]) : 0.0;
  }
  return law;
}

}  // namespace muffle::model
