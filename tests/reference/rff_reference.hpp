#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace muffle::reference {

/// A plain double-precision loop over random Fourier features, and how far from it a float32 kernel may be.
struct RffReference {
  std::span<const float> omega;  ///< (D/2) x d, turns
  std::size_t dims;
  double lattice_scale;  ///< 2^k - 1

  std::size_t frequencies() const { return omega.size() / dims; }

  /// Feature j of a record in lattice units, not truncated.
  double feature(const float* x, std::size_t j) const {
    const std::size_t row = j % frequencies();
    double turns = 0;
    for (std::size_t c = 0; c < dims; ++c) turns += double{omega[row * dims + c]} * x[c];
    const double angle = 2 * std::numbers::pi * turns;
    const double amplitude = lattice_scale / std::sqrt(static_cast<double>(frequencies()));
    return amplitude * (j < frequencies() ? std::cos(angle) : std::sin(angle));
  }

  /// |kernel - feature| is at most this: d fused multiply-adds err by at most d 2^-24 sum |omega_c x_c|
  /// turns; sine and cosine by 2^-23 (polynomial 6e-8, the product 6e-8); the scale is up to 2^-21 low;
  /// truncation takes up to 1.
  double tolerance(const float* x, std::size_t j) const {
    const std::size_t row = j % frequencies();
    double magnitude = 0;
    for (std::size_t c = 0; c < dims; ++c) magnitude += std::fabs(double{omega[row * dims + c]} * x[c]);
    const double phase_error = static_cast<double>(dims) * 0x1p-24 * magnitude * 2 * std::numbers::pi;
    const double amplitude = lattice_scale / std::sqrt(static_cast<double>(frequencies()));
    return amplitude * (phase_error + 0x1p-23 + 0x1p-21) + 1.0;
  }
};

}  // namespace muffle::reference
