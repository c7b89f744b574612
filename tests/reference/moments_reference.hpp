#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "muffle/features/lift.hpp"

// Second moments by plain loops over 128-bit integers.
namespace muffle::reference {

__extension__ using Int128 = __int128;

/// u = W (T x - T m0) by the DCT-II's definition, a sum over all pixels for each coefficient.
/// @param settings  of the lift, as a release states them
inline std::vector<double> image_lift(const std::vector<std::size_t>& shape, const nlohmann::json& settings,
                                      const float* x) {
  const std::size_t channels = shape[0], height = shape[1], width = shape[2], k = settings["coefficients"];
  const double blob_height = settings["blob_height"], radius = settings["blob_radius"],
               exponent = settings["weight_exponent"];
  std::vector<double> u;
  const auto basis = [](std::size_t a, std::size_t i, std::size_t n) {
    const double angle = std::numbers::pi * static_cast<double>(a * (2 * i + 1)) / static_cast<double>(2 * n);
    return std::sqrt((a == 0 ? 1.0 : 2.0) / static_cast<double>(n)) * std::cos(angle);
  };
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t a = 0; a < k; ++a) {
      for (std::size_t b = 0; b < k; ++b) {
        double sum = 0;
        for (std::size_t i = 0; i < height; ++i) {
          for (std::size_t j = 0; j < width; ++j) {
            const double dy = static_cast<double>(i) - static_cast<double>(height - 1) / 2;
            const double dx = static_cast<double>(j) - static_cast<double>(width - 1) / 2;
            const double blob = blob_height * std::exp(-(dx * dx + dy * dy) / (2 * radius * radius));
            sum += basis(a, i, height) * basis(b, j, width) *
                   (static_cast<double>(x[(c * height + i) * width + j]) - blob);
          }
        }
        u.push_back(sum * std::pow(1 + std::hypot(static_cast<double>(a), static_cast<double>(b)), exponent));
      }
    }
  }
  return u;
}

/// An affine lift of images in plain loops, whose sums run over pixels in order: the very bits.
inline std::vector<double> lift_in_loops(const features::AffineLift& lift, const float* x) {
  const std::size_t k = lift.side, height = lift.height, width = lift.width;
  std::vector<double> u(lift.channels * k * k), half(k);
  for (std::size_t c = 0; c < lift.channels; ++c) {
    double* const out = u.data() + c * k * k;
    for (std::size_t r = 0; r < height; ++r) {
      const std::size_t row = (c * height + r) * width;
      std::fill(half.begin(), half.end(), 0.0);
      for (std::size_t s = 0; s < width; ++s) {
        const double v = static_cast<double>(x[row + s]) - lift.origin[row + s];
        for (std::size_t b = 0; b < k; ++b) half[b] += v * lift.columns[b * width + s];
      }
      for (std::size_t a = 0; a < k; ++a) {
        for (std::size_t b = 0; b < k; ++b) out[a * k + b] += lift.rows[a * height + r] * half[b];
      }
    }
  }
  for (std::size_t i = 0; i < u.size(); ++i) u[i] *= lift.weights[i];
  return u;
}

/// z of one record, given its lift.
inline std::vector<std::int64_t> integer_z(const features::SecondMoments& moments, const float* x) {
  std::vector<double> v(moments.order());
  v[0] = moments.offset;
  moments.lift->forward(x, v.data() + 1);
  double squares = 0;
  for (const double e : v) squares += e * e;
  const double factor = moments.scale() / std::sqrt(squares);
  std::vector<std::int64_t> z;
  for (const double e : v) z.push_back(std::llrint(e * factor));
  return z;
}

/// C x D sums of z z^T, diagonal first, modulo 2^64.
inline std::vector<std::uint64_t> moment_sums(const features::SecondMoments& moments,
                                              const std::vector<float>& x, const std::vector<std::int32_t>& y,
                                              std::size_t classes) {
  const std::size_t q = moments.order(), block = q * (q + 1) / 2;
  std::vector<Int128> sums(classes * block, 0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] < 0 || static_cast<std::size_t>(y[i]) >= classes) continue;
    const std::vector<std::int64_t> z = integer_z(moments, x.data() + i * moments.lift->dims());
    Int128* row = sums.data() + static_cast<std::size_t>(y[i]) * block;
    std::size_t next = q;
    for (std::size_t a = 0; a < q; ++a) {
      row[a] += Int128{z[a]} * z[a];
      for (std::size_t b = a + 1; b < q; ++b) row[next++] += Int128{z[a]} * z[b];
    }
  }
  std::vector<std::uint64_t> out;
  for (const Int128 s : sums) out.push_back(static_cast<std::uint64_t>(s));
  return out;
}

}  // namespace muffle::reference
