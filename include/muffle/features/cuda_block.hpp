#pragma once

#include <memory>
#include <string_view>

#include "muffle/features/feature_map.hpp"

namespace muffle::features {

/// FeatureMap::make_block() on a GPU; null where the kind has none (src/features/cuda_kinds.inc). Only in
/// builds with MUFFLE_CUDA (library muffle::features_cuda). The same integers as on the CPU are intended, and
/// one lattice step per record and coordinate is allowed (docs/how-to/gpus.md); among GPUs they do not depend
/// on the model, the grid or the order. The norm check is made on the integers that are added, so the proven
/// bound holds whatever the GPU computes.
///
/// Thread-safe; each workspace has a stream and device memory of its own: about tile() (4 d + 4 D) bytes and
/// the sums. Privacy: records and sums lie in device memory while a workspace lives; its end, also after an
/// error, overwrites them with zeros, on the device and in the pinned host memory that they pass through.
/// @param device  number of the GPU as this process sees it
/// accumulate() and make_workspace() throw DeviceError when CUDA fails. @throws ConfigError as
/// FeatureMap::make_block(); DeviceError.
std::unique_ptr<Block> make_cuda_block(const FeatureMap& map, const Lattice& lattice, int device);

/// A line of the table (src/features/cuda_kinds.inc).
struct CudaKind {
  std::string_view name;  ///< FeatureMap::kind()
  std::unique_ptr<Block> (*make)(const FeatureMap& map, const Lattice& lattice, int device);
};

}  // namespace muffle::features
