#include "muffle/moments/fourier_kernel.hpp"

#include <algorithm>
#include <cmath>

namespace muffle::moments {
namespace {

#define MUFFLE_INLINE inline __attribute__((always_inline))

/// Columns of one thread at a time: so few that all classes' sums of them stay in the first cache.
constexpr std::size_t kTile = 256;

template <bool kFma>
MUFFLE_INLINE float multiply_add(float a, float b, float c) {
  if constexpr (kFma) return __builtin_fmaf(a, b, c);
  return a * b + c;
}

/// Nearest integer for |x| < 2^22 by the mantissa's own rounding; vectorises on every x86-64.
MUFFLE_INLINE float nearest(float x) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23
  return (x + kMagic) - kMagic;
}

template <bool kFma>
MUFFLE_INLINE void cos_sin_turns(float turns, float& cosine, float& sine) {
  const float whole = turns - nearest(turns);   // exact, in [-1/2, 1/2]
  const float quarter = nearest(4.0f * whole);  // -2 .. 2
  const float rest = whole - 0.25f * quarter;   // exact, in [-1/8, 1/8]
  const float u = 6.28318530717958648f * rest;
  const float u2 = u * u;
  float s = multiply_add<kFma>(u2, -1.9515295891e-4f, 8.3321608736e-3f);
  s = multiply_add<kFma>(u2, s, -1.6666654611e-1f);
  s = multiply_add<kFma>(u * u2, s, u);
  float c = multiply_add<kFma>(u2, 2.443315711809948e-5f, -1.388731625493765e-3f);
  c = multiply_add<kFma>(u2, c, 4.166664568298827e-2f);
  c = multiply_add<kFma>(u2 * u2, c, multiply_add<kFma>(u2, -0.5f, 1.0f));
  const bool swapped =
      std::fabs(quarter) == 1.0f;  // rotated by a quarter: cos <- -sin, sin <- cos, by its sign
  const float sign = swapped ? quarter : (quarter == 0.0f ? 1.0f : -1.0f);
  cosine = sign * (swapped ? -s : c);
  sine = sign * (swapped ? c : s);
}

template <bool kFma>
MUFFLE_INLINE void add_row(const float* phase, std::size_t n, float* cosines, float* sines) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) {
    float c, s;
    cos_sin_turns<kFma>(phase[j], c, s);
    cosines[j] += c;
    sines[j] += s;
  }
}

template <bool kFma>
MUFFLE_INLINE void gradient_row(const float* phase, std::size_t n, const float* g_cos, const float* g_sin,
                                float scale, float* out) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) {
    float c, s;
    cos_sin_turns<kFma>(phase[j], c, s);
    out[j] = scale * (c * g_sin[j] - s * g_cos[j]);
  }
}

template <bool kFma>
MUFFLE_INLINE void phase_row(const float* x, std::size_t dims, const float* frequencies, std::size_t stride,
                             std::size_t n, float* phase) {
  std::fill_n(phase, n, 0.0f);
  for (std::size_t k = 0; k < dims; ++k) {
    const float* row = frequencies + k * stride;
    const float value = x[k];
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) phase[j] = multiply_add<kFma>(value, row[j], phase[j]);
  }
}

template <bool kFma>
MUFFLE_INLINE void back_row(const float* g, std::size_t dims, const float* frequencies, std::size_t stride,
                            std::size_t n, float* x_gradient) {
  for (std::size_t k = 0; k < dims; ++k) {
    const float* row = frequencies + k * stride;
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (std::size_t j = 0; j < n; ++j) sum += g[j] * row[j];
    x_gradient[k] += sum;
  }
}

/// The row kernels of one instruction set.
struct Rows {
  void (*add)(const float*, std::size_t, float*, float*);
  void (*gradient)(const float*, std::size_t, const float*, const float*, float, float*);
  void (*phase)(const float*, std::size_t, const float*, std::size_t, std::size_t, float*);
  void (*back)(const float*, std::size_t, const float*, std::size_t, std::size_t, float*);
};

#define MUFFLE_ROWS(NAME, FMA, ATTRIBUTE)                                \
  ATTRIBUTE void add_##NAME(auto... a) { add_row<FMA>(a...); }           \
  ATTRIBUTE void gradient_##NAME(auto... a) { gradient_row<FMA>(a...); } \
  ATTRIBUTE void phase_##NAME(auto... a) { phase_row<FMA>(a...); }       \
  ATTRIBUTE void back_##NAME(auto... a) { back_row<FMA>(a...); }         \
  constexpr Rows kRows_##NAME{add_##NAME, gradient_##NAME, phase_##NAME, back_##NAME};

MUFFLE_ROWS(plain, false, )
#if defined(__x86_64__)
#if defined(__clang__)  // prefers it by itself, and knows no such attribute
#define MUFFLE_WIDE
#else
#define MUFFLE_WIDE ",prefer-vector-width=512"
#endif
MUFFLE_ROWS(avx2, true, __attribute__((target("avx2,fma"))))
MUFFLE_ROWS(avx512, true, __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma" MUFFLE_WIDE))))
#endif

const Rows& rows() {
#if defined(__x86_64__)
  static const Rows& best = [&]() -> const Rows& {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
      return kRows_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kRows_avx2;
    return kRows_plain;
  }();
  return best;
#else
  return kRows_plain;
#endif
}

}  // namespace

void add_class_sums(const Phases& p, const std::int64_t* labels, std::size_t n, std::size_t half, float* sums,
                    [[maybe_unused]] int threads) {
  const Rows& row = rows();
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t j = 0; j < half; j += kTile) {
    const std::size_t width = std::min(kTile, half - j);
    float made[kTile];
    for (std::size_t i = 0; i < n; ++i) {
      if (!p.stored) row.phase(p.x + i * p.dims, p.dims, p.frequencies + j, half, width, made);
      float* sum = sums + static_cast<std::size_t>(labels[i]) * 2 * half + j;
      row.add(p.stored ? p.stored + i * half + j : made, width, sum, sum + half);
    }
  }
}

void add_gradients(const Phases& p, const std::int64_t* labels, const float* gradients, std::size_t n,
                   std::size_t half, float scale, float* out, [[maybe_unused]] int threads) {
  const Rows& row = rows();
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t i = 0; i < n; ++i) {
    const float* g = gradients + static_cast<std::size_t>(labels[i]) * 2 * half;
    if (p.stored) {
      row.gradient(p.stored + i * half, half, g, g + half, scale, out + i * half);
      continue;
    }
    float phase[kTile], back[kTile];
    for (std::size_t j = 0; j < half; j += kTile) {
      const std::size_t width = std::min(kTile, half - j);
      row.phase(p.x + i * p.dims, p.dims, p.frequencies + j, half, width, phase);
      row.gradient(phase, width, g + j, g + half + j, scale, back);
      row.back(back, p.dims, p.frequencies + j, half, width, out + i * p.dims);
    }
  }
}

}  // namespace muffle::moments
