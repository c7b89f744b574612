#include "spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace muffle::moments {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

// Public guesses (docs/explanation/moments.md, "What was chosen by looking"). Spreads are standard deviations
// of logarithms: how far off a guess may be.

/// Mean squares of coefficients fall as pitch^-exponent.
constexpr double kExponentSpread = 0.75;
/// Of images: factors of odd frequencies, either way.
constexpr double kOddSpread = 1.0;
constexpr int kShapeTurns = 2;
constexpr int kScoringSteps = 30;

/// A law of mean squares: they fall as a power of the frequency, in every direction alike or along each axis
/// by itself, and those of odd frequencies are smaller or larger by a factor: most images are nearly
/// symmetric.
struct Shape {
  bool along_axes = false;
  double exponent = features::AffineLift::kExponent;
  double odd_rows = 0, odd_columns = 0;  ///< logarithms

  VectorXd law(const Spectrum& spectrum) const {
    if (spectrum.product.size() == 0) return spectrum.law(exponent);
    VectorXd out = spectrum.gain.array() *
                   (along_axes ? spectrum.product : spectrum.pitch).array().pow(-exponent) *
                   (odd_rows * spectrum.odd_rows + odd_columns * spectrum.odd_columns).array().exp();
    return spectrum.energy / out.sum() * out;
  }
  double plausible() const {
    return -0.5 * (square((exponent - features::AffineLift::kExponent) / kExponentSpread) +
                   square(odd_rows / kOddSpread) + square(odd_columns / kOddSpread));
  }
};

}  // namespace

Spectrum spectrum_of(const features::AffineLift& lift) {
  const auto n = static_cast<Index>(lift.weights.size());
  Spectrum out{Eigen::Map<const VectorXd>(lift.weights.data(), n).array().square(),
               Eigen::Map<const VectorXd>(lift.pitch.data(), n), lift.energy()};
  if (lift.rows.empty()) return out;
  const auto k = static_cast<Index>(lift.side);
  for (VectorXd* of : {&out.product, &out.odd_rows, &out.odd_columns}) of->resize(n);
  for (Index i = 0; i < n; ++i) {
    const Index row = i / k % k, column = i % k;
    out.product(i) = static_cast<double>((1 + row) * (1 + column));
    out.odd_rows(i) = static_cast<double>(row % 2);
    out.odd_columns(i) = static_cast<double>(column % 2);
  }
  return out;
}

VectorXd Spectrum::law(double exponent) const {
  const VectorXd shape = gain.array() * pitch.array().pow(-exponent);
  return energy / shape.sum() * shape;
}

Scale most_plausible(double guess, double spread, const std::function<Likelihood(double)>& likelihood_at) {
  double off = 0;  // of the logarithm, in units of its spread
  for (int step = 0; step < kScoringSteps; ++step) {
    const Likelihood at = likelihood_at(guess * std::exp(off * spread));
    off += std::clamp((at.slope - off / spread) / (at.information + 1 / square(spread)), -1.0, 1.0) / spread;
  }
  const double value = guess * std::exp(off * spread);
  return {value, likelihood_at(value).value - 0.5 * square(off)};
}

// Its shape part by part, a few times over, and its scale with each.
VectorXd most_plausible_law(const Spectrum& spectrum, double spread,
                            const std::function<Likelihood(const Eigen::ArrayXd&)>& likelihood_of) {
  VectorXd best;
  Shape shape;
  double most = -std::numeric_limits<double>::infinity();
  const auto consider = [&](const Shape& other) {
    const VectorXd law = other.law(spectrum);
    const Scale scale = most_plausible(1.0, spread, [&](double a) { return likelihood_of(a * law.array()); });
    const double plausible = scale.plausible + other.plausible();
    if (plausible <= most) return;
    most = plausible;
    shape = other;
    best = scale.value * law;
  };
  const auto exponents = [&](bool along_axes) {
    Shape other = shape;
    other.along_axes = along_axes;
    for (other.exponent = 0; other.exponent <= 6; other.exponent += 0.125) consider(other);
  };
  const auto factors = [&](double Shape::*of) {
    Shape other = shape;
    for (other.*of = -4; other.*of <= 2; other.*of += 0.25) consider(other);
  };
  exponents(false);
  for (int turn = 0; spectrum.product.size() > 0 && turn < kShapeTurns; ++turn) {
    exponents(true);
    factors(&Shape::odd_columns);
    factors(&Shape::odd_rows);
    exponents(false);
  }
  return best;
}

}  // namespace muffle::moments
