#pragma once

#include <cstdint>
#include <vector>

#include "muffle/release/artifact.hpp"

namespace muffle::release {

/// t: training has 1.02 times the noise, and what judges it 5.1 times.
inline constexpr double kHeldOut = 0.2;
/// What the noise's variance is multiplied by in each.
inline constexpr double kTrainedNoise = 1.0 + kHeldOut * kHeldOut;
inline constexpr double kHeldOutNoise = 1.0 + 1.0 / (kHeldOut * kHeldOut);

/// Divides a release's numbers S + e in two: S + e + t z, to be trained on, take their place, and S + e - z /
/// t, to judge by, are returned, in the same order. z is drawn with the deviation that e is known to have.
/// Both errors are normal and their covariance is 0, so what a training fits of one is none of the other's
/// (Gaussian data fission: Leiner, Duan, Wasserman, Ramdas, JASA 2025; docs/math.md, "training"). Class
/// counts are in both as they are, and so are all numbers of a release without noise. A function of the
/// release and the seed alone, the same on every machine. Public: post-processing, at no further cost.
std::vector<std::int64_t> hold_out(Artifact& release, std::uint64_t seed);

}  // namespace muffle::release
