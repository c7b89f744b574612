#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "muffle/features/lift.hpp"

namespace muffle::features {

/// Codes c = P (x - mean) of records x, and the way back x = mean + P^t c. P has orthonormal rows, or rows of
/// zeros. Public, immutable, thread-safe.
class PrincipalAxes {
 public:
  /// Of at most so many coefficients axes are found: some n^3 100 operations, half a minute at most.
  static constexpr std::size_t kMostCoefficients = 768;

  /// @param dims  d  @param numbers  the mean (d), then P (p x d, row-major): a whole multiple of d
  PrincipalAxes(std::size_t dims, std::vector<float> numbers);

  /// The mean and the first principal axes of records, by their noisy second moments: the eigenvectors of the
  /// largest eigenvalues, which noise may have left below 0. By additions, products, divisions and roots in
  /// one order: the same bits on every build.
  /// @param moments  of an affine lift of n >= count coefficients
  /// @param second   q x q, symmetric: the sum over all records of z z^T, and noise
  static PrincipalAxes of(const SecondMoments& moments, std::span<const double> second, std::size_t count);

  std::size_t dims() const { return dims_; }
  std::size_t count() const { return numbers_.size() / dims_ - 1; }  ///< p
  std::span<const float> numbers() const { return numbers_; }        ///< as they were given

  /// Codes of several records; of one always the same bits. @param codes  a row of `stride` >= p for each
  void forward_all(std::span<const float* const> records, double* codes, std::size_t stride) const;
  /// Not clipped. @param code  p numbers  @param x  d numbers
  void back(const double* code, double* x) const;

 private:
  std::size_t dims_ = 0;
  std::vector<float> numbers_;
  std::vector<double> origin_, axes_turned_;  ///< the mean; P^t with room for whole vectors
};

}  // namespace muffle::features
