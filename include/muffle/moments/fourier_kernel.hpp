#pragma once

#include <cstddef>
#include <cstdint>

namespace muffle::moments {

/// The elementwise part of FourierEmbedding on the CPU, vectorised for AVX-512, AVX2 or plain x86-64 (chosen
/// when it runs). Sines and cosines of phases in turns: the reduction to an eighth of a turn is exact, then
/// Cephes' minimax polynomials; absolute error below 2e-7. Phases are n x half row-major; sums and gradients
/// C x 2 half, cosines first.

/// Phases of n records. Those of records of few dimensions are cheaper to make again, tile by tile, than to
/// store: phase_ij = sum_k x_ik frequencies_kj.
struct Phases {
  const float* stored = nullptr;       ///< n x half; null: made of what follows
  const float* x = nullptr;            ///< n x dims
  std::size_t dims = 0;                ///< of a record
  const float* frequencies = nullptr;  ///< dims x half, row-major (transposed)
};

/// sums[y_i] += [cos; sin](2 pi phase_i), not scaled. Each column is summed in record order by one thread, so
/// the result does not depend on `threads`.
void add_class_sums(const Phases& phases, const std::int64_t* labels, std::size_t n, std::size_t half,
                    float* sums, int threads);

/// With d_i = scale (cos(2 pi phase_i) g_sin[y_i] - sin(2 pi phase_i) g_cos[y_i]), the gradient on phase_i:
/// out_i = d_i, n x half, of stored phases; else out_ik += sum_j d_ij frequencies_kj, n x dims.
void add_gradients(const Phases& phases, const std::int64_t* labels, const float* gradients, std::size_t n,
                   std::size_t half, float scale, float* out, int threads);

}  // namespace muffle::moments
