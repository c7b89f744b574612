#include "muffle/embed/audit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "canaries.hpp"
#include "muffle/core/error.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/entropy.hpp"
#include "muffle/privacy/gaussian.hpp"

namespace muffle::embed {
namespace {

constexpr std::uint64_t kMinTrials = 100, kMaxTrials = 100'000'000;
constexpr std::uint64_t kGuessedSeeds = 64;
/// Trials between two calls of `progress`. With a million numbers to a release one trial takes 2 s; a rank
/// that was told to stop waits for a minute (comm::MpiOptions::stop_within).
constexpr std::uint64_t kTellEvery = 4;
/// Thresholds around half the distance, in sigmas. The middle one tests sigma; the outer ones the tails.
constexpr std::array<double, 3> kOffsets{-2.0, 0.0, 2.0};

using Released = std::vector<std::int64_t>;

/// An attacker who knows all records, S and S', and the mechanism, but not the noise. Scores are in sigmas: a
/// mean of 0 for S, and of `distance` for S'.
class Attacker {
 public:
  Attacker(const Embedder& embedder, const CanaryPair& pair)
      : sigma_(sigmas(embedder.plan.noise)),
        before_(known_sums(embedder, pair.common)),
        first_(known_sums(embedder, pair.common + pair.first)),
        second_(known_sums(embedder, pair.common + pair.second)),
        direction_(difference(first_, second_)) {
    for (std::size_t i = 0; i < direction_.size(); ++i) direction_[i] /= sigma_[i];
    distance_ = norm(direction_);
    require(distance_ > 0, "the audit's canaries have the same sums: this is a bug in muffle.");
    for (double& v : direction_) v /= distance_;
    for (std::uint64_t seed = 0; seed < kGuessedSeeds; ++seed) {
      guessed_.insert(
          privacy::draw_noise(embedder.plan.noise.parts, *privacy::insecure_seeded_entropy(seed)));
    }
  }

  double distance() const { return distance_; }
  double projection(const Released& r) const {
    double sum = 0;
    for (std::size_t i = 0; i < r.size(); ++i) sum += direction_[i] * centred(r[i], first_[i]) / sigma_[i];
    return sum;
  }
  double difference_to(const Released& earlier, const Released& r) const {
    double sum = 0;
    for (std::size_t i = 0; i < r.size(); ++i) {
      sum += direction_[i] * (centred(r[i], first_[i]) - centred(earlier[i], before_[i])) / sigma_[i];
    }
    return sum;
  }
  /// The distance if a guessed seed explains r as S', else 0.
  double by_seeds(const Released& r) const {
    Released noise(r.size());
    for (std::size_t i = 0; i < r.size(); ++i) {
      noise[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(r[i]) - second_[i]);
    }
    return guessed_.contains(noise) ? distance_ : 0.0;
  }

 private:
  static double centred(std::int64_t released, std::uint64_t sum) {
    return static_cast<double>(static_cast<std::int64_t>(static_cast<std::uint64_t>(released) - sum));
  }

  /// The noise of each released number, lattice units.
  static std::vector<double> sigmas(const privacy::NoisePlan& plan) {
    std::vector<double> sigma(privacy::length_of(plan.parts));
    privacy::for_each_run(plan.parts, [&](std::uint64_t first, const privacy::NoiseRun& run) {
      std::fill_n(sigma.begin() + static_cast<std::ptrdiff_t>(first), run.count,
                  static_cast<double>(run.sigma_lattice));
    });
    return sigma;
  }

  std::vector<double> sigma_;
  std::vector<std::uint64_t> before_, first_, second_;
  std::vector<double> direction_;  ///< (S' - S) / sigma, of length 1
  double distance_ = 0.0;
  std::set<Released> guessed_;
};

}  // namespace

AuditReport audit(const Embedder& embedder, const CanaryPair& pair, const ReleaseFunction& release,
                  const AuditSettings& settings, const std::function<void(std::uint64_t)>& progress) {
  if (!(settings.trials >= kMinTrials && settings.trials <= kMaxTrials)) {
    throw ConfigError("an audit of " + std::to_string(settings.trials) + " trials: choose from " +
                      std::to_string(kMinTrials) + " to " + std::to_string(kMaxTrials) + ", such as 100000.");
  }
  const privacy::NoisePlan& plan = embedder.plan.noise;
  const Attacker attacker(embedder, pair);
  const CanarySet first = pair.common + pair.first, second = pair.common + pair.second;
  const auto publish = [&](const CanarySet& set) {
    const auto source = open_canaries(set, settings.rank, settings.ranks);
    Released released = release(*source);
    require(released.size() == embedder.plan.size(), "the audited release has another number of values.");
    return released;
  };

  std::vector<privacy::AuditScores> scores{{"projection", {}, {}}, {"difference", {}, {}}, {"seeds", {}, {}}};
  for (std::uint64_t trial = 0; trial < settings.trials; ++trial) {
    const Released earlier = publish(pair.common);
    for (const bool with_second : {false, true}) {
      const Released r = publish(with_second ? second : first);
      if (settings.rank != 0) continue;
      const std::array<double, 3> score{attacker.projection(r), attacker.difference_to(earlier, r),
                                        attacker.by_seeds(r)};
      for (std::size_t a = 0; a < score.size(); ++a) {
        (with_second ? scores[a].of_second : scores[a].of_first).push_back(score[a]);
      }
    }
    if (progress && trial % kTellEvery == 0) progress(trial);
  }

  if (settings.rank != 0) return {};

  std::vector<double> thresholds;
  for (const double offset : kOffsets) thresholds.push_back(0.5 * attacker.distance() + offset);
  AuditReport report;
  report.claimed_mu = 1.0 / plan.noise_multiplier;
  report.reachable_mu = attacker.distance();
  report.bound = privacy::audit_bound(scores, thresholds, plan.delta, settings.confidence);
  // Beyond the accountant's domain there is no epsilon to tell.
  report.epsilon_lower = privacy::epsilon_to_tell(report.bound.mu, plan.delta).value_or(privacy::kMaxEpsilon);
  return report;
}

}  // namespace muffle::embed
