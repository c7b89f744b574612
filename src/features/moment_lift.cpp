#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/features/moments.hpp"
#include "muffle/features/rff.hpp"

namespace muffle::features {
namespace {

double rounded_to_float(double v) { return static_cast<float>(v); }

/// The k lowest rows of the orthonormal DCT-II of length n: k x n row-major.
std::vector<double> dct_rows(std::size_t k, std::size_t n) {
  std::vector<double> rows(k * n);
  const auto length = static_cast<double>(n);
  for (std::size_t a = 0; a < k; ++a) {
    const double scale = std::sqrt((a == 0 ? 1.0 : 2.0) / length);
    for (std::size_t i = 0; i < n; ++i) {
      const double angle =
          std::numbers::pi * static_cast<double>(a) * (2.0 * static_cast<double>(i) + 1.0) / (2.0 * length);
      rows[a * n + i] = rounded_to_float(scale * std::cos(angle));
    }
  }
  return rows;
}

std::vector<double> blob_of(const MomentsSpec& spec) {
  const std::size_t channels = spec.shape[0], height = spec.shape[1], width = spec.shape[2];
  std::vector<double> blob;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t r = 0; r < height; ++r) {
      for (std::size_t s = 0; s < width; ++s) {
        const double y = static_cast<double>(r) - 0.5 * (static_cast<double>(height) - 1);
        const double x = static_cast<double>(s) - 0.5 * (static_cast<double>(width) - 1);
        const double fall = std::exp(-(x * x + y * y) / (2 * spec.blob_radius * spec.blob_radius));
        blob.push_back(rounded_to_float(spec.blob_height * fall));
      }
    }
  }
  return blob;
}

std::vector<double> image_weights(const MomentsSpec& spec) {
  std::vector<double> weights;
  for (std::size_t c = 0; c < spec.shape[0]; ++c) {
    for (std::size_t a = 0; a < spec.coefficients; ++a) {
      for (std::size_t b = 0; b < spec.coefficients; ++b) {
        const double frequency = std::sqrt(static_cast<double>(a * a + b * b));
        weights.push_back(rounded_to_float(std::pow(1.0 + frequency, spec.weight_exponent)));
      }
    }
  }
  return weights;
}

}  // namespace

MomentLift::MomentLift(MomentsSpec spec) : spec_(resolved(std::move(spec))) {
  dims_ = 1;
  for (const std::size_t n : spec_.shape) dims_ *= n;
  const std::size_t k = spec_.coefficients;
  switch (spec_.kind) {
    case MomentLiftKind::kImage:
      n_ = spec_.shape[0] * k * k;
      blob_ = blob_of(spec_);
      weights_ = image_weights(spec_);
      rows_ = dct_rows(k, spec_.shape[1]);
      columns_ = dct_rows(k, spec_.shape[2]);
      columns_transposed_.resize(columns_.size());
      for (std::size_t b = 0; b < k; ++b) {
        for (std::size_t s = 0; s < spec_.shape[2]; ++s)
          columns_transposed_[s * k + b] = columns_[b * spec_.shape[2] + s];
      }
      break;
    case MomentLiftKind::kVector:
      n_ = dims_;
      blob_.assign(dims_, 0.5);
      weights_.assign(dims_, 1.0);
      break;
    case MomentLiftKind::kFourier:
      n_ = k;
      frequencies_ = rff_frequencies(
          {.dims = dims_, .features = n_, .length_scale = spec_.length_scale, .seed = spec_.seed});
      break;
    case MomentLiftKind::kHermite:
      n_ = dims_ * k;
      break;
  }
}

bool MomentLift::is_affine() const {
  return spec_.kind == MomentLiftKind::kImage || spec_.kind == MomentLiftKind::kVector;
}

void MomentLift::forward(const float* x, double* u) const {
  switch (spec_.kind) {
    case MomentLiftKind::kImage:
      return forward_image(x, u);
    case MomentLiftKind::kVector:
      for (std::size_t i = 0; i < dims_; ++i) u[i] = static_cast<double>(x[i]) - blob_[i];
      return;
    case MomentLiftKind::kFourier:
      return forward_fourier(x, u);
    case MomentLiftKind::kHermite:
      return forward_hermite(x, u);
  }
}

