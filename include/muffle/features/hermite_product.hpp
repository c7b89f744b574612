#pragma once

#include <cstddef>
#include <vector>

#include "muffle/features/hermite_sum.hpp"

namespace muffle::features {

/// The kind "hermite-product" of feature maps, as its twin for training sees it. Features subset by subset;
/// of one, psi_{k1}(x_a1) ... psi_{kp}(x_ap) / sqrt(S), the last column's order the fastest.
class HermiteProductMap : public FeatureMap {
 public:
  virtual HermiteRecursion recursion() const = 0;
  /// S lists of p columns (0 .. d-1), ascending: drawn from the public seed, no two alike. After resolve().
  virtual const std::vector<std::vector<std::size_t>>& subsets() const = 0;
};

}  // namespace muffle::features
