#include "muffle/privacy/audit.hpp"

#include <algorithm>
#include <cmath>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"

namespace muffle::privacy {
namespace {

/// Continued fraction of the incomplete beta function (DLMF 8.17.22), by the modified Lentz method. Converges
/// within O(sqrt(a + b)) terms for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kEps = 1e-16;
  const auto away_from_zero = [](double v) { return std::fabs(v) < kTiny ? kTiny : v; };
  double c = 1.0, d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0)), f = d;
  for (int m = 1; m < 1'000'000; ++m) {
    const double k = m;
    for (const double step : {k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k)),
                              -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))}) {
      d = 1.0 / away_from_zero(1.0 + step * d);
      c = away_from_zero(1.0 + step / c);
      f *= c * d;
    }
    if (std::fabs(c * d - 1.0) < kEps) return f;
  }
  throw InvariantError("the incomplete beta function did not converge: this is a bug in muffle.");
}

/// I_x(a, b).
double regularised_beta(double a, double b, double x) {
  if (!(x > 0)) return 0.0;
  if (!(x < 1)) return 1.0;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

/// ln((1 - miss - delta) / false_alarm), 0 if it is not positive.
double epsilon_of(double miss, double false_alarm, double delta) {
  const double hit = 1.0 - miss - delta;
  return hit > false_alarm ? std::log(hit / false_alarm) : 0.0;
}

AuditFinding examine(const AuditScores& scores, double threshold, double delta, double alpha) {
  const auto above = [threshold](const std::vector<double>& group) -> std::uint64_t {
    return std::ranges::count_if(group, [threshold](double score) { return score > threshold; });
  };
  AuditFinding f;
  f.attack = scores.attack;
  f.threshold = threshold;
  f.trials = scores.of_first.size();
  f.false_positives = above(scores.of_first);
  f.false_negatives = scores.of_second.size() - above(scores.of_second);
  f.false_positive_rate = clopper_pearson_upper(f.false_positives, f.trials, alpha);
  f.false_negative_rate = clopper_pearson_upper(f.false_negatives, scores.of_second.size(), alpha);
  if (f.false_positive_rate < 1 && f.false_negative_rate < 1) {
    f.mu = std::fmax(0.0, -(normal_quantile(f.false_positive_rate) + normal_quantile(f.false_negative_rate)));
  }
  f.epsilon_any = std::fmax(epsilon_of(f.false_negative_rate, f.false_positive_rate, delta),
                            epsilon_of(f.false_positive_rate, f.false_negative_rate, delta));
  return f;
}

}  // namespace

double clopper_pearson_upper(std::uint64_t k, std::uint64_t n, double alpha) {
  require(n > 0 && k <= n && alpha > 0 && alpha < 1,
          "a confidence bound was asked for absurd counts: this is a bug in muffle.");
  if (k == n) return 1.0;
  // P(Bin(n, p) <= k) = I_{1-p}(n - k, k + 1) falls in p; the bound is where it reaches alpha.
  const auto a = static_cast<double>(n - k), b = static_cast<double>(k + 1);
  double low = static_cast<double>(k) / static_cast<double>(n), high = 1.0;
  for (int i = 0; i < 200 && std::nextafter(low, 1.0) < high; ++i) {
    const double middle = 0.5 * (low + high);
    (regularised_beta(a, b, 1.0 - middle) > alpha ? low : high) = middle;
  }
  return high;
}

AuditBound audit_bound(std::span<const AuditScores> scores, std::span<const double> thresholds, double delta,
                       double confidence) {
  if (!(confidence > 0 && confidence < 1)) {
    throw ConfigError("the audit's confidence is " + exact_text(confidence) +
                      ", not a number between 0 and 1: choose one such as 0.9999.");
  }
  require_delta(delta, "delta");
  require(!scores.empty() && !thresholds.empty(), "an audit without scores: this is a bug in muffle.");
  const double alpha = (1.0 - confidence) / (2.0 * static_cast<double>(scores.size() * thresholds.size()));
  AuditBound bound;
  bound.confidence = confidence;
  for (const AuditScores& attack : scores) {
    for (const double threshold : thresholds) {
      bound.findings.push_back(examine(attack, threshold, delta, alpha));
      bound.mu = std::fmax(bound.mu, bound.findings.back().mu);
      bound.epsilon_any = std::fmax(bound.epsilon_any, bound.findings.back().epsilon_any);
    }
  }
  return bound;
}

}  // namespace muffle::privacy
