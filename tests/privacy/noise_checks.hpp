#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <set>
#include <string>
#include <vector>

// Checks that two releases' noise is round(N(0, sigma^2)), independent within and between the releases.
//
// A check fails if its p-value is below kThreshold = 1e-10. The nominal p-values of the chi-square and normal
// approximations may be off by a factor in so far a tail; the checks with heavier tails (kurtosis) are given
// 9 standard errors, nominal 2e-19. One call runs 15 checks: honest noise fails one with p below 1e-8.

namespace muffle::privacy::testing_noise {

inline constexpr double kThreshold = 1e-10;

using Noise = std::vector<std::int64_t>;

inline double two_sided(double z) { return std::erfc(std::fabs(z) / std::numbers::sqrt2); }

/// P(chi-square with `degrees` > x), by Wilson and Hilferty's cube root: conservative enough from 50 degrees.
inline double chi_square_tail(double x, double degrees) {
  const double c = 2.0 / (9.0 * degrees);
  return 0.5 * std::erfc((std::cbrt(x / degrees) - (1 - c)) / std::sqrt(2 * c));
}

/// P(lo <= Z <= hi) for Z = round(N(0, sigma^2)), without cancellation in the tails.
inline double cell_probability(double lo, double hi, double sigma) {
  if (lo + hi > 0) return cell_probability(-hi, -lo, sigma);
  const auto cdf = [&](double x) { return 0.5 * std::erfc(-x / sigma / std::numbers::sqrt2); };
  return cdf(hi + 0.5) - cdf(lo - 0.5);
}

/// Cells of sigma / 20 (or one integer) out to 4.5 sigma, then the two tails; thin neighbours are merged.
inline double chi_square_p(const Noise& z, double sigma) {
  std::vector<double> last;  // last integer of each cell
  for (int i = -90; i <= 90; ++i) {
    const double edge = std::floor(sigma * i / 20.0);
    if (last.empty() || edge > last.back()) last.push_back(edge);
  }
  std::vector<double> expected, seen(last.size() + 1, 0.0);
  const auto n = static_cast<double>(z.size());
  for (std::size_t i = 0; i <= last.size(); ++i) {
    const double lo = i == 0 ? -1e30 : last[i - 1] + 1, hi = i == last.size() ? 1e30 : last[i];
    expected.push_back(n * cell_probability(lo, hi, sigma));
  }
  for (const std::int64_t v : z) {
    seen[static_cast<std::size_t>(std::lower_bound(last.begin(), last.end(), static_cast<double>(v)) -
                                  last.begin())] += 1;
  }
  double statistic = 0, e = 0, s = 0, cells = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    e += expected[i];
    s += seen[i];
    double rest = 0;
    for (std::size_t j = i + 1; j < expected.size() && rest < 10; ++j) rest += expected[j];
    if (e >= 10 && (rest >= 10 || i + 1 == expected.size())) {
      statistic += (s - e) * (s - e) / e;
      cells += 1;
      e = s = 0;
    }
  }
  return chi_square_tail(statistic, std::max(1.0, cells - 1));
}

/// Kolmogorov-Smirnov with the Dvoretzky-Kiefer-Wolfowitz-Massart inequality: a bound for lattice laws too.
inline double ks_p(Noise z, double sigma) {
  std::sort(z.begin(), z.end());
  const auto n = static_cast<double>(z.size());
  double worst = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (i + 1 < z.size() && z[i + 1] == z[i]) continue;
    const double cdf = 0.5 * std::erfc(-(static_cast<double>(z[i]) + 0.5) / sigma / std::numbers::sqrt2);
    worst = std::max(worst, std::fabs((static_cast<double>(i) + 1) / n - cdf));
  }
  return std::min(1.0, 2 * std::exp(-2 * n * worst * worst));
}

