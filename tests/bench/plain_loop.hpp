#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "muffle/features/rff.hpp"

namespace muffle::bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Random Fourier features of records (n x d) with labels y in 0..9, summed by class, in plain float loops
/// with std::sin and std::cos; seconds per record.
inline double plain_loop_seconds(const features::RffSpec& spec, const std::vector<float>& x,
                                 const std::vector<std::int32_t>& y, std::size_t records) {
  const std::size_t d = spec.dims, half = spec.features / 2;
  const auto omega = features::rff_frequencies(spec);
  std::vector<double> sums(10 * spec.features);
  const auto start = Clock::now();
  for (std::size_t i = 0; i < records; ++i) {
    double* const row = sums.data() + static_cast<std::size_t>(y[i]) * spec.features;
    for (std::size_t j = 0; j < half; ++j) {
      float turns = 0;
      for (std::size_t c = 0; c < d; ++c) turns += omega[j * d + c] * x[i * d + c];
      const float angle = turns * static_cast<float>(2 * std::numbers::pi);
      row[j] += std::cos(angle);
      row[half + j] += std::sin(angle);
    }
  }
  benchmark::DoNotOptimize(sums.data());
  return seconds_since(start) / static_cast<double>(records);
}

}  // namespace muffle::bench
