#pragma once

#include <cstddef>
#include <vector>

#include "muffle/features/feature_map.hpp"

namespace muffle::train {

/// The maps of a release that a network is trained on, all at once: those of role `match` that have a twin
/// (model/twin_kind.hpp). Second moments are for closed forms, and only a training that starts from one
/// (train.init = "moments") is trained on them too; they come first.
std::vector<std::size_t> matched_maps(const std::vector<features::NamedMap>& maps, bool from_moments);

}  // namespace muffle::train
