#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace muffle::features {

/// The inner loops of the room, compiled once per instruction set from the same source (kernel_body.hpp). All
/// return the same bits: each number is a fixed chain of IEEE operations. Tests run each of them in each
/// variant.
struct Kernels {
  const char* name;        ///< "generic", "avx2", "avx512"
  std::size_t panel;       ///< frequencies per packed panel
  std::size_t group;       ///< records per packed group
  std::size_t lanes;       ///< of product(): what its columns are a multiple of
  std::size_t gram_panel;  ///< columns of z per packed panel of add_gram()

  /// Random Fourier features of groups x group records on the lattice: trunc(scale cos(2 pi t)), trunc(scale
  /// sin(2 pi t)) with t = sum_c omega_c x_c, a single chain of fused multiply-adds over c = 0 .. dims-1.
  /// @param frequencies  panels x dims x panel, in quarter turns (4 omega / (2 pi))
  /// @param records      groups x dims x group
  /// @param features     (groups group) x 2 (panels panel): a record's cosines, then its sines; of a NaN or
  ///                     infinite phase INT32_MIN, which squared_norm() refuses.
  void (*rff)(const float* frequencies, std::size_t panels, std::size_t dims, const float* records,
              std::size_t groups, float scale, std::int32_t* features);

  /// The unnormalised Hadamard transform of kInterleaved vectors at once, after their numbers were multiplied
  /// by `signs`: additions in one fixed order. @param data  size x kInterleaved; size a power of two, 16 or
  /// more
  void (*hadamard)(float* data, std::size_t size, const float* signs);
  /// rff()'s lattice values of the phases t = data factor, kInterleaved records at once.
  /// @param data  count x kInterleaved  @param factors  count, a multiple of kInterleaved
  /// @param features  of record r and phase j the cosine goes to features[r stride + j], the sine `half`
  /// behind
  void (*phase_features)(const float* data, const float* factors, std::size_t count, float scale,
                         std::int32_t* features, std::size_t stride, std::size_t half);

  /// Sum of squares of n lattice values, exact; kNotOnLattice if any |value| >= 2^bits (then squares may not
  /// be summed: they could wrap around to a small number). Needs n <= 2^15, so that 2^15 2^48 < 2^64.
  std::uint64_t (*squared_norm)(const std::int32_t* values, std::size_t n, int bits);

  /// sums[j] += sum of rows[i][j], i < count <= 127, modulo 2^64. |values| <= 2^24: 32 bits hold their sum.
  void (*add_rows)(const std::int32_t* const* rows, std::size_t count, std::size_t n, std::uint64_t* sums);

  /// Subtracts from each of `count` rows its component along the unit vector q (modified Gram-Schmidt).
  /// Rows are `stride` numbers apart and long, a multiple of 16. Multiplies and adds are not fused.
  void (*project_out)(const double* q, double* rows, std::size_t count, std::size_t stride);
  /// Inner product of two vectors whose length is a multiple of 16: 16 running sums, added as a fixed tree.
  double (*dot)(const double* a, const double* b, std::size_t n);

  /// out[i] = a[i] - b[i], in doubles.
  void (*subtract)(const float* a, const double* b, std::size_t n, double* out);
  /// c = a b, row-major. Each number is one chain over the inner index from 0, multiplies and adds not fused.
  /// @param a  rows x inner  @param b  inner x columns  @param c  rows x columns; columns a multiple of lanes
  void (*product)(const double* a, std::size_t rows, std::size_t inner, const double* b, std::size_t columns,
                  double* c);

  /// Adds z^T z to the sums, its diagonal and then its strict upper triangle row by row, modulo 2^64. All
  /// numbers are integers whose partial sums are below 2^51, which doubles add in any order.
  /// @param z  panels x capacity x gram_panel; columns beyond the order are read, not added
  /// @param records  at most capacity  @param sums  order (order + 1) / 2
  void (*add_gram)(const double* z, std::size_t capacity, std::size_t records, std::size_t order,
                   std::uint64_t* sums);
};

extern const Kernels kGenericKernels, kAvx2Kernels, kAvx512Kernels;  ///< the last two on x86 alone

inline constexpr std::uint64_t kNotOnLattice = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::size_t kMaxNormChunk = std::size_t{1} << 15;
inline constexpr std::size_t kMaxAddRows = 127;
/// Records side by side in hadamard(): of every variant, so that its vectors are whole.
inline constexpr std::size_t kInterleaved = 16;

/// All variants that this processor can run, slowest first ("generic" always among them).
std::span<const Kernels* const> supported_kernels();

}  // namespace muffle::features
