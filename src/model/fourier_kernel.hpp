#pragma once

#include <cstddef>
#include <cstdint>

namespace muffle::model {

/// The elementwise part of FourierEmbedding on the CPU, vectorised for AVX-512, AVX2 or plain x86-64 (chosen
/// when it runs). Sines and cosines of phases in turns: the reduction to an eighth of a turn is exact, then
/// Cephes' minimax polynomials; absolute error below 2e-7. Phases are n x half row-major; sums and gradients
/// C x 2 half, cosines first.

/// sums[y_i] += [cos; sin](2 pi phase_i), not scaled. Each column is summed in record order by one thread, so
/// the result does not depend on `threads`.
void add_class_sums(const float* phases, const std::int64_t* labels, std::size_t n, std::size_t half,
                    float* sums, int threads);

/// out_i = scale (cos(2 pi phase_i) g_sin[y_i] - sin(2 pi phase_i) g_cos[y_i]): the gradient on phase_i, n x
/// half.
void phase_gradients(const float* phases, const std::int64_t* labels, const float* gradients, std::size_t n,
                     std::size_t half, float scale, float* out, int threads);

/// The same two for records of few dimensions, whose phases are cheaper to make again than to store:
/// phase_ij = sum_k x_ik frequencies_kj, and x_gradients_ik = sum_j out_ij frequencies_kj.
/// @param x            n x dims
/// @param frequencies  dims x half, row-major (transposed)
void add_class_sums_of_records(const float* x, std::size_t dims, const float* frequencies,
                               const std::int64_t* labels, std::size_t n, std::size_t half, float* sums,
                               int threads);
void record_gradients(const float* x, std::size_t dims, const float* frequencies, const std::int64_t* labels,
                      const float* gradients, std::size_t n, std::size_t half, float scale,
                      float* x_gradients, int threads);

}  // namespace muffle::model
