#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "muffle/features/feature_map.hpp"

namespace muffle::features {

/// The Hermite functions of the Gaussian kernel of length-scale l (docs/math.md, "feature maps"), by their
/// recursion: psi_0(t) = height exp(-fall t^2),  psi_k(t) = up_k t psi_{k-1}(t) - back_k psi_{k-2}(t). Stable
/// for |t| <= 1/2, k <= 200 and any stretch up to 25: every function stays below 1, its error below 1e-12.
struct HermiteRecursion {
  /// Of the first `count` functions; `height` and `fall` are left at 1 and 0.
  /// @param rho  of docs/math.md: 0 < rho < 1, rho / (1 - rho^2) = 1 / (2 l^2)
  HermiteRecursion(double rho, std::size_t count);
  /// Of the Gaussian kernel of length-scale l, its height and fall too: their squares add up to at most 1.
  /// @param stretch  g: they are the functions of g t and of length-scale g l, another basis of the same
  /// kernel
  static HermiteRecursion of_length_scale(double l, std::size_t count, double stretch = 1.0);

  double height = 1.0, fall = 0.0;
  std::vector<double> up, back;  ///< by order; those of order 0 are not used

  std::size_t count() const { return up.size(); }
  double first(double t) const { return height * std::exp(-fall * t * t); }
};

/// Which Hermite functions a map is of: settings of `hermite-sum` and `hermite-product`, public.
struct HermiteSettings {
  std::uint64_t order = 20;   ///< C: the functions 0 to C
  double length_scale = 0.1;  ///< l of the kernel, in units of records scaled to [0, 1]
  double stretch = 0.0;       ///< g; 0: left open, until resolve()

  void declare(settings::Keys& keys);
  /// @throws ConfigError  one is out of range, whether a configuration or a release says it
  void resolve();
  /// Fields of the map's JSON; a stretch of 1 is left out.
  void write(nlohmann::json& json) const;
  void read(const JsonFields& fields);
  HermiteRecursion recursion() const {
    return HermiteRecursion::of_length_scale(length_scale, static_cast<std::size_t>(order) + 1, stretch);
  }
};

/// The kind "hermite-sum" of feature maps, as its twin for training sees it. Features order by order: psi_k
/// of all d numbers, then psi_{k+1} of them.
class HermiteSumMap : public FeatureMap {
 public:
  virtual HermiteRecursion recursion() const = 0;
};

}  // namespace muffle::features
