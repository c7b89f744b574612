#include "muffle/train/maps.hpp"

#include <algorithm>

#include "muffle/model/twin_kind.hpp"

namespace muffle::train {

std::vector<std::size_t> matched_maps(const std::vector<features::NamedMap>& maps, bool from_moments) {
  std::vector<std::size_t> out;
  for (std::size_t b = 0; b < maps.size(); ++b) {
    const features::FeatureMap& map = *maps[b].map;
    const bool wanted =
        maps[b].role == features::MapRole::kMatch && (from_moments || !map.has_second_moments());
    if (wanted && model::twin_columns(map) > 0) out.push_back(b);
  }
  std::stable_partition(out.begin(), out.end(),
                        [&](std::size_t b) { return maps[b].map->has_second_moments(); });
  return out;
}

}  // namespace muffle::train
