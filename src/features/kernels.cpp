#include "kernels.hpp"

#include "muffle/features/kernel_variant.hpp"

namespace muffle::features {

extern const Kernels kGenericKernels;
#ifdef MUFFLE_X86_KERNELS
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

namespace {

struct Supported {
  const Kernels* list[3] = {};
  std::size_t count = 0;

  Supported() {
    list[count++] = &kGenericKernels;
#ifdef MUFFLE_X86_KERNELS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) list[count++] = &kAvx2Kernels;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma")) list[count++] = &kAvx512Kernels;
#endif
  }
};

}  // namespace

std::span<const Kernels* const> supported_kernels() {
  static const Supported supported;
  return {supported.list, supported.count};
}

const Kernels& best_kernels() { return *supported_kernels().back(); }

const char* kernel_variant() { return best_kernels().name; }

}  // namespace muffle::features
