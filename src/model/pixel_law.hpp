#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "muffle/features/lift.hpp"

namespace muffle::model {

/// Substream of Stream::kSampleLatent with the coins that choose between a record's two laws.
constexpr std::uint32_t kCoinSubstream = 1;

/// How the numbers of one class's records follow from u = mean + factor e, g = back(u) - centre: d each.
struct PixelLaw {
  std::vector<double> centre;             ///< back(mean): the plain law is clip(centre + g)
  std::vector<double> location, stretch;  ///< of the law that keeps the moments: clip(location + stretch g)
};

PixelLaw make_pixel_law(const features::AffineLift& lift, const Eigen::VectorXd& mean,
                        const Eigen::MatrixXd& factor);

}  // namespace muffle::model
