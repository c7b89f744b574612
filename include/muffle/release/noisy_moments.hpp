#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "muffle/features/lift.hpp"
#include "muffle/release/artifact.hpp"

namespace muffle::release {

/// The second moments of a release as real numbers. Public; everything computed from it is post-processing.
struct NoisyMoments {
  std::size_t classes = 1;          ///< C
  std::size_t order = 0;            ///< q = 1 + n
  features::SecondMoments moments;  ///< the lift that was used, built
  /// C x q x q row-major, each q x q symmetric: the sum over a class's records of z z^T (not the mean), ||z||
  /// = 1 (up to the lattice), plus the noise below. A class's trace is its noisy number of records.
  std::vector<double> second;
  /// Standard deviation of the noise in an entry, same units: independent from entry to entry but for the
  /// symmetry. off_diagonal is diagonal / sqrt(2), up to rounding.
  double noise_diagonal = 0.0, noise_off_diagonal = 0.0;
  /// m; under add/remove-one the sum of the noisy counts, or else of the traces; at least 1.
  double records = 0.0;

  std::span<const double> of_class(std::size_t c) const {
    return std::span(second).subspan(c * order * order, order * order);
  }
};

/// @throws ConfigError  the release holds no second moments (the message says which setting makes one).
/// @throws ProtocolError  this muffle rebuilds another lift than the release's.
/// @throws DataError  m is private and the noisy counts or traces sum to less than one record.
NoisyMoments make_noisy_moments(const Artifact& artifact);

}  // namespace muffle::release
