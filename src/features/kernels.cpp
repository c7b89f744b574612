#include "kernels.hpp"

#include <vector>

#include "muffle/features/rff.hpp"

namespace muffle::features {

std::span<const Kernels* const> supported_kernels() {
  static const auto supported = [] {
    std::vector<const Kernels*> list{&kGenericKernels};
#ifdef MUFFLE_X86_KERNELS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) list.push_back(&kAvx2Kernels);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma")) list.push_back(&kAvx512Kernels);
#endif
    return list;
  }();
  return supported;
}

const Kernels& best_kernels() { return *supported_kernels().back(); }

const char* kernel_variant() { return best_kernels().name; }

}  // namespace muffle::features
