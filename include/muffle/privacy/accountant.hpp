#pragma once

namespace muffle::privacy {

/// Accounting of Gaussian releases (Balle & Wang, ICML 2018, Theorem 8; Gaussian DP composition of Dong, Roth & Su).
/// mu = sensitivity / sigma of a release; several releases compose to sqrt(sum mu_i^2), exactly.
/// Domain: eps in [1e-3, 100], delta in [1e-12, 0.1]; anything else, and NaN, is a ConfigError.

/// log delta(eps) of a release with this mu, in the log domain (spec section 3). eps >= 0, mu > 0.
double log_delta(double epsilon, double mu);
double delta_for(double epsilon, double mu);
/// Smallest eps such that delta_for(eps, mu) <= delta, rounded up.
double epsilon_for(double delta, double mu);
/// Smallest noise multiplier sigma / sensitivity = 1 / mu that gives (eps, delta): the upper end of a bisection,
/// so that the guarantee holds for the returned number.
double noise_multiplier_for(double epsilon, double delta);

/// Logarithm of the standard normal distribution function, accurate in the far tail.
double log_normal_cdf(double x);

}  // namespace muffle::privacy
