// The kernels for AVX2 and FMA (x86-64-v3). Compiled for both, and called only where the processor has them.
#include <immintrin.h>

#include "kernels.hpp"

namespace muffle::features {
namespace {

struct Simd {
  // 4 x 3 running sums, 3 frequencies and a record's value fill the 16 registers.
  static constexpr std::size_t kLanes = 8, kVectors = 3, kGroup = 4;
  using F = __m256;
  using D = __m256d;
  static constexpr std::size_t kRows = 4;
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static D fma(D a, D b, D c) { return _mm256_fmadd_pd(a, b, c); }
  static void keep(D& a) { asm("" : "+x"(a)); }
  static F round(F a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static __m256i truncate(F a) { return _mm256_cvttps_epi32(a); }
};

#include "kernel_body.hpp"

}  // namespace

const Kernels kAvx2Kernels = table("avx2");

}  // namespace muffle::features
