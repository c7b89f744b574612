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

/// A kind of feature map's differentiable twin (map_twin.hpp), described without LibTorch.
struct TwinKind {
  std::string_view name;  ///< the map's kind
  /// Columns of MapTwin::class_sums(). 0: such a map has no twin.
  std::size_t (*columns)(const features::FeatureMap& map);
  std::unique_ptr<MapTwin> (*make)(const features::FeatureMap& map, const TwinPlace& place);
  bool relaxed = false;  ///< its records are relaxed ones (features::MixedLayout), n x width()
};

/// The table of all kinds (src/model/twin_kinds.inc).
std::span<const TwinKind> twin_kinds();
/// How many numbers of each class a training on this map matches. 0: no network can be trained on it.
std::size_t twin_columns(const features::FeatureMap& map);
/// Can only a network be trained on it that makes relaxed records?
bool takes_relaxed(const features::FeatureMap& map);
/// For messages, the names of the maps that a network is trained on by themselves: without second moments.
std::string trainable_maps();

}  // namespace muffle::model
