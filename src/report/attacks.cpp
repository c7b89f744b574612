#include "attacks.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/privacy/accountant.hpp"

namespace muffle::report {
namespace {

constexpr double kNormal95 = 1.959963984540054;

/// Of each score the share of the sorted others that lie below it, ties half.
std::vector<double> placements(std::span<const double> scores, const std::vector<double>& others) {
  std::vector<double> out;
  for (const double s : scores) {
    const auto [low, high] = std::equal_range(others.begin(), others.end(), s);
    out.push_back((static_cast<double>(low - others.begin()) + static_cast<double>(high - others.begin())) /
                  (2.0 * static_cast<double>(others.size())));
  }
  return out;
}

double variance(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) squares += (v - mean) * (v - mean);
  return values.size() > 1 ? squares / static_cast<double>(values.size() - 1) : 0.0;
}

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> out(values.begin(), values.end());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Interval share_interval(double k, double n) {
  if (n <= 0) return {0.0, 0.0, 1.0};
  const double share = k / n, z2 = kNormal95 * kNormal95 / n;
  const double middle = (share + z2 / 2) / (1 + z2);
  const double half = kNormal95 / (1 + z2) * std::sqrt(share * (1 - share) / n + z2 / (4 * n));
  return {share, std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

Interval area_under_curve(std::span<const double> members, std::span<const double> others) {
  const std::vector<double> of_members = placements(members, sorted(others)),
                            of_others = placements(others, sorted(members));
  double area = 0;
  for (const double p : of_members) area += p / static_cast<double>(of_members.size());
  const double deviation = std::sqrt(variance(of_members) / static_cast<double>(members.size()) +
                                     variance(of_others) / static_cast<double>(others.size()));
  return {area, std::max(0.0, area - kNormal95 * deviation), std::min(1.0, area + kNormal95 * deviation)};
}

Interval found_at(std::span<const double> members, std::span<const double> others, double false_share) {
  const std::vector<double> all = sorted(others);
  const auto allowed = static_cast<std::size_t>(false_share * static_cast<double>(all.size()));
  const double threshold = all[all.size() - 1 - std::min(allowed, all.size() - 1)];
  const auto found = std::count_if(members.begin(), members.end(), [&](double s) { return s > threshold; });
  return share_interval(static_cast<double>(found), static_cast<double>(members.size()));
}

double most_area(double mu) { return std::exp(privacy::log_normal_cdf(mu / std::sqrt(2.0))); }
double most_found_at(double mu, double false_share) {
  return std::exp(privacy::log_normal_cdf(normal_quantile(false_share) + mu));
}

}  // namespace muffle::report
