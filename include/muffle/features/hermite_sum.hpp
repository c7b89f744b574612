#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "muffle/features/feature_map.hpp"

namespace muffle::features {

/// The Hermite functions of the Gaussian kernel of length-scale l (docs/math.md, "feature maps"), by their
/// recursion: psi_0(t) = height exp(-fall t^2),  psi_k(t) = up_k t psi_{k-1}(t) - back_k psi_{k-2}(t). Stable
/// for |t| <= 1/2, k <= 200: every function stays below 1, and its error below 1e-12.
struct HermiteRecursion {
  /// Of the first `count` functions; `height` and `fall` are left at 1 and 0.
  /// @param rho  of docs/math.md: 0 < rho < 1, rho / (1 - rho^2) = 1 / (2 l^2)
  HermiteRecursion(double rho, std::size_t count);
  /// Of the Gaussian kernel of length-scale l, its height and fall too: their squares add up to at most 1.
  static HermiteRecursion of_length_scale(double l, std::size_t count);

  double height = 1.0, fall = 0.0;
  std::vector<double> up, back;  ///< by order; those of order 0 are not used

  std::size_t count() const { return up.size(); }
  double first(double t) const { return height * std::exp(-fall * t * t); }
};

/// The kind "hermite-sum" of feature maps, as its twin for training sees it. Features order by order: psi_k
/// of all d numbers, then psi_{k+1} of them.
class HermiteSumMap : public FeatureMap {
 public:
  virtual HermiteRecursion recursion() const = 0;
};

}  // namespace muffle::features
