#pragma once

#include <cmath>
#include <cstddef>

namespace muffle::features {

/// The Hermite functions of the Gaussian kernel's Mercer expansion (docs/math.md, "feature maps"): for 0 <
/// rho < 1, sum_k psi_k(t) psi_k(s) = exp(-(t - s)^2 / (2 l^2)) with 1 / (2 l^2) = rho / (1 - rho^2), and
/// sum_{k <= C} psi_k(t)^2 <= 1.
struct HermiteFunctions {
  double rho;

  /// The kernel's length-scale l.
  double length() const { return std::sqrt((1 - rho * rho) / (2 * rho)); }

  /// psi_0 .. psi_{count - 1} at t, times `scale`; the recursion is stable: every factor is below 1 but that
  /// of t.
  void operator()(double t, std::size_t count, double scale, double* psi) const {
    psi[0] = scale * std::sqrt(std::sqrt((1 - rho) * (1 + rho))) * std::exp(-rho * t * t / (1 + rho));
    if (count > 1) psi[1] = std::sqrt(2 * rho) * t * psi[0];
    for (std::size_t a = 1; a + 1 < count; ++a) {
      const auto order = static_cast<double>(a);
      psi[a + 1] =
          std::sqrt(2 * rho / (order + 1)) * t * psi[a] - rho * std::sqrt(order / (order + 1)) * psi[a - 1];
    }
  }
};

}  // namespace muffle::features
