#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace muffle::privacy {

// The statistics of a privacy audit: an attacker sees releases of two neighbouring data sets S and S', scores
// each, and says "S'" above a threshold. His error rates bound what the mechanism can promise at most. The
// releases themselves are made in embed/audit.hpp, on the real path.

/// Upper end of the one-sided Clopper-Pearson interval: with probability at least 1 - alpha over k ~ Bin(n,
/// p), p is at most this (Clopper & Pearson 1934): the upper end of a bisection, exact to the error of lgamma
/// in the incomplete beta function, far below what the trials leave open; 1 for k = n.
/// @throws InvariantError  k > n, n = 0, or alpha outside (0, 1).
double clopper_pearson_upper(std::uint64_t k, std::uint64_t n, double alpha);

/// One attack's scores: of releases of S and of S', each made afresh. The two groups may depend on one
/// another; within a group the scores are independent.
struct AuditScores {
  std::string attack;
  std::vector<double> of_first, of_second;
};

/// What one attack found at one threshold.
struct AuditFinding {
  std::string attack;
  double threshold = 0.0;
  std::uint64_t false_positives = 0, false_negatives = 0, trials = 0;
  double false_positive_rate = 1.0, false_negative_rate = 1.0;  ///< upper confidence bounds
  /// A mechanism whose error rates are these is not mu'-Gaussian-DP for any mu' below
  /// -(Phi^-1(fpr) + Phi^-1(fnr)) (Dong, Roth & Su, JRSS B 2022, eq. 6); 0 if nothing is shown.
  double mu = 0.0;
  /// Nor is it (eps', delta)-DP for any eps' below ln((1 - fnr - delta) / fpr), or with the rates exchanged
  /// (Kairouz, Oh & Viswanath, ICML 2015). Holds for any mechanism; weaker than mu for a Gaussian one.
  double epsilon_any = 0.0;
};

/// What all attacks show together: lower bounds of the mechanism's mu and epsilon.
struct AuditBound {
  double confidence = 0.0;             ///< with this probability no finding is too high
  double mu = 0.0;                     ///< largest of the findings'
  double epsilon_any = 0.0;            ///< likewise
  std::vector<AuditFinding> findings;  ///< attack by attack, threshold by threshold
};

/// All attacks at all thresholds, which must have been chosen before the scores were seen; the chance of
/// error is divided evenly among all error rates (union bound).
/// @throws ConfigError     confidence outside (0, 1), delta outside the accountant's domain.
/// @throws InvariantError  no scores or no thresholds.
AuditBound audit_bound(std::span<const AuditScores> scores, std::span<const double> thresholds, double delta,
                       double confidence);

}  // namespace muffle::privacy