/// Positive against negative draws of the same magnitude, 40 cells of magnitude.
inline double symmetry_p(const Noise& z, double sigma) {
  std::vector<double> plus(41, 0.0), minus(41, 0.0);
  for (const std::int64_t v : z) {
    if (v == 0) continue;
    const auto cell =
        static_cast<std::size_t>(std::min(40.0, std::fabs(static_cast<double>(v)) / sigma * 10));
    (v > 0 ? plus : minus)[cell] += 1;
  }
  double statistic = 0, cells = 0, all_plus = 0, all_minus = 0;
  for (std::size_t i = 0; i < plus.size(); ++i) {
    all_plus += plus[i], all_minus += minus[i];
    const double sum = plus[i] + minus[i], difference = plus[i] - minus[i];
    if (sum < 20) continue;
    statistic += difference * difference / sum;
    cells += 1;
  }
  const double sign = two_sided((all_plus - all_minus) / std::sqrt(std::max(1.0, all_plus + all_minus)));
  return std::min(sign, cells > 0 ? chi_square_tail(statistic, cells) : 0.0);
}

/// p-value of the correlation of a[i] and b[i + lag] under independence.
inline double correlation_p(const Noise& a, const Noise& b, std::size_t lag, double sigma) {
  double sum = 0;
  for (std::size_t i = 0; i + lag < a.size(); ++i) {
    sum += static_cast<double>(a[i]) / sigma * (static_cast<double>(b[i + lag]) / sigma);
  }
  const double variance = 1 + 1 / (12 * sigma * sigma);
  return two_sided(sum / (variance * std::sqrt(static_cast<double>(a.size() - lag))));
}

/// The last four bits of a wide Gaussian on the integers are uniform; noise made of floats has coarser ones.
inline double low_bits_p(const Noise& z) {
  std::vector<double> seen(16, 0.0);
  for (const std::int64_t v : z) seen[static_cast<std::size_t>(v & 15)] += 1;
  const double e = static_cast<double>(z.size()) / 16;
  double statistic = 0;
  for (const double s : seen) statistic += (s - e) * (s - e) / e;
  return chi_square_tail(statistic, 15);
}

/// Names of the checks that the noise fails; none for honest noise. Two releases of n numbers each.
inline std::set<std::string> failed_checks(const Noise& first, const Noise& second,
                                           std::uint64_t sigma_lattice) {
  const auto sigma = static_cast<double>(sigma_lattice);
  std::set<std::string> failed;
  const auto check = [&](const char* name, double p) {
    if (!(p >= kThreshold)) failed.insert(name);
  };
  const auto n = static_cast<double>(first.size());
  check("chi-square", chi_square_p(first, sigma));
  check("Kolmogorov-Smirnov", ks_p(first, sigma));
  check("symmetry", symmetry_p(first, sigma));
  double mean = 0, square = 0, fourth = 0;
  for (const std::int64_t v : first) {
    const double x = static_cast<double>(v) / sigma;
    mean += x;
    square += x * x;
    fourth += x * x * x * x;
  }
  // Sheppard: rounding adds 1/12 to the variance, and (1/2) sigma^2 + 1/80 to the fourth moment; exact to
  // 1e-8 already for sigma = 1.
  const double w = 1 / (sigma * sigma), variance = 1 + w / 12, kurtosis = 3 + w / 2 + w * w / 80;
  check("mean", two_sided(mean / std::sqrt(n * variance)));
  check("variance", two_sided((square / n - variance) / std::sqrt((kurtosis - variance * variance) / n)));
  // Var x^4 = 96 for a Gaussian; 9 standard errors instead of 6.5 because x^8 has a heavy tail.
  check("kurtosis",
        two_sided((fourth / n - kurtosis) / std::sqrt(105.0 * std::pow(variance, 4) / n) * (6.5 / 9)));
  for (const std::size_t lag : {1, 2, 3, 64, 1000})
    check("lag correlation", correlation_p(first, first, lag, sigma));
  check("releases correlate", correlation_p(first, second, 0, sigma));
  check("releases correlate", correlation_p(first, second, 1, sigma));
  if (sigma_lattice >= 64) check("low bits", low_bits_p(first));
  check("second release", chi_square_p(second, sigma));
  return failed;
}

}  // namespace muffle::privacy::testing_noise
