// The kernels in portable C++: slow where std::fma is a library call, and the same bits; and the choice.
#include <cmath>
#include <vector>

#include "kernels.hpp"
#include "muffle/features/rff.hpp"

namespace muffle::features {
namespace {

struct Simd {
  static constexpr std::size_t kLanes = 4, kVectors = 2, kGroup = 4;
  typedef float F __attribute__((vector_size(4 * kLanes)));
  typedef std::int32_t I __attribute__((vector_size(4 * kLanes)));
  typedef double D __attribute__((vector_size(4 * kLanes)));
  static constexpr std::size_t kRows = 2;
  static F fma(F a, F b, F c) {
    for (std::size_t l = 0; l < kLanes; ++l) c[l] = std::fma(a[l], b[l], c[l]);
    return c;
  }
  static D fma(D a, D b, D c) { return a * b + c; }  // of integers: exact either way
  static void keep(D&) {}
  static F round(F a) {
    for (std::size_t l = 0; l < kLanes; ++l) a[l] = std::nearbyint(a[l]);
    return a;
  }
  static I truncate(F a) {
    I q;
    for (std::size_t l = 0; l < kLanes; ++l)
      q[l] = a[l] >= -0x1p31f && a[l] < 0x1p31f ? static_cast<std::int32_t>(a[l]) : INT32_MIN;
    return q;
  }
};

#include "kernel_body.hpp"

}  // namespace

const Kernels kGenericKernels = table("generic");

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
