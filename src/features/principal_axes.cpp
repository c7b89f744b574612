#include "muffle/features/principal_axes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "float_environment.hpp"
#include "kernels.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/accumulator.hpp"

namespace muffle::features {
namespace {

constexpr std::size_t kAtOnce = 16;
/// Of Jacobi's method, which ends long before: each squares what is left, in the end.
constexpr int kMostSweeps = 30;
/// Of a matrix's sum of squares, beside the diagonal: rounding.
constexpr double kNothingLeft = 1e-26;
/// An axis of a variance this much smaller than the largest is rounding: it becomes zeros.
constexpr double kNoVariance = 1e-12;

std::size_t padded(std::size_t n) {
  const std::size_t lanes = best_kernels().lanes;
  return (n + lanes - 1) / lanes * lanes;
}

/// Rotates two vectors of n numbers, `stride` apart, in their plane.
void rotate(double* a, double* b, std::size_t n, std::size_t stride, double cosine, double sine) {
  for (std::size_t k = 0; k < n * stride; k += stride) {
    const double x = a[k], y = b[k];
    a[k] = cosine * x - sine * y;
    b[k] = sine * x + cosine * y;
  }
}

/// Jacobi's method, pair after pair: leaves a symmetric matrix's eigenvalues on its diagonal.
/// @param matrix  n x n, symmetric  @returns  n x n: a row is the eigenvector of that place of the diagonal
std::vector<double> diagonalise(std::vector<double>& matrix, std::size_t n) {
  std::vector<double> vectors(n * n, 0.0);
  double all = 0.0;
  for (std::size_t i = 0; i < n; ++i) vectors[i * n + i] = 1.0;
  for (const double v : matrix) all += v * v;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double beside = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) beside += matrix[i * n + j] * matrix[i * n + j];
    }
    if (!(beside > kNothingLeft * all)) break;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) {
        const double between = matrix[i * n + j];
        if (between == 0.0) continue;
        const double theta = (matrix[j * n + j] - matrix[i * n + i]) / (2.0 * between);
        const double tangent =
            (theta < 0.0 ? -1.0 : 1.0) / (std::fabs(theta) + std::sqrt(theta * theta + 1.0));
        const double cosine = 1.0 / std::sqrt(tangent * tangent + 1.0), sine = tangent * cosine;
        rotate(&matrix[i * n], &matrix[j * n], n, 1, cosine, sine);
        rotate(&matrix[i], &matrix[j], n, n, cosine, sine);
        rotate(&vectors[i * n], &vectors[j * n], n, 1, cosine, sine);
      }
    }
  }
  return vectors;
}

}  // namespace

PrincipalAxes::PrincipalAxes(std::size_t dims, std::vector<float> numbers)
    : dims_(dims), numbers_(std::move(numbers)) {
  require(dims_ > 0 && numbers_.size() % dims_ == 0 && numbers_.size() > dims_,
          "principal axes of another number of numbers than they need");
  const std::size_t p = count(), room = padded(p);
  origin_.assign(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(dims_));
  axes_turned_.assign(dims_ * room, 0.0);
  for (std::size_t k = 0; k < p; ++k) {
    for (std::size_t i = 0; i < dims_; ++i)
      axes_turned_[i * room + k] = static_cast<double>(numbers_[(k + 1) * dims_ + i]);
  }
}

PrincipalAxes PrincipalAxes::of(const SecondMoments& moments, std::span<const double> second,
                                std::size_t count) {
  const DefaultFloatEnvironment environment;
  const AffineLift* const lift = moments.lift->affine();
  const std::size_t n = moments.lift->coefficients(), q = n + 1, d = moments.lift->dims();
  require(lift != nullptr && count >= 1 && count <= n && second.size() == q * q,
          "principal axes were asked of moments that do not have them");
  // z = [c0; u] / r: with s the first row, c0 s / s_0 is u's mean, and S - s s^T / s_0 goes like its
  // covariance, both weighted by 1 / r^2. Where noise leaves s_0 nothing, the origin stands for the mean.
  const double of_constant = second[0];
  const bool any = of_constant > 0;
  std::vector<double> mean(n, 0.0), covariance(n * n), x(d);
  for (std::size_t i = 0; i < n; ++i) {
    if (any) mean[i] = moments.offset * second[i + 1] / of_constant;
    for (std::size_t j = 0; j < n; ++j) {
      const double of_means = any ? second[i + 1] * second[j + 1] / of_constant : 0.0;
      covariance[i * n + j] =
          (second[(i + 1) * q + j + 1] - of_means) / (lift->weights[i] * lift->weights[j]);
    }
  }
  const std::vector<double> vectors = diagonalise(covariance, n);
  const auto variance = [&](std::size_t i) { return covariance[i * n + i]; };
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return variance(a) > variance(b); });

  std::vector<float> numbers((count + 1) * d, 0.0f);
  lift->back(mean.data(), x.data());
  // Records lie in [0, 1], and so does their mean, whatever noise says.
  for (std::size_t i = 0; i < d; ++i) numbers[i] = static_cast<float>(x[i] > 0.0 ? std::min(x[i], 1.0) : 0.0);
  const double least = kNoVariance * std::fabs(variance(order[0]));
  std::vector<double> u(n);
  for (std::size_t k = 0; k < count && std::fabs(variance(order[k])) > least; ++k) {
    // The lift's rows are orthonormal, so its way back takes an axis to an axis.
    for (std::size_t i = 0; i < n; ++i) u[i] = lift->weights[i] * vectors[order[k] * n + i];
    lift->back(u.data(), x.data());
    for (std::size_t i = 0; i < d; ++i) numbers[(k + 1) * d + i] = static_cast<float>(x[i] - lift->origin[i]);
  }
  return {d, std::move(numbers)};
}

void PrincipalAxes::forward_all(std::span<const float* const> records, double* codes,
                                std::size_t stride) const {
  const std::size_t p = count(), room = padded(p);
  const std::size_t at_once = std::min(kAtOnce, records.size());
  std::vector<double> centred(at_once * dims_), out(at_once * room);
  for (std::size_t first = 0; first < records.size(); first += at_once) {
    const std::size_t n = std::min(at_once, records.size() - first);
    for (std::size_t i = 0; i < n; ++i)
      best_kernels().subtract(records[first + i], origin_.data(), dims_, centred.data() + i * dims_);
    best_kernels().product(centred.data(), n, dims_, axes_turned_.data(), room, out.data());
    for (std::size_t i = 0; i < n; ++i) std::copy_n(out.data() + i * room, p, codes + (first + i) * stride);
  }
}

void PrincipalAxes::back(const double* code, double* x) const {
  const std::size_t p = count();
  std::copy(origin_.begin(), origin_.end(), x);
  const float* axis = numbers_.data() + dims_;
  for (std::size_t k = 0; k < p; ++k, axis += dims_) {
    for (std::size_t i = 0; i < dims_; ++i) x[i] += code[k] * static_cast<double>(axis[i]);
  }
}

}  // namespace muffle::features
