#include "muffle/moments/clipped_normal.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "muffle/core/error.hpp"

namespace muffle::moments {
namespace {

double density(double t) { return std::exp(-0.5 * t * t) / std::sqrt(2 * std::numbers::pi); }
/// P(N > t), good far out in the tail.
double above(double t) { return 0.5 * std::erfc(t / std::numbers::sqrt2); }

/// First and second moment of the clipped law, and their derivatives.
struct Moments {
  double first, second;
  double first_location, first_scale, second_location, second_scale;
};

Moments moments_of(double location, double scale) {
  const double low = -location / scale, high = (1 - location) / scale;
  const double at_low = density(low), at_high = density(high);
  const double inside = low > 0 ? above(low) - above(high) : above(-high) - above(-low);
  const double one = above(high);
  const double partial = location * inside + scale * (at_low - at_high);  // E[X; 0 < X < 1]
  Moments m;
  m.first = partial + one;
  m.second = (location * location + scale * scale) * inside +
             scale * (location * at_low - (location + 1) * at_high) + one;
  m.first_location = inside;
  m.first_scale = at_low - at_high;
  m.second_location = 2 * partial;
  m.second_scale = 2 * (location * (at_low - at_high) + scale * (inside + low * at_low - high * at_high));
  return m;
}

constexpr double kPrecision = 1e-11;
constexpr double kLeastScale = 1e-3;  ///< the deviation of kLeastVariance
constexpr double kSmallestLogScale = -9, kLargestLogScale = 9;

/// Newton's method in (location, log scale). @returns whether it arrived.
bool newton(MeanVariance wanted, double& location, double& log_scale) {
  const double spread = std::sqrt(wanted.variance);
  for (int step = 0; step < 60; ++step) {
    const double scale = std::exp(log_scale);
    const Moments m = moments_of(location, scale);
    const double mean_off = wanted.mean - m.first;
    const double second_off = wanted.variance + wanted.mean * wanted.mean - m.second;
    if (std::fabs(mean_off) < kPrecision * spread &&
        std::fabs(second_off) < kPrecision * (wanted.variance + wanted.mean * spread))
      return true;
    const double a = m.first_location, b = m.first_scale * scale, c = m.second_location,
                 d = m.second_scale * scale;
    const double determinant = a * d - b * c;
    if (!(std::fabs(determinant) > 1e-300)) return false;
    double by_location = (d * mean_off - b * second_off) / determinant;
    double by_log = (a * second_off - c * mean_off) / determinant;
    const double shorten = std::min(
        {1.0, scale / std::max(std::fabs(by_location), 1e-300), 0.5 / std::max(std::fabs(by_log), 1e-300)});
    location += shorten * by_location;
    log_scale += shorten * by_log;
    if (!(log_scale > kSmallestLogScale && log_scale < kLargestLogScale)) return false;
  }
  return false;
}

/// The location at which a clipped normal of this scale has the mean, which grows with the location.
double location_of_mean(double mean, double scale) {
  double low = -40 * scale, high = 1 + 40 * scale;
  for (int i = 0; i < 70; ++i) {
    const double middle = 0.5 * (low + high);
    (moments_of(middle, scale).first < mean ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

/// Slow and sure: with the mean held, the variance grows with the scale.
void bisect(MeanVariance wanted, double& location, double& log_scale) {
  double low = kSmallestLogScale, high = kLargestLogScale;
  for (int i = 0; i < 60; ++i) {
    log_scale = 0.5 * (low + high);
    location = location_of_mean(wanted.mean, std::exp(log_scale));
    const Moments m = moments_of(location, std::exp(log_scale));
    (m.second - m.first * m.first < wanted.variance ? low : high) = log_scale;
  }
}

}  // namespace

MeanVariance ClippedNormal::moments() const {
  const Moments m = moments_of(location, scale);
  return {m.first, std::max(0.0, m.second - m.first * m.first)};
}

MeanVariance attainable(MeanVariance wanted) {
  const double mean = std::clamp(wanted.mean, kLeastMean, 1 - kLeastMean);
  return {mean, std::clamp(wanted.variance, kLeastVariance, kLargestShare * mean * (1 - mean))};
}

ClippedNormal fit_clipped_normal(MeanVariance wanted, double most_scale) {
  require(std::isfinite(wanted.mean) && std::isfinite(wanted.variance),
          "a clipped normal was asked for moments that are not finite: this is a bug in muffle.");
  wanted = attainable(wanted);
  // A law with a high mean is the mirror image of one with a low mean, where 0 has more digits than 1.
  const bool mirror = wanted.mean > 0.5;
  if (mirror) wanted.mean = 1 - wanted.mean;
  double location = wanted.mean, log_scale = 0.5 * std::log(wanted.variance);
  if (!newton(wanted, location, log_scale)) bisect(wanted, location, log_scale);
  double scale = std::exp(log_scale);
  if (most_scale = std::max(most_scale, kLeastScale); scale > most_scale) {
    scale = most_scale;
    location = location_of_mean(wanted.mean, scale);
  }
  return {mirror ? 1 - location : location, scale};
}

}  // namespace muffle::moments
