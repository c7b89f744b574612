#include "muffle/features/cuda_block.hpp"

namespace muffle::features {

#define MUFFLE_KIND(kind) CudaKind kind##_cuda_block();
#include "cuda_kinds.inc"

std::unique_ptr<Block> make_cuda_block(const FeatureMap& map, const Lattice& lattice, int device) {
  const CudaKind table[] = {
#define MUFFLE_KIND(kind) kind##_cuda_block(),
#include "cuda_kinds.inc"
  };
  for (const CudaKind& kind : table) {
    if (kind.name == map.kind()) return kind.make(map, lattice, device);
  }
  return nullptr;
}

}  // namespace muffle::features
