#pragma once

#include <memory>
#include <string_view>

#include "muffle/features/feature_map.hpp"

namespace muffle::features {

/// FeatureMap::make_block() on a GPU; null where the kind has none. Only in builds with MUFFLE_CUDA (library
/// muffle::features_cuda). The same integers as on the CPU are intended, one lattice step per record and
/// coordinate is allowed (docs/how-to/gpus.md); they do not depend on the GPU's model, the grid or the order.
/// The norm check is made on the integers that are added: the proven bound holds whatever the GPU computes.
///
/// Thread-safe; each workspace has a stream and device memory of its own: about tile() (4 d + 4 D) bytes and
/// the sums. Privacy: it holds records and sums while it lives; its end, also after an error, overwrites them
/// with zeros, on the device and in the pinned host memory that they pass through.
/// @param device  number of the GPU as this process sees it
/// @throws ConfigError as FeatureMap::make_block(); DeviceError, as do accumulate() and make_workspace().
std::unique_ptr<Block> make_cuda_block(const FeatureMap& map, const Lattice& lattice, int device);

/// A line of the table (src/features/cuda_kinds.inc).
struct CudaKind {
  std::string_view name;  ///< FeatureMap::kind()
  std::unique_ptr<Block> (*make)(const FeatureMap& map, const Lattice& lattice, int device);
};

}  // namespace muffle::features
