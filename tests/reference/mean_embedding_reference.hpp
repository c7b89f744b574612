#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace muffle::reference {

/// The objective of training in plain double loops. Frequencies in turns, (D/2) x d; target C x D; x n x d.
struct MeanEmbeddingProblem {
  std::size_t dims = 0, half = 0, classes = 0;
  std::vector<double> frequencies, target, weights;
};

/// (1/B) sum_j phi(x_j) e_{y_j}^T, C x D class-major, B = n.
inline std::vector<double> mean_embedding(const MeanEmbeddingProblem& p, const std::vector<double>& x,
                                          const std::vector<std::int64_t>& y) {
  const std::size_t n = y.size(), features = 2 * p.half;
  std::vector<double> mean(p.classes * features, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < p.half; ++j) {
      double turns = 0.0;
      for (std::size_t k = 0; k < p.dims; ++k) turns += x[i * p.dims + k] * p.frequencies[j * p.dims + k];
      const double scale = std::sqrt(2.0 / static_cast<double>(features)) / static_cast<double>(n);
      double* row = mean.data() + static_cast<std::size_t>(y[i]) * features;
      row[j] += scale * std::cos(2.0 * M_PI * turns);
      row[p.half + j] += scale * std::sin(2.0 * M_PI * turns);
    }
  }
  return mean;
}

/// sum_c w_c || mu_Q,c - mu~_c ||^2: the plug-in loss.
inline double loss(const MeanEmbeddingProblem& p, const std::vector<double>& x,
                   const std::vector<std::int64_t>& y) {
  const std::vector<double> mean = mean_embedding(p, x, y);
  double sum = 0.0;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    sum += p.weights[i / (2 * p.half)] * (mean[i] - p.target[i]) * (mean[i] - p.target[i]);
  }
  return sum;
}

/// d loss / d x, n x d, with mu_Q,c replaced by factors_c mu_Q,c in the outer derivative (all 1: the plug-in
/// form).
inline std::vector<double> gradient(const MeanEmbeddingProblem& p, const std::vector<double>& x,
                                    const std::vector<std::int64_t>& y, const std::vector<double>& factors) {
  const std::vector<double> mean = mean_embedding(p, x, y);
  const std::size_t n = y.size(), features = 2 * p.half;
  std::vector<double> out(x.size(), 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    const auto c = static_cast<std::size_t>(y[i]);
    for (std::size_t j = 0; j < p.half; ++j) {
      double turns = 0.0;
      for (std::size_t k = 0; k < p.dims; ++k) turns += x[i * p.dims + k] * p.frequencies[j * p.dims + k];
      const double scale = std::sqrt(2.0 / static_cast<double>(features)) / static_cast<double>(n);
      const std::size_t at_cos = c * features + j, at_sin = at_cos + p.half;
      const double g_cos = 2.0 * p.weights[c] * (factors[c] * mean[at_cos] - p.target[at_cos]);
      const double g_sin = 2.0 * p.weights[c] * (factors[c] * mean[at_sin] - p.target[at_sin]);
      const double g =
          scale * 2.0 * M_PI * (g_sin * std::cos(2.0 * M_PI * turns) - g_cos * std::sin(2.0 * M_PI * turns));
      for (std::size_t k = 0; k < p.dims; ++k) out[i * p.dims + k] += g * p.frequencies[j * p.dims + k];
    }
  }
  return out;
}

}  // namespace muffle::reference
