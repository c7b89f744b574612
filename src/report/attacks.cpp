#include "attacks.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/privacy/accountant.hpp"

namespace muffle::report {
namespace {

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

/// Hanley and McNeil's variance of an area (Radiology 143, 1982).
double variance_at(double area, double members, double others) {
  const double more = (members + others) / 2 - 1;
  return area * (1 - area) * (1 + more * ((1 - area) / (2 - area) + area / (1 + area))) / (members * others);
}

/// The bound between `area` and `end` at which the variance there reaches no farther than `area`.
double bound_of(double area, double end, double members, double others, double reach) {
  double inside = area, outside = end;
  for (int i = 0; i < 60; ++i) {
    const double middle = (inside + outside) / 2;
    const bool holds = std::fabs(middle - area) <= reach * std::sqrt(variance_at(middle, members, others));
    (holds ? inside : outside) = middle;
  }
  return inside;
}

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> out(values.begin(), values.end());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

double reach_of(std::size_t intervals) {
  return normal_quantile(1 - 0.025 / static_cast<double>(std::max<std::size_t>(1, intervals)));
}

Interval share_interval(double k, double n, double reach) {
  if (n <= 0) return {0.0, 0.0, 1.0};
  const double share = k / n, z2 = reach * reach / n;
  const double middle = (share + z2 / 2) / (1 + z2);
  const double half = reach / (1 + z2) * std::sqrt(share * (1 - share) / n + z2 / (4 * n));
  return {share, std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

Interval area_under_curve(std::span<const double> members, std::span<const double> others, double reach) {
  const std::vector<double> of_members = placements(members, sorted(others)),
                            of_others = placements(others, sorted(members));
  double area = 0;
  for (const double p : of_members) area += p / static_cast<double>(of_members.size());
  const double deviation = std::sqrt(variance(of_members) / static_cast<double>(members.size()) +
                                     variance(of_others) / static_cast<double>(others.size()));
  area = std::min(area, 1.0);
  const auto m = static_cast<double>(members.size()), n = static_cast<double>(others.size());
  return {area, std::max(0.0, std::min(area - reach * deviation, bound_of(area, 0.0, m, n, reach))),
          std::min(1.0, std::max(area + reach * deviation, bound_of(area, 1.0, m, n, reach)))};
}

Interval found_at(std::span<const double> members, std::span<const double> others, double false_share,
                  double reach) {
  const std::vector<double> all = sorted(others);
  const auto n = static_cast<double>(all.size());
  // Above the threshold that takes so many of the others for members; none of them: above all.
  const auto found = [&](double taken) {
    const auto above = static_cast<std::size_t>(std::clamp(taken, 0.0, n - 1));
    const double threshold = all[all.size() - 1 - above];
    return static_cast<double>(
        std::count_if(members.begin(), members.end(), [&](double s) { return s > threshold; }));
  };
  const auto count = static_cast<double>(members.size());
  const double allowed = std::floor(false_share * n), hits = found(allowed);
  const double spread = reach * std::sqrt(n * false_share * (1 - false_share));
  const double fewest = allowed < spread ? 0.0 : found(allowed - spread), most = found(allowed + spread);
  const Interval of_members = share_interval(hits, count, reach);
  const double share = of_members.value;
  return {share, std::max(0.0, share - std::hypot(share - of_members.low, share - fewest / count)),
          std::min(1.0, share + std::hypot(of_members.high - share, most / count - share))};
}

double most_area(double mu) { return std::exp(privacy::log_normal_cdf(mu / std::sqrt(2.0))); }
double most_found_at(double mu, double false_share) {
  return std::exp(privacy::log_normal_cdf(normal_quantile(false_share) + mu));
}

}  // namespace muffle::report
