#include "muffle/privacy/accountant.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

#include "muffle/core/error.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/core/text.hpp"

namespace muffle::privacy {
namespace {

constexpr double kLogSqrt2Pi = 0.91893853320467274178;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// From here on the tail is computed by the continued fraction instead of erfc.
constexpr double kTail = 4.0;

/// Mills ratio (1 - Phi(z)) / phi(z) for z >= kTail: Laplace's continued fraction 1/(z + 1/(z + 2/(z +
/// 3/...))). At z = 4 sixty levels leave an error far below one ulp.
double mills_ratio_tail(double z) {
  double f = z;
  for (int n = 60; n >= 1; --n) f = z + n / f;
  return 1.0 / f;
}

/// Nodes and weights on (0, infinity) for integrands that decay like exp(-v): the trapezoidal rule after the
/// substitution v = exp(w - exp(-w)), which converges exponentially (Takahasi & Mori 1974).
struct Quadrature {
  static constexpr int kHalf = 108;
  static constexpr double kStep = 1.0 / 24;
  std::array<double, 2 * kHalf + 1> node, weight;

  Quadrature() {
    for (int i = -kHalf; i <= kHalf; ++i) {
      const double w = i * kStep, e = std::exp(-w);
      node[i + kHalf] = std::exp(w - e);
      weight[i + kHalf] = kStep * node[i + kHalf] * (1.0 + e);
    }
  }
};

/// log of  R(z) - R(z + mu) = integral over u >= 0 of exp(-z u - u^2/2) (1 - exp(-mu u)),  R the Mills ratio.
/// The integrand is positive, so nothing cancels, however small mu is.
double log_mills_difference(double z, double mu) {
  static const Quadrature quadrature;
  const double scale = std::fmax(z, 1.0);  // u = v / scale
  const double linear = z / scale, quadratic = 0.5 / (scale * scale), gap = mu / scale;
  double sum = 0.0;
  for (std::size_t i = 0; i < quadrature.node.size(); ++i) {
    const double v = quadrature.node[i];
    sum -= std::expm1(-gap * v) * std::exp(-v * (linear + quadratic * v)) * quadrature.weight[i];
  }
  return std::log(sum) - std::log(scale);
}

void require_range(double value, double low, double high, const std::string& what) {
  if (value >= low && value <= high) return;
  throw ConfigError(what + " is " + exact_text(value) + ", but muffle accounts for values from " +
                    exact_text(low) + " to " + exact_text(high) + " only: choose one in that range.");
}

void require_positive(double value, const std::string& what) {
  if (value > 0 && value < kInfinity) return;
  throw ConfigError(what + " is " + exact_text(value) + ", but it must be a finite number above 0.");
}

/// Smallest double in (low, high] for which `holds`, which is monotone, fails at low and holds at high.
/// Bisects the bit patterns, ordered like the non-negative numbers they stand for: at most 64 steps.
template <class Predicate>
double first_that_holds(double low, double high, Predicate holds) {
  auto bad = std::bit_cast<std::uint64_t>(low), good = std::bit_cast<std::uint64_t>(high);
  while (good - bad > 1) {
    const std::uint64_t middle = bad + (good - bad) / 2;
    (holds(std::bit_cast<double>(middle)) ? good : bad) = middle;
  }
  return std::bit_cast<double>(good);
}

}  // namespace

double log_normal_cdf(double x) {
  if (x < -kTail) return -0.5 * x * x - kLogSqrt2Pi + std::log(mills_ratio_tail(-x));
  if (x < 0) return std::log(0.5 * std::erfc(-x * (0.5 * std::numbers::sqrt2)));
  return std::log1p(-0.5 * std::erfc(x * (0.5 * std::numbers::sqrt2)));
}

double log_delta(double epsilon, double mu) {
  if (!(epsilon >= 0 && epsilon < kInfinity)) {
    throw ConfigError("epsilon is " + exact_text(epsilon) + ", but it must be a finite number, 0 or more.");
  }
  require_positive(mu, "mu = sensitivity / sigma");
  // In the letters of docs/math.md, "accounting": 1/s - t = -z and -t = -(z + mu).
  const double z = epsilon / mu - 0.5 * mu;
  if (!(z < 1e150)) return -kInfinity;
  if (!(z > -1e150)) return 0.0;
  const double a = log_normal_cdf(-z);
  const double b_minus_a = z > kTail ? std::log(mills_ratio_tail(z + mu) / mills_ratio_tail(z))
                                     : epsilon + log_normal_cdf(-(z + mu)) - a;
  if (b_minus_a < -0.7) return a + std::log1p(-std::exp(b_minus_a));
  // The two terms are within a factor 2 of one another, and for small mu nearly equal. Since e^eps =
  // phi(z)/phi(z + mu), delta = phi(z) (R(z) - R(z + mu)).
  return -0.5 * z * z - kLogSqrt2Pi + log_mills_difference(z, mu);
}

double delta_for(double epsilon, double mu) { return std::exp(log_delta(epsilon, mu)); }

double epsilon_for(double delta, double mu) {
  require_delta(delta, "delta");
  require_positive(mu, "mu = sensitivity / sigma");
  const double wanted = std::log(delta) - kLogDeltaError;
  const auto holds = [&](double epsilon) { return log_delta(epsilon, mu) <= wanted; };
  if (holds(0.0)) return 0.0;
  if (!holds(kMaxEpsilon)) {
    throw ConfigError("a noise multiplier of " + exact_text(1.0 / mu) + " does not even give epsilon " +
                      exact_text(kMaxEpsilon) + " at delta " + exact_text(delta) +
                      ", which protects nobody: choose a larger noise multiplier, such as 1.");
  }
  return first_that_holds(0.0, kMaxEpsilon, holds);
}

std::optional<double> epsilon_to_tell(double mu, double delta) {
  if (!(mu > 0)) return 0.0;
  try {
    return epsilon_for(delta, mu);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

double noise_multiplier_for(double epsilon, double delta) {
  require_range(epsilon, kMinEpsilon, kMaxEpsilon, "epsilon");
  require_delta(delta, "delta");
  const double wanted = std::log(delta) - kLogDeltaError;
  return first_that_holds(kMinNoiseMultiplier, kMaxNoiseMultiplier,
                          [&](double multiplier) { return log_delta(epsilon, 1.0 / multiplier) <= wanted; });
}

void require_noise_multiplier(double multiplier, const std::string& what) {
  require_range(multiplier, kMinNoiseMultiplier, kMaxNoiseMultiplier, what);
}

void require_delta(double delta, const std::string& what) {
  require_range(delta, kMinDelta, kMaxDelta, what);
}

double mu_total(std::span<const double> mus) {
  if (mus.empty()) throw ConfigError("there is no release to compose: give at least one mu.");
  double squares = 0.0;
  for (const double mu : mus) {
    require_positive(mu, "mu of a composed release");
    squares = add_up(squares, multiply_up(mu, mu));
  }
  return sqrt_up(squares);
}

Guarantee complete_guarantee(std::optional<double> epsilon, std::optional<double> delta,
                             std::optional<double> noise_multiplier) {
  if (epsilon.has_value() + delta.has_value() + noise_multiplier.has_value() != 2) {
    throw ConfigError(
        "give exactly two of epsilon, delta and the noise multiplier: the third follows from them. Three "
        "could contradict one another, and one alone decides nothing.");
  }
  if (noise_multiplier) require_noise_multiplier(*noise_multiplier, "the noise multiplier");
  if (!noise_multiplier) return {*epsilon, *delta, noise_multiplier_for(*epsilon, *delta)};
  if (!epsilon) return {epsilon_for(*delta, 1.0 / *noise_multiplier), *delta, *noise_multiplier};
  require_range(*epsilon, kMinEpsilon, kMaxEpsilon, "epsilon");
  // Rounded up, as everything here that states a guarantee; below the smallest double it is still not zero.
  const double bound =
      std::exp(log_delta(*epsilon, 1.0 / *noise_multiplier) + kLogDeltaError) * (1.0 + 1e-15);
  return {*epsilon, std::fmin(1.0, std::fmax(bound, std::numeric_limits<double>::min())), *noise_multiplier};
}

}  // namespace muffle::privacy
