#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "muffle/schema/schema.hpp"
#include "muffle/features/block.hpp"

namespace muffle::features {

enum class MomentLiftKind {
  kImage,  ///< u = W (T x - T m0): the lowest k x k coefficients of an orthonormal DCT-II, channel by channel
  kVector,   ///< u = x - m0, m0 = (1/2, ..., 1/2)
  kFourier,  ///< u = sqrt(2/n) [cos(omega_j . x); sin(omega_j . x)], j = 1 .. n/2, random frequencies: norm 1
  kHermite,  ///< u = psi_a(g (x_j - 1/2)) / sqrt(d), j = 1 .. d (slowest), a = 0 .. coefficients - 1: spec
             ///< section 4's functions, rho = exp(-4 / coefficients), g such that the kernel's length is
             ///< length_scale; norm at most 1
};

/// The public description of a second-moment block (docs/moments.md). Nothing in it may come from the data.
struct MomentsSpec {
  MomentLiftKind kind = MomentLiftKind::kVector;
  std::vector<std::size_t> shape;  ///< of a record: {channels, height, width} or {columns}
  /// image: k, coefficients per side and channel; fourier: n, even; hermite: functions per number of the
  /// record; vector: must be 0. 0: the default.
  std::size_t coefficients = 0;
  double weight_exponent =
      0.5;                    ///< image: W = (1 + sqrt(a^2 + b^2))^exponent for frequencies a, b = 0 .. k-1
  double blob_height = 0.5;   ///< image: m0 = height exp(-r^2 / (2 radius^2)), r from the image's centre
  double blob_radius = 0.0;   ///< image, in pixels; 0: 7 at 28 x 28, in proportion to the shorter side
  double length_scale = 0.1;  ///< fourier, hermite: of the kernel, in units of records scaled to [0, 1]
  std::uint64_t seed = 1;     ///< fourier: of the frequencies
  /// c0 > 0, the constant beside u: z = [c0; u] / ||[c0; u]||. 0: 8 sqrt(d / 784) for images and vectors, 1
  /// for fourier and hermite, whose u has norm at most 1.
  double offset = 0.0;
  int bits = 16;  ///< 8 .. 20: z is held as integers of norm at most 2^bits, its products as 2^(2 bits)

  bool operator==(const MomentsSpec&) const = default;
};

/// The side k for images where the noise in the mean of a class's z z^T has this standard deviation a number:
/// the largest whose highest frequency keeps its signal, as a public power law has it, above the noise; at
/// least the default by size, which serves large noise. The law's exponent and constant are such that images
/// of 28 x 28 get 14 at 9e-4 and 20 at 1.2e-4, which served FashionMNIST's training images best
/// (docs/moments.md, "What was chosen by looking"). 0 where the spec is not of images.
std::size_t side_for_noise(const MomentsSpec& spec, double noise);

/// Every default filled in, everything checked. Idempotent: what an artifact holds is resolved.
/// @throws ConfigError with all problems found.
MomentsSpec resolved(MomentsSpec spec);

/// From records to the vector whose second moments are released, and the pieces with which a generator goes
/// back. A pure function of the spec; immutable and thread-safe.
class MomentLift {
 public:
  /// @throws ConfigError as resolved().
  explicit MomentLift(MomentsSpec spec);

  const MomentsSpec& spec() const { return spec_; }  ///< resolved
  std::size_t dims() const { return dims_; }         ///< d: numbers per record
  std::size_t coefficients() const { return n_; }    ///< n: numbers of u; image: channels k k
  std::size_t order() const { return 1 + n_; }       ///< q: numbers of z
  /// u is an affine function of x (image, vector), so that back() exists.
  bool is_affine() const;

  /// u of one record. For one record always the same bits, whatever is computed beside it.
  /// @param x  d numbers in [0, 1]  @param u  n numbers
  void forward(const float* x, double* u) const;
  /// Affine lifts: x = m0 + T^t W^-1 u, the record (not clipped) whose coefficients are u and whose higher
  /// frequencies are the blob's. @param u  n numbers  @param x  d numbers. @throws InvariantError otherwise.
  void back(const double* u, double* x) const;

  // What forward() is made of. Affine lifts; all rounded to float32, so that a last digit in which two maths
  // libraries differ does not make another lift.
  /// m0: d numbers.
  std::span<const double> blob() const { return blob_; }
  /// W: n numbers, above 0; channel by channel, row frequency by row frequency.
  std::span<const double> weights() const { return weights_; }
  /// DCT-II along the height: k x h row-major, rows orthonormal; empty for vectors.
  std::span<const double> rows() const { return rows_; }
  /// DCT-II along the width: k x w row-major, rows orthonormal; empty for vectors.
  std::span<const double> columns() const { return columns_; }
  /// Fourier: (n/2) x d row-major, in turns (omega / (2 pi)), from rff_frequencies().
  std::span<const float> frequencies() const { return frequencies_; }

  /// SHA-256 over everything above, in hex: readers of a release check that they rebuild the same lift.
  std::string hash() const;

 private:
  void forward_image(const float* x, double* u) const;
  void forward_fourier(const float* x, double* u) const;
  void forward_hermite(const float* x, double* u) const;

  MomentsSpec spec_;
  std::size_t dims_ = 0, n_ = 0;
  std::vector<double> blob_, weights_, rows_, columns_;
  std::vector<double> columns_transposed_;  ///< w x k
  std::vector<float> frequencies_;
};

/// phi(x) = z z^T, the entries on the diagonal first, then the strict upper triangle row by row: D = q (q +
/// 1) / 2 numbers a class. Entries beside the diagonal stand for two, so they carry weight sqrt(2) in the
/// norm:
/// ||phi||^2 = ||z||^4 <= 1 and <phi, phi'> = (z . z')^2 >= 0, a square of integers, so that the replace-one
/// sensitivity sqrt(2) is a theorem about what is summed, rounding and all.
std::unique_ptr<Block> make_moments_block(const MomentsSpec& spec);

/// Whether z, integers, is finite and has a norm of at most 2^bits, in integers: what the block asks of each
/// record, and what the bound rests on. @param bits  at most 20
bool within_norm(std::span<const double> z, int bits);

/// What is proven about the block, and the units of its numbers: 2^(2 bits) on the diagonal, 2^(2 bits) /
/// sqrt(2) beside it.
BlockBound moments_bound();
std::vector<CoordinateRun> moments_coordinates(const MomentsSpec& resolved_spec);

/// q = 1 + n.
std::size_t moments_order(const MomentsSpec& resolved_spec);

/// What z is multiplied by before it is rounded to the nearest integers: 2^bits - sqrt(q) / 2 - 1, so that
/// rounding, which moves z by at most sqrt(q) / 2, never takes its norm beyond 2^bits. Released sums are
/// divided by its square.
double moments_scale(const MomentsSpec& resolved_spec);

/// Where z_i z_j lies in one class's D numbers.
inline std::size_t moments_index(std::size_t order, std::size_t i, std::size_t j) {
  if (i == j) return i;
  const std::size_t a = i < j ? i : j, b = i < j ? j : i;
  return order + a * (2 * order - a - 1) / 2 + (b - a - 1);
}

/// Sums over m records are exact: m 2^(2 bits) < 2^62. @throws ConfigError otherwise.
void require_no_overflow(std::uint64_t records, const MomentsSpec& spec);

}  // namespace muffle::features
