#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "muffle/features/feature_map.hpp"
#include "muffle/features/gaussian_features.hpp"

namespace muffle::features {

/// How the frequencies omega_j of a map are drawn.
enum class FrequencyKind {
  kDense,       ///< omega_j ~ N(0, I / l^2), independent
  kOrthogonal,  ///< blocks of orthogonal rows with chi-distributed norms (Yu et al., NeurIPS 2016)
};

/// Random Fourier features (Rahimi & Recht 2007), as in DP-MERF:
/// phi(x) = sqrt(2/D) [cos(omega_1 . x) ... cos(omega_{D/2} . x); sin(omega_1 . x) ... ], norm exactly 1.
struct RffSpec {
  std::size_t dims = 0;       ///< d: numbers per record
  std::size_t features = 0;   ///< D, even
  double length_scale = 1.0;  ///< l, 1e-20 to 1e20, in units of the scaled record ([0,1] per column)
  FrequencyKind kind = FrequencyKind::kDense;
  std::uint64_t seed = 1;  ///< public
};

/// The frequencies in cycles: omega_j / (2 pi), (D/2) x d, row-major float32. A pure function of the spec
/// (Philox and IEEE basic operations only): the same bits on every machine and with all kernels.
/// @throws ConfigError  D odd or 0, d 0, length-scale out of its range.
std::vector<float> rff_frequencies(const RffSpec& spec, const Kernels& kernels = best_kernels());

/// What a cosine or sine is multiplied by before truncation: just below sqrt(2/D) (2^k - 1), so far below
/// that no rounding error can lift a record's integer norm above 2^k. With float32 sines and cosines,
///   cos^2 + sin^2 <= 1 + 2^-22        (every float phase; held by a test), so each pair is at most 1 + 2^-23
///   long, the product rounds up by a factor of at most 1 + 2^-24, and truncation only shrinks;
/// the factor 1 - 2^-22 covers both, and the result is rounded down to a float. So a record whose phases are
/// finite is never rejected; the price is a relative error of 3e-7, a fraction of a lattice step per sine.
float rff_lattice_scale(std::size_t features, const Lattice& lattice);

/// Each value is a fixed chain of fused multiply-adds: the sums are the same bits whatever the vector width.
std::unique_ptr<Block> make_rff_block(const RffSpec& spec, const Lattice& lattice,
                                      const Kernels& kernels = best_kernels());

/// The kind "rff" of feature maps, as its twin for training and its GPU block see it.
class RffMap : public FeatureMap, public GaussianFeatures {
 public:
  virtual const RffSpec& spec() const = 0;
  double length_scale() const final { return spec().length_scale; }
};
/// @param spec  as resolve() leaves it
std::unique_ptr<FeatureMap> make_rff_map(const RffSpec& spec);

}  // namespace muffle::features
