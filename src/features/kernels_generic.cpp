// The kernels in portable C++: slow where std::fma is a library call, and the same bits.
#include <cmath>

#include "kernels.hpp"

namespace muffle::features {
namespace {

struct Simd {
  static constexpr std::size_t kLanes = 4, kVectors = 2, kGroup = 4;
  typedef float F __attribute__((vector_size(4 * kLanes)));
  typedef std::int32_t I __attribute__((vector_size(4 * kLanes)));
  static F fma(F a, F b, F c) {
    for (std::size_t l = 0; l < kLanes; ++l) c[l] = std::fma(a[l], b[l], c[l]);
    return c;
  }
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

}  // namespace muffle::features
