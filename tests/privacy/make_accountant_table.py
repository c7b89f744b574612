#!/usr/bin/env python3
"""Writes accountant_table.inc: what the accountant must compute, by mpmath with 120 digits.

Independent of muffle's formulas: delta(eps) = Phi(mu/2 - eps/mu) - exp(eps) Phi(-mu/2 - eps/mu) (Balle & Wang 2018,
Theorem 8) is evaluated as it stands, with so many digits that cancellation does not matter.

    pip install mpmath && python3 make_accountant_table.py > accountant_table.inc
"""
import random

import mpmath as mp

mp.mp.dps = 120


def phi_cdf(x):
    """Standard normal distribution function."""
    return mp.erfc(-x / mp.sqrt(2)) / 2


def log_phi_cdf(x):
    return mp.log1p(-phi_cdf(-x)) if x > 0 else mp.log(phi_cdf(x))


def delta(eps, mu):
    return phi_cdf(mu / 2 - eps / mu) - mp.exp(eps) * phi_cdf(-mu / 2 - eps / mu)


def calibrated(eps, wanted):
    """The noise multiplier 1/mu at which delta(eps) = wanted: bisection of log delta in log mu, 200 halvings."""
    low, high = mp.mpf("1e-7"), mp.mpf(100)
    for _ in range(200):
        mid = mp.sqrt(low * high)
        if delta(eps, mid) > wanted:
            high = mid
        else:
            low = mid
    return 1 / low


def digits(x):
    return mp.nstr(x, 25, min_fixed=0, max_fixed=0)


def main():
    print("// Made by make_accountant_table.py (mpmath, 120 digits). Do not edit.")
    print("constexpr LogCdfRow kLogCdf[] = {")
    for x in [-1e4, -1000.5, -200, -50, -38.5, -20, -10, -8.25, -6, -5, -4.5, -4.000001, -4, -3.999999, -3.5, -3, -2.5,
              -2, -1.5, -1, -0.5, -0.1, -1e-3, -1e-9, 0, 1e-9, 1e-3, 0.1, 0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 37]:
        print(f"    {{{x!r}, {digits(log_phi_cdf(mp.mpf(x)))}}},")
    print("};")

    print("// epsilon, mu, log delta")
    print("constexpr LogDeltaRow kLogDelta[] = {")
    rng = random.Random(20240601)
    rows = [(0.0, 1e-6), (0.0, 1e-3), (0.0, 1.0), (0.0, 20.0), (1e-3, 1e-4), (1e-3, 2e-4), (1e-3, 1e-3), (1e-3, 50.0),
            (100.0, 1.0), (100.0, 10.0), (100.0, 14.142135623730951), (100.0, 40.0)]
    while len(rows) < 220:
        eps = 10 ** rng.uniform(-3, 2)
        # z = eps/mu - mu/2 between -4 and 9 covers delta from 1 to below 1e-18.
        z = rng.uniform(-4, 9)
        mu = -z + (z * z + 2 * eps) ** 0.5
        rows.append((eps, mu))
    # The far tail: delta of 1e-15 and far below.
    while len(rows) < 300:
        eps = 10 ** rng.uniform(-3, 2)
        z = rng.uniform(8, 10)
        rows.append((eps, -z + (z * z + 2 * eps) ** 0.5))
    for eps, mu in rows:
        print(f"    {{{eps!r}, {mu!r}, {digits(mp.log(delta(mp.mpf(eps), mp.mpf(mu))))}}},")
    print("};")

    print("// epsilon, delta, noise multiplier")
    print("constexpr CalibrationRow kCalibration[] = {")
    for eps in [1e-3, 3e-3, 0.01, 0.03, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 100.0]:
        for wanted in [1e-18, 1e-16, 1e-14, 1e-12, 1e-10, 1e-9, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1]:
            print(f"    {{{eps!r}, {wanted!r}, {digits(calibrated(mp.mpf(eps), mp.mpf(wanted)))}}},")
    print("};")


if __name__ == "__main__":
    main()
