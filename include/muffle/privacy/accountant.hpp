#pragma once

#include <optional>
#include <span>
#include <string>

namespace muffle::privacy {

/// Accounting of Gaussian releases (Balle & Wang, ICML 2018, Theorem 8; Gaussian DP composition of Dong, Roth
/// & Su). mu = sensitivity / sigma of a release; several releases compose to sqrt(sum mu_i^2), exactly.
/// Domain: eps in [1e-3, 100], delta in [1e-18, 0.1]; anything else, and NaN, is a ConfigError.
inline constexpr double kMinEpsilon = 1e-3, kMaxEpsilon = 100.0;
inline constexpr double kMinDelta = 1e-18, kMaxDelta = 0.1;
/// Noise multipliers beyond these are slips of the keyboard, and so is a mu beyond their reciprocals.
inline constexpr double kMinNoiseMultiplier = 1e-3, kMaxNoiseMultiplier = 1e6;

/// Bound on the absolute error of log_delta() over the domain (tests hold it to a tenth of that). Calibration
/// demands log delta to be better by this much, so that rounding never flatters a guarantee.
inline constexpr double kLogDeltaError = 1e-12;

/// log delta(eps) of a release with this mu, in the log domain (docs/math.md, "accounting"). Finite eps >= 0,
/// finite mu > 0. The difference of the two terms is never formed where it would cancel (see the source).
double log_delta(double epsilon, double mu);
double delta_for(double epsilon, double mu);

/// Smallest eps in [0, 100] such that delta(eps, mu) <= delta, rounded up. @throws ConfigError if even eps =
/// 100 does not do: such noise protects nobody.
double epsilon_for(double delta, double mu);

/// The same for reports: 0 for a mu of 0, none where even eps = 100 does not do.
std::optional<double> epsilon_to_tell(double mu, double delta);

/// Smallest noise multiplier sigma / sensitivity = 1 / mu that gives (eps, delta): the upper end of a
/// bisection, so that the guarantee holds for the returned number.
double noise_multiplier_for(double epsilon, double delta);

/// @param what  names it in the message. @throws ConfigError  outside the range above, or NaN.
void require_noise_multiplier(double multiplier, const std::string& what);
void require_delta(double delta, const std::string& what);

/// mu of several Gaussian releases of the same data, or of one whose blocks have their own scales (mu_b =
/// Delta_b / sigma_b): sqrt(sum mu_i^2), rounded up. @throws ConfigError  none, or one not finite or not > 0.
double mu_total(std::span<const double> mus);

/// Any two of the three give the third, rounded against the giver: epsilon, delta and noise multiplier up.
struct Guarantee {
  double epsilon = 0.0, delta = 0.0, noise_multiplier = 0.0;
};
/// @throws ConfigError  not exactly two given, or outside the domain.
Guarantee complete_guarantee(std::optional<double> epsilon, std::optional<double> delta,
                             std::optional<double> noise_multiplier);

/// Logarithm of the standard normal distribution function, accurate in the far tail.
double log_normal_cdf(double x);

}  // namespace muffle::privacy
