#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "muffle/core/error.hpp"
#include "muffle/data/mixture.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "muffle/synth/export.hpp"

namespace muffle::evaluate {
namespace {

constexpr int kCentres = data::kMixtureGrid * data::kMixtureGrid;
constexpr double kPapersRecords = 90000.0;
constexpr std::size_t kAliveEvery = 100'000;  ///< records: some milliseconds

/// log sum exp(-r^2 / (2 s^2)) over the centres of class y; finite wherever the point is, for the nearest
/// centre's exponent is taken out first.
double log_sum_of_class(double x1, double x2, int y) {
  std::array<double, kCentres> exponents{};
  std::size_t n = 0;
  for (int column = 0; column < data::kMixtureGrid; ++column) {
    for (int row = 0; row < data::kMixtureGrid; ++row) {
      if (data::mixture_class(column, row) != y) continue;
      const double d1 = x1 - column, d2 = x2 - row;
      exponents[n++] = -(d1 * d1 + d2 * d2) / (2.0 * data::kMixtureStd * data::kMixtureStd);
    }
  }
  const double largest = *std::max_element(exponents.begin(), exponents.begin() + n);
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += std::exp(exponents[i] - largest);
  return largest + std::log(sum);
}

}  // namespace

MixtureScore evaluate_mixture(const std::filesystem::path& synthetic, const std::function<void()>& alive) {
  const synth::Records records = synth::read_npz(synthetic, alive);
  const std::size_t n = records.count();
  if (n == 0) throw DataError("'" + synthetic.string() + "' holds no records to score.");
  if (records.floats.size() != 2 * n) {
    throw DataError("'" + synthetic.string() +
                    "' does not hold points of the 2-D mixture: x must be float32 of two columns.");
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    if (alive && i % kAliveEvery == 0) alive();
    const double x1 = records.floats[2 * i], x2 = records.floats[2 * i + 1];
    const int y = records.labels[i];
    if (!std::isfinite(x1) || !std::isfinite(x2) || y >= data::kMixtureGrid) {
      throw DataError(
          "record " + std::to_string(i) + " (counting from 0) of '" + synthetic.string() +
          "' is not a point of the 2-D mixture: its coordinates must be finite and its label in 0.." +
          std::to_string(data::kMixtureGrid - 1) + ".");
    }
    sum += log_sum_of_class(x1, x2, y);
  }
  // One over sqrt(2 pi) s for each dimension that the convention counts.
  const double per_dimension = std::log(std::sqrt(2.0 * std::numbers::pi) * data::kMixtureStd);
  const double count = static_cast<double>(n);
  MixtureScore score;
  score.records = n;
  score.nll_true = -sum + count * (std::log(kCentres) + 2.0 * per_dimension);
  score.nll_authors_convention = -sum + count * (std::log(kCentres) + per_dimension);
  score.per_90000_true = score.nll_true * (kPapersRecords / count);
  score.per_90000_authors_convention = score.nll_authors_convention * (kPapersRecords / count);
  return score;
}

}  // namespace muffle::evaluate
