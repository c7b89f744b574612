#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "muffle/features/feature_map.hpp"

namespace muffle::model {

class MapTwin;
struct TwinPlace;

/// A kind of feature map's differentiable twin (map_twin.hpp): a line of the table
/// (src/model/twin_kinds.inc).
struct TwinKind {
  std::string_view name;  ///< the map's kind
  std::unique_ptr<MapTwin> (*make)(const features::FeatureMap& map, const TwinPlace& place);
};

/// The table of all kinds. In builds with LibTorch.
std::span<const TwinKind> twin_kinds();

// Read off the table and the maps, without LibTorch:

/// How many numbers of each class a training on this map matches, the columns of MapTwin::class_sums(). 0: no
/// network can be trained on it.
std::size_t twin_columns(const features::FeatureMap& map);
/// Can only a network be trained on it that makes relaxed records (features::MixedLayout)?
bool takes_relaxed(const features::FeatureMap& map);
/// For messages, the names of the maps that a network is trained on by themselves: without second moments.
std::string trainable_maps();

}  // namespace muffle::model
