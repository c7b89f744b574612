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

/// x -> omega x and back by this processor's own kernels: O(D log d') for a record. For trainings on the CPU;
/// public numbers. Immutable and thread-safe.
class StructuredPhases {
 public:
  static constexpr std::size_t kRecords = 16;  ///< most at a time; fewer take as long

  /// @param dims  numbers of a record, at most frequencies.size
  StructuredPhases(StructuredFrequencies frequencies, std::size_t dims);
  /// In turns. @param x  n x dims @param phases  n x frequencies, written
  void phases(const float* x, std::size_t n, float* phases) const;
  /// The gradient in x, of that in the phases (in turns). @param of_phases  n x frequencies @param x  n x
  /// dims, written
  void gradients(const float* of_phases, std::size_t n, float* x) const;

 private:
  StructuredFrequencies frequencies_;
  std::size_t dims_;
  std::vector<float> ones_, factors_;
};

}  // namespace muffle::features
