#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "muffle/features/feature_map.hpp"
#include "muffle/features/gaussian_features.hpp"

namespace muffle::features {

/// Structured frequencies (docs/math.md, "feature maps"): rows of blocks
///   omega = diag(length) H D1 H D2 H D3,
/// H the orthonormal Hadamard matrix of size d', a power of two that records are padded to with zeros, D1 to
/// D3 diagonals of random signs. A pure function of the map's settings.
struct StructuredFrequencies {
  std::size_t size = 0;  ///< d', at least 64: with fewer numbers rows would repeat each other
  std::size_t blocks =
      0;  ///< whose rows, one after the other, are the frequencies; the last may have too many
  /// Of D3, then D2, then D1: blocks x size numbers 1 or -1.
  std::array<std::vector<float>, 3> signs;
  /// Of each frequency, in radians: chi-distributed with d' degrees of freedom, as normal vectors are, / l.
  std::vector<double> lengths;
};

/// The kind "structured-rff", as its twin sees it: cosines of all frequencies, then their sines.
class StructuredRffMap : public FeatureMap, public GaussianFeatures {
 public:
  virtual StructuredFrequencies frequencies() const = 0;
};

}  // namespace muffle::features
