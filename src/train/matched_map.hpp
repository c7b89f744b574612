#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "muffle/features/feature_map.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/train/objective.hpp"

namespace muffle::train {

/// A map of a release as a training matches it.
struct MatchedMap {
  std::string name;
  Matching matching;  ///< each class weighs as column_weight says, squared; the map's own weight is left out
  double weight = 1.0;      ///< of the map in the release
  double noise_square = 0;  ///< expected ||noise||^2 in a row of the target
};

/// Rebuilds the map. @param target  of the release: its class weights
/// @throws ProtocolError  it is another than the release's.
MatchedMap match_map(const release::Artifact& release, std::size_t map, const release::Target& target,
                     const torch::Device& device);

/// Standard deviation of the noise in a number of the map's mean embedding. @throws ConfigError  it is not
/// the same in all.
double noise_per_number(const release::Artifact& release, std::size_t map, double records);

}  // namespace muffle::train
