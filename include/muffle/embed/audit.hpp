#pragma once

#include <string>
#include <vector>

#include "muffle/embed/embedding.hpp"
#include "muffle/privacy/audit.hpp"

namespace muffle::embed {

// The falsifier: canaries are planted, released again and again on the real path, and an attacker who knows
// everything but the noise tries to tell two neighbouring data sets apart. An audit never sees a private
// record: it makes up its own. What it finds is a lower bound; only the proof is an upper one.

/// Records made up by the audit.
struct CanarySet {
  std::vector<float> x;         ///< n x dims, row-major, in [0, 1]
  std::vector<std::int32_t> y;  ///< n
};

/// Two neighbouring data sets, and the records that both hold and that were released before.
struct CanaryPair {
  CanarySet common, first, second;  ///< S is of common + first, S' of common + second
  std::string description;
  double distance = 0.0;  ///< ||S' - S||, of the real integer sums, in units of the features (2^k = 1)
};

/// The pair of neighbours whose sums are farthest apart, of those that a search finds: q copies of one record
/// against q of another with the same label (improved by a random search) or another label, or, under
/// add/remove-one, against nothing. A random Fourier block with many frequencies has no antipodal records, so
/// the distance may stay below the sensitivity; with one frequency, with counts beside it, or under
/// add/remove-one the bound is met.
/// @throws ConfigError  the records have no numbers.
CanaryPair worst_pair(const Embedder& embedder);

/// One release of a data set: the published numbers.
using ReleaseFunction = std::function<std::vector<std::int64_t>(data::RecordSource&)>;

/// How long an audit looks, and how sure it is: `confidence` is the chance that what it claims is true.
struct AuditSettings {
  std::uint64_t trials = 100'000;  ///< releases of S, of S', and of the common records alone: each so many
  double confidence = 0.9999;
  int rank = 0, ranks = 1;  ///< canaries are dealt to all ranks; root alone attacks and reports
};

/// What an audit found, of canaries alone: no private number. mu: Gaussian differential privacy.
struct AuditReport {
  double claimed_mu = 0.0;     ///< 1 / noise multiplier
  double reachable_mu = 0.0;   ///< distance / sigma of the pair: what a perfect audit would find
  double epsilon_lower = 0.0;  ///< eps at the plan's delta of a Gaussian mechanism with bound.mu; 0: none
  privacy::AuditBound bound;
  /// The mechanism provably leaks more than claimed, but for a chance of 1 - confidence.
  bool exceeds() const { return bound.mu > claimed_mu; }
};

/// Three attacks, with thresholds fixed in advance around half the pair's distance:
///   "projection"  the optimal test of two Gaussians, <r - S, S' - S> (Neyman & Pearson);
///   "difference"  the same less an earlier release of the common records: noise that is used again cancels;
///   "seeds"       subtracts the noise of guessed seeds 0..63 and looks for S or S'.
/// @param release    what is audited: real_release(), or in tests a broken mechanism
/// @param heartbeat  called with the trials done, by all ranks alike
/// Collective if the release function is; the report is root's.
/// @throws ConfigError  trials outside 100..1e8, confidence outside (0, 1).
AuditReport audit(const Embedder& embedder, const CanaryPair& pair, const ReleaseFunction& release,
                  const AuditSettings& settings, const CountedHeartbeat& heartbeat = {});

}  // namespace muffle::embed
