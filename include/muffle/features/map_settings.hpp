#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "muffle/core/settings.hpp"
#include "muffle/features/feature_map.hpp"

namespace muffle::features {

/// The section [map.NAME] of a configuration: one feature map, before it is resolved. Copies are deep.
struct MapSettings {
  MapRole role = MapRole::kMatch;
  double weight = 1.0;
  std::unique_ptr<FeatureMap> map;  ///< null: its kind was not said yet

  MapSettings() = default;
  MapSettings(const MapSettings& other);
  MapSettings& operator=(MapSettings other);

  /// `kind`, `role` and `weight`, then those of the kind.
  void declare(settings::Keys& keys);
};

/// The sections [features] and [map.*]: what is released.
struct MapsSettings {
  Lattice lattice;
  std::map<std::string, MapSettings> maps;  ///< by name, in whose order they lie in the release

  /// Of [features]; the maps' own sections are declared one by one.
  void declare(settings::Keys& keys);
  /// FeatureMap::prepare() of every map.
  void prepare(const schema::Schema& schema);
  /// For the records that the schema describes.
  /// @throws ConfigError  with all problems of all maps.
  std::vector<NamedMap> resolved(const schema::Schema& schema) const;
};

}  // namespace muffle::features
