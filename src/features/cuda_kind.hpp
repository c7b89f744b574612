#pragma once

#include <memory>
#include <string_view>

#include "muffle/features/feature_map.hpp"

namespace muffle::features {

/// A line of cuda_kinds.inc.
struct CudaKind {
  std::string_view name;  ///< FeatureMap::kind()
  std::unique_ptr<Block> (*make)(const FeatureMap& map, const Lattice& lattice, int device);
};

}  // namespace muffle::features
