// The kernels for AVX2 and FMA (x86-64-v3). Compiled with -mavx2 -mfma; called only where the processor has
// both.
#include <immintrin.h>

#include "kernels.hpp"

namespace muffle::features {
namespace {

struct Simd {
  // 4 x 3 running sums, 3 frequencies and a record's value fill the 16 registers.
  static constexpr std::size_t kLanes = 8, kVectors = 3, kGroup = 4;
  using F = __m256;
  using I = __m256i;
  static F zero() { return _mm256_setzero_ps(); }
  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(std::int32_t* p, I x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
  static F broadcast(float x) { return _mm256_set1_ps(x); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F round(F a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static I truncate(F a) { return _mm256_cvttps_epi32(a); }
  static F odd(I q, F a, F b) {
    return _mm256_blendv_ps(a, b, _mm256_castsi256_ps(_mm256_slli_epi32(q, 31)));
  }
  static F flip(I q, F a) {
    const I sign = _mm256_slli_epi32(_mm256_srli_epi32(q, 1), 31);
    return _mm256_xor_ps(a, _mm256_castsi256_ps(sign));
  }
  static I increment(I q) { return _mm256_add_epi32(q, _mm256_set1_epi32(1)); }
};

#include "kernel_body.hpp"

}  // namespace

extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels = table("avx2");

}  // namespace muffle::features
