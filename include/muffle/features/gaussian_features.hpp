#pragma once

#include <string>

#include "muffle/features/feature_map.hpp"

namespace muffle::features {

/// What else a map may be good for: its features stand for the Gaussian kernel of whole records, exp(-||x -
/// x'||^2 / (2 l^2)), with an error that more of them make smaller. So the kernel itself may take their place
/// where records are compared without noise (train.match = "records").
class GaussianFeatures {
 public:
  virtual ~GaussianFeatures() = default;
  /// l, in units of records scaled to [0, 1].
  virtual double length_scale() const = 0;
};

/// Null: the map's kernel is another one.
inline const GaussianFeatures* gaussian_features(const FeatureMap& map) {
  return dynamic_cast<const GaussianFeatures*>(&map);
}
/// For messages, the names of the kinds that are.
std::string gaussian_maps();

}  // namespace muffle::features
