#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/release/noisy_moments.hpp"
#include "support/maps.hpp"

namespace muffle::moments {

/// Symmetric noise as a release has it: standard deviation `off` beside the diagonal, sqrt(2) off on it.
inline Eigen::MatrixXd planted_noise(Eigen::Index n, double off, std::uint64_t seed) {
  const CounterStream random(seed, Stream::kTest);
  Eigen::MatrixXd out(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = i; j < n; ++j) {
      const double z = random.normal(static_cast<std::uint64_t>(i * n + j));
      out(i, j) = out(j, i) = (i == j ? std::sqrt(2.0) : 1.0) * off * z;
    }
  }
  return out;
}

/// A known law of u for each class, its exact second moments of z, and noise.
struct PlantedMoments {
  std::vector<Eigen::VectorXd> mean;
  std::vector<Eigen::MatrixXd> covariance;
  release::NoisyMoments moments;
};

/// Classes whose covariances differ by a random rotation of a decaying spectrum's first directions, under the
/// law that weighs records by 1 / ||[c0; u]||^2. @param off  noise beside the diagonal, in records.
inline PlantedMoments plant(std::size_t classes, std::size_t n, double records_a_class, double off,
                            std::uint64_t seed) {
  PlantedMoments out;
  release::NoisyMoments& m = out.moments;
  m.classes = classes;
  m.order = n + 1;
  m.moments = test::make_moments({{"lift", "vector"}, {"offset", "2.0"}}, test::schema_of({n}))
                  ->second_moments()
                  ->moments();
  m.noise_off_diagonal = off;
  m.noise_diagonal = std::sqrt(2.0) * off;
  m.records = records_a_class * static_cast<double>(classes);
  const auto size = static_cast<Eigen::Index>(n);
  const CounterStream random(seed, Stream::kTest, 1);
  std::uint64_t next = 0;
  Eigen::VectorXd spread(size);
  for (Eigen::Index i = 0; i < size; ++i) spread(i) = 1.0 / std::sqrt(1.0 + static_cast<double>(i));
  for (std::size_t c = 0; c < classes; ++c) {
    Eigen::VectorXd mean(size);
    for (Eigen::Index i = 0; i < size; ++i) mean(i) = spread(i) * random.normal(next++);
    Eigen::MatrixXd mix(size, size);
    for (Eigen::Index i = 0; i < size; ++i) {
      for (Eigen::Index j = 0; j < size; ++j)
        mix(i, j) = spread(i) * ((i == j ? 1.0 : 0.0) + 0.3 * random.normal(next++) * spread(j));
    }
    const Eigen::MatrixXd covariance = mix * mix.transpose();
    Eigen::VectorXd first(size + 1);
    first << 1.0, mean / m.moments.offset;
    // C[0, 0] = sum of c0^2 / r^2; the normal law's mean of r^2 under the weighting is what keeps the trace.
    const double norm = records_a_class * m.moments.offset * m.moments.offset /
                        (m.moments.offset * m.moments.offset + mean.squaredNorm() + covariance.trace());
    Eigen::MatrixXd sum = first * first.transpose();
    sum.bottomRightCorner(size, size) += covariance / (m.moments.offset * m.moments.offset);
    sum *= norm;
    if (off > 0) sum += planted_noise(size + 1, off, seed * 1000 + c);
    for (Eigen::Index i = 0; i <= size; ++i) {
      for (Eigen::Index j = 0; j <= size; ++j) m.second.push_back(sum(i, j));
    }
    out.mean.push_back(mean);
    out.covariance.push_back(covariance);
  }
  return out;
}

}  // namespace muffle::moments
