#pragma once

#include <cmath>
#include <limits>

namespace muffle {

// Arithmetic whose result is never below the exact one, for noise scales and sensitivities: the rounding
// error of each operation is recovered exactly (two-sum and fused multiply-add; Ogita, Rump & Oishi 2005)
// and, if the rounded result is too small, the next double up is taken. An exact result stays exact: 3.73...
// x 2 is not inflated. For finite, non-negative operands far from overflow and underflow.

inline double next_up(double x) { return std::nextafter(x, std::numeric_limits<double>::infinity()); }

inline double add_up(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  return error > 0 ? next_up(sum) : sum;
}

inline double multiply_up(double a, double b) {
  const double product = a * b;
  return std::fma(a, b, -product) > 0 ? next_up(product) : product;
}

inline double divide_up(double a, double b) {
  const double quotient = a / b;
  return std::fma(-quotient, b, a) > 0 ? next_up(quotient) : quotient;
}

inline double sqrt_up(double x) {
  const double root = std::sqrt(x);
  return std::fma(-root, root, x) > 0 ? next_up(root) : root;
}

}  // namespace muffle
