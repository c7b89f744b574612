#pragma once

#include <limits>

namespace muffle::moments {

/// Of one number of a record, in units of [0, 1]. Post-processing.
struct MeanVariance {
  double mean = 0.0, variance = 0.0;
};

/// The law of clip(X, 0, 1), X normal. Post-processing; pure functions; thread-safe.
struct ClippedNormal {
  double location = 0.0;  ///< mean of X
  double scale = 1.0;     ///< standard deviation of X, above 0

  /// Mean and variance of clip(X, 0, 1).
  MeanVariance moments() const;
};

/// What fit_clipped_normal() makes of moments that no clipped normal has, or hardly one: the mean is taken
/// from kLeastMean to 1 - kLeastMean, the variance from kLeastVariance to kLargestShare mean (1 - mean), of
/// which a law on [0, 1] has at most all.
inline constexpr double kLeastMean = 0.002, kLeastVariance = 1e-6, kLargestShare = 0.95;
MeanVariance attainable(MeanVariance wanted);

/// The clipped normal with the mean and variance attainable(wanted), to about 1e-9 of each: the law that a
/// record's number gets, so that both survive the clipping. Where that takes a scale above `most_scale` (but
/// at least 1e-3), the law of that scale which has the mean. @throws InvariantError  `wanted` is not finite.
ClippedNormal fit_clipped_normal(MeanVariance wanted,
                                 double most_scale = std::numeric_limits<double>::infinity());

}  // namespace muffle::moments
