// The kernels for AVX-512F. Compiled with -mavx512f; called only where the processor has it.
#include <immintrin.h>

#include "kernels.hpp"

namespace muffle::features {
namespace {

struct Simd {
  // 8 x 3 running sums keep both fused multiply-add units busy; 11 loads feed 24 of them.
  static constexpr std::size_t kLanes = 16, kVectors = 3, kGroup = 8;
  using F = __m512;
  using I = __m512i;
  static F zero() { return _mm512_setzero_ps(); }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(std::int32_t* p, I x) { _mm512_storeu_si512(p, x); }
  static F broadcast(float x) { return _mm512_set1_ps(x); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F round(F a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT); }
  static I truncate(F a) { return _mm512_cvttps_epi32(a); }
  static F odd(I q, F a, F b) {
    return _mm512_mask_blend_ps(_mm512_test_epi32_mask(q, _mm512_set1_epi32(1)), a, b);
  }
  static F flip(I q, F a) {
    const I sign = _mm512_slli_epi32(_mm512_srli_epi32(q, 1), 31);
    return _mm512_castsi512_ps(_mm512_xor_epi32(_mm512_castps_si512(a), sign));
  }
  static I increment(I q) { return _mm512_add_epi32(q, _mm512_set1_epi32(1)); }
};

#include "kernel_body.hpp"

}  // namespace

extern const Kernels kAvx512Kernels;
const Kernels kAvx512Kernels = table("avx512");

}  // namespace muffle::features
