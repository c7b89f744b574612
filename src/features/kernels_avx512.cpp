// The kernels for AVX-512F. Compiled with -mavx512f; called only where the processor has it.
#include <immintrin.h>

#include "kernels.hpp"

namespace muffle::features {
namespace {

struct Simd {
  // 8 x 3 running sums keep both fused multiply-add units busy; 11 loads feed 24 of them.
  static constexpr std::size_t kLanes = 16, kVectors = 3, kGroup = 8;
  using F = __m512;
  using D = __m512d;
  static constexpr std::size_t kRows = 8;
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static D fma(D a, D b, D c) { return _mm512_fmadd_pd(a, b, c); }
  static void keep(D& a) { asm("" : "+v"(a)); }
  static F round(F a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT); }
  static __m512i truncate(F a) { return _mm512_cvttps_epi32(a); }
};

#include "kernel_body.hpp"

}  // namespace

const Kernels kAvx512Kernels = table("avx512");

}  // namespace muffle::features
