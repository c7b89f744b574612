#pragma once

#include <cstdint>
#include <vector>

#include "muffle/release/artifact.hpp"

namespace muffle::release {

/// A release's numbers S + e once more, twice: S + e + t z to be trained on, and S + e - z / t to judge by, z
/// drawn with the deviation that e is known to have. Both errors are normal and their covariance is 0, so
/// what a training fits of one is none of the other's (Gaussian data fission: Leiner, Duan, Wasserman,
/// Ramdas, JASA 2025; docs/math.md, "held out"). Class counts are in both as they are.
struct Divided {
  std::vector<std::int64_t> trained;   ///< lattice units, in the order of Artifact::values
  std::vector<std::int64_t> held_out;  ///< likewise
};

/// t: training has 1.02 times the noise, and what judges it 5.1 times.
inline constexpr double kHeldOut = 0.2;
/// What the noise's variance is multiplied by in each.
inline constexpr double kTrainedNoise = 1.0 + kHeldOut * kHeldOut;
inline constexpr double kHeldOutNoise = 1.0 + 1.0 / (kHeldOut * kHeldOut);

/// A function of the release and the seed alone, the same on every machine. Of a release without noise both
/// are its numbers. Public: post-processing, at no further cost.
Divided divide(const Artifact& release, std::uint64_t seed);

}  // namespace muffle::release
