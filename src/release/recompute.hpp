#pragma once

#include "muffle/privacy/sensitivity.hpp"

namespace muffle::release {

// The guarantee's arithmetic a second time, for `muffle verify`: the formulas as the papers print them, in
// long double, sharing no code with the accountant and the planner whose results they check. Good to 1e-10
// relative over the accountant's domain (the tests hold them to its reference values).

/// delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) (Balle & Wang 2018, Theorem 8).
long double plain_delta(double epsilon, long double mu);

/// The smallest sigma / sensitivity that gives (eps, delta), by bisection on plain_delta.
long double plain_multiplier(double epsilon, double delta);

/// The combined L2 sensitivity (docs/math.md, "sensitivity"), in ordinary rounding.
long double plain_sensitivity(const privacy::SensitivityInput& input);

}  // namespace muffle::release
