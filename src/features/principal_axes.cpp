#include "muffle/features/principal_axes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/accumulator.hpp"

namespace muffle::features {
namespace {

/// Of the covariance times the axes: from the coefficients of the largest variance, which a cosine transform
/// has nearly made axes of, some ten are enough.
constexpr int kPasses = 40;
/// An axis of which so little is left beside those before it is rounding: it becomes zeros.
constexpr double kNothingLeft = 1e-10;
constexpr std::size_t kAtOnce = 16;

std::size_t padded(std::size_t n) {
  const std::size_t lanes = best_kernels().lanes;
  return (n + lanes - 1) / lanes * lanes;
}

double inner(const double* a, const double* b, std::size_t n, std::size_t stride) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i * stride] * b[i * stride];
  return sum;
}

/// Makes the first `count` columns of n x stride orthonormal, one after the other (modified Gram-Schmidt).
void orthonormalise(double* columns, std::size_t n, std::size_t count, std::size_t stride) {
  for (std::size_t k = 0; k < count; ++k) {
    double* const column = columns + k;
    const double before = std::sqrt(inner(column, column, n, stride));
    for (std::size_t j = 0; j < k; ++j) {
      const double along = inner(columns + j, column, n, stride);
      for (std::size_t i = 0; i < n; ++i) column[i * stride] -= along * columns[i * stride + j];
    }
    const double left = std::sqrt(inner(column, column, n, stride));
    const bool any = left > kNothingLeft * before;
    for (std::size_t i = 0; i < n; ++i) column[i * stride] = any ? column[i * stride] / left : 0.0;
  }
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
  const AffineLift* const lift = moments.lift->affine();
  const std::size_t n = moments.lift->coefficients(), q = n + 1, d = moments.lift->dims();
  require(lift != nullptr && count >= 1 && count <= n && second.size() == q * q,
          "principal axes were asked of moments that do not have them");
  // z = [c0; u] / r: with s the first row, c0 s / s_0 is u's mean, and S - s s^T / s_0 goes like its
  // covariance, weighted by 1 / r^2. Where noise leaves s_0 nothing, the origin stands for the mean.
  const double of_constant = second[0];
  std::vector<double> mean(n, 0.0);
  for (std::size_t i = 0; i < n && of_constant > 0; ++i)
    mean[i] = moments.offset * second[i + 1] / of_constant;
  std::vector<double> covariance(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double of_means = 0.0;
      if (of_constant > 0) of_means = second[i + 1] * second[j + 1] / of_constant;
      covariance[i * n + j] =
          (second[(i + 1) * q + j + 1] - of_means) / (lift->weights[i] * lift->weights[j]);
    }
  }

  // Orthogonal iteration, whose columns come to span the axes of the largest variance.
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return covariance[a * n + a] > covariance[b * n + b];
  });
  const std::size_t room = padded(count);
  std::vector<double> columns(n * room, 0.0), next(n * room);
  for (std::size_t k = 0; k < count; ++k) columns[order[k] * room + k] = 1.0;
  for (int pass = 0; pass < kPasses; ++pass) {
    best_kernels().product(covariance.data(), n, n, columns.data(), room, next.data());
    columns.swap(next);
    orthonormalise(columns.data(), n, count, room);
  }

  std::vector<float> numbers((count + 1) * d);
  std::vector<double> u(n), x(d);
  lift->back(mean.data(), x.data());
  for (std::size_t i = 0; i < d; ++i) numbers[i] = static_cast<float>(x[i]);
  for (std::size_t k = 0; k < count; ++k) {
    // The lift's rows are orthonormal, so its way back takes an axis to an axis.
    for (std::size_t i = 0; i < n; ++i) u[i] = lift->weights[i] * columns[i * room + k];
    lift->back(u.data(), x.data());
    for (std::size_t i = 0; i < d; ++i) numbers[(k + 1) * d + i] = static_cast<float>(x[i] - lift->origin[i]);
  }
  return {d, std::move(numbers)};
}

void PrincipalAxes::forward_all(std::span<const float* const> records, double* codes,
                                std::size_t stride) const {
  const std::size_t p = count(), room = padded(p);
  std::vector<double> centred(kAtOnce * dims_), out(kAtOnce * room);
  for (std::size_t first = 0; first < records.size(); first += kAtOnce) {
    const std::size_t n = std::min(kAtOnce, records.size() - first);
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
