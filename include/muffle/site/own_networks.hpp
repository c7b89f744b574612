#pragma once

#include <span>
#include <string>
#include <vector>

#include "muffle/features/feature_map.hpp"

namespace muffle::site {

/// Of the public networks that a site has (features.networks of its site.toml), those that a round's maps are
/// made by. A proposal says what a file is, never where one lies: no file is opened but the site's own.
struct OwnNetworks {
  features::AssetFiles files;       ///< by hash
  std::vector<std::string> others;  ///< what was found of the rest, for people at the site
};

/// Compares sizes, and hashes a file whose size fits. Reads none where no map is made by one.
OwnNetworks find_networks(std::span<const features::NamedMap> maps, std::span<const std::string> files);

/// The maps that are made by a network which is not there, in words, with what is; empty: none lacks one.
std::string lacking_networks(std::span<const features::NamedMap> maps, const OwnNetworks& own);

}  // namespace muffle::site