// Loops whose innermost index runs over outputs, so that the compiler's vectors leave every sum's order
// alone.
void MomentLift::forward_image(const float* x, double* u) const {
  const std::size_t height = spec_.shape[1], width = spec_.shape[2], k = spec_.coefficients;
  std::vector<double> half(k);
  std::fill_n(u, n_, 0.0);
  for (std::size_t c = 0; c < spec_.shape[0]; ++c) {
    double* const out = u + c * k * k;
    for (std::size_t r = 0; r < height; ++r) {
      const std::size_t row = (c * height + r) * width;
      std::fill(half.begin(), half.end(), 0.0);
      for (std::size_t s = 0; s < width; ++s) {
        const double v = static_cast<double>(x[row + s]) - blob_[row + s];
        const double* const column = columns_transposed_.data() + s * k;
        for (std::size_t b = 0; b < k; ++b) half[b] += v * column[b];
      }
      for (std::size_t a = 0; a < k; ++a) {
        const double v = rows_[a * height + r];
        for (std::size_t b = 0; b < k; ++b) out[a * k + b] += v * half[b];
      }
    }
  }
  for (std::size_t i = 0; i < n_; ++i) u[i] *= weights_[i];
}

void MomentLift::forward_fourier(const float* x, double* u) const {
  const std::size_t half = n_ / 2;
  const double scale = std::sqrt(1.0 / static_cast<double>(half));
  for (std::size_t j = 0; j < half; ++j) {
    double turns = 0;
    for (std::size_t c = 0; c < dims_; ++c)
      turns += static_cast<double>(frequencies_[j * dims_ + c]) * static_cast<double>(x[c]);
    const double angle = 2 * std::numbers::pi * (turns - std::floor(turns));
    u[j] = scale * std::cos(angle);
    u[half + j] = scale * std::sin(angle);
  }
}

void MomentLift::forward_hermite(const float* x, double* u) const {
  const std::size_t count = spec_.coefficients;
  // Spec section 4: of arguments t, the functions' kernel has 1 / (2 l^2) = rho / (1 - rho^2).
  const double rho = std::exp(-4.0 / static_cast<double>(count));
  const double length = std::sqrt((1 - rho * rho) / (2 * rho));
  const double scale = 1.0 / std::sqrt(static_cast<double>(dims_));
  for (std::size_t j = 0; j < dims_; ++j) {
    double* const psi = u + j * count;
    const double t = (static_cast<double>(x[j]) - 0.5) * length / spec_.length_scale;
    psi[0] = scale * std::sqrt(std::sqrt((1 - rho) * (1 + rho))) * std::exp(-rho * t * t / (1 + rho));
    if (count > 1) psi[1] = std::sqrt(2 * rho) * t * psi[0];
    for (std::size_t a = 1; a + 1 < count; ++a) {
      const auto order = static_cast<double>(a);
      psi[a + 1] =
          std::sqrt(2 * rho / (order + 1)) * t * psi[a] - rho * std::sqrt(order / (order + 1)) * psi[a - 1];
    }
  }
}

void MomentLift::back(const double* u, double* x) const {
  require(is_affine(), "a moment lift that is not affine has no way back: this is a bug in muffle.");
  std::copy(blob_.begin(), blob_.end(), x);
  if (spec_.kind == MomentLiftKind::kVector) {
    for (std::size_t i = 0; i < dims_; ++i) x[i] += u[i];
    return;
  }
  const std::size_t height = spec_.shape[1], width = spec_.shape[2], k = spec_.coefficients;
  std::vector<double> half(k);
  for (std::size_t c = 0; c < spec_.shape[0]; ++c) {
    const std::size_t first = c * k * k;
    for (std::size_t r = 0; r < height; ++r) {
      std::fill(half.begin(), half.end(), 0.0);
      for (std::size_t a = 0; a < k; ++a) {
        for (std::size_t b = 0; b < k; ++b)
          half[b] += rows_[a * height + r] * (u[first + a * k + b] / weights_[first + a * k + b]);
      }
      double* const row = x + (c * height + r) * width;
      for (std::size_t b = 0; b < k; ++b) {
        for (std::size_t s = 0; s < width; ++s) row[s] += half[b] * columns_[b * width + s];
      }
    }
  }
}

std::string MomentLift::hash() const {
  std::vector<double> all{static_cast<double>(spec_.kind), static_cast<double>(dims_),
                          static_cast<double>(n_), spec_.length_scale, spec_.offset};
  for (const auto* part : {&blob_, &weights_, &rows_, &columns_})
    all.insert(all.end(), part->begin(), part->end());
  all.insert(all.end(), frequencies_.begin(), frequencies_.end());
  return to_hex(sha256(std::as_bytes(std::span(all))));
}

}  // namespace muffle::features
