#include "muffle/embed/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/privacy/accountant.hpp"

namespace muffle::embed {
namespace {

constexpr std::uint64_t kSearchSeed = 1;
constexpr std::uint64_t kMaxCopies = 100;
constexpr std::uint64_t kMinTrials = 100, kMaxTrials = 100'000'000;
constexpr std::uint64_t kGuessedSeeds = 64;
/// Trials between two heartbeats. With a million numbers to a release one trial takes 2 s; a rank
/// that was told to stop waits for a minute (comm::MpiOptions::stop_within).
constexpr std::uint64_t kBeatEvery = 4;
/// Thresholds around half the distance, in sigmas. The middle one tests sigma; the outer ones the tails.
constexpr std::array<double, 3> kOffsets{-2.0, 0.0, 2.0};

using Released = std::vector<std::int64_t>;

CanarySet operator+(CanarySet sum, const CanarySet& more) {
  sum.x.insert(sum.x.end(), more.x.begin(), more.x.end());
  sum.y.insert(sum.y.end(), more.y.begin(), more.y.end());
  return sum;
}

/// The records as a shard that embed_shard() reads: every `ranks`-th one, from number `rank` on.
class CanarySource final : public data::RecordSource {
 public:
  explicit CanarySource(const CanarySet& set, int rank = 0, int ranks = 1)
      : dims_(set.y.empty() ? 0 : set.x.size() / set.y.size()),
        places_{static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(ranks)} {
    for (auto i = static_cast<std::size_t>(rank); i < set.y.size(); i += static_cast<std::size_t>(ranks)) {
      const auto record = std::span(set.x).subspan(i * dims_, dims_);
      share_.x.insert(share_.x.end(), record.begin(), record.end());
      share_.y.push_back(set.y[i]);
    }
  }
  std::uint64_t shard_size() const override { return share_.y.size(); }
  std::optional<data::Places> places() const override { return places_; }
  void next(std::size_t max_records, data::Batch& batch) override {
    batch.n = std::min(max_records, share_.y.size() - done_);
    const auto x = std::span(share_.x).subspan(done_ * dims_, batch.n * dims_);
    const auto y = std::span(share_.y).subspan(done_, batch.n);
    batch.x.assign(x.begin(), x.end());
    batch.y.assign(y.begin(), y.end());
    done_ += batch.n;
  }

 private:
  std::size_t dims_, done_ = 0;
  data::Places places_;
  CanarySet share_;
};

/// Looks for two records whose features are far apart: the farthest pair among random ones, then a random
/// walk of both with steps that adapt to their success.
class FarRecords {
 public:
  explicit FarRecords(const Embedder& embedder)
      : embedder_(embedder), dims_(embedder.blocks.front()->dims()), stream_(kSearchSeed, Stream::kTest) {
    for (const auto& block : embedder.blocks) workspaces_.push_back(block->make_workspace());
    std::size_t features = 0;
    for (const auto& block : embedder.blocks) features += block->features();
    // A second or so of search, whatever the feature map's size.
    steps_ = std::clamp<std::size_t>(2'000'000'000 / (dims_ * features), 400, 20'000);
  }

  std::pair<std::vector<float>, std::vector<float>> find() {
    std::vector<Candidate> start(kStart);
    for (Candidate& candidate : start) {
      candidate.record.resize(dims_);
      for (float& v : candidate.record) v = uniform() < 0.5 ? 0.0f : 1.0f;
      candidate.features = features_of(candidate.record);
    }
    for (std::size_t i = 0; i < kStart; ++i) {
      for (std::size_t j = 0; j < i; ++j) keep_if_better(start[i], start[j]);
    }
    double step = 0.5;
    for (std::size_t s = 0; s < steps_; ++s) {
      Candidate moved = s % 2 == 0 ? a_ : b_;
      for (float& v : moved.record) {
        const double to = static_cast<double>(v) + step * (2 * uniform() - 1);
        v = static_cast<float>(std::clamp(to, 0.0, 1.0));
      }
      moved.features = features_of(moved.record);
      const bool better = s % 2 == 0 ? keep_if_better(moved, b_) : keep_if_better(a_, moved);
      step = std::clamp(step * (better ? 1.6 : 0.9), 1e-7, 0.5);
    }
    return {a_.record, b_.record};
  }

 private:
  struct Candidate {
    std::vector<float> record;
    std::vector<double> features;
  };
  static constexpr std::size_t kStart = 64;

  double uniform() { return stream_.uniform(drawn_++); }

  std::vector<double> features_of(const std::vector<float>& record) {
    const std::int32_t label = 0;
    std::vector<double> all;  // in units of the features
    for (std::size_t b = 0; b < embedder_.blocks.size(); ++b) {
      const features::Block& block = *embedder_.blocks[b];
      std::vector<std::uint64_t> sums(embedder_.plan.classes() * block.features(), 0);
      block.accumulate(record.data(), &label, 1, *workspaces_[b], sums);
      // One row's: two records that are far apart in it are so in each minibatch.
      std::size_t next = 0;
      for (const features::CoordinateRun& run : embedder_.plan.maps[b].coordinates(embedder_.plan.lattice)) {
        for (std::uint64_t n = 0; n < run.count; ++n)
          all.push_back(static_cast<double>(static_cast<std::int64_t>(sums[next++])) / run.unit);
      }
    }
    return all;
  }

  bool keep_if_better(const Candidate& a, const Candidate& b) {
    double squares = 0;
    for (std::size_t i = 0; i < a.features.size(); ++i)
      squares += (a.features[i] - b.features[i]) * (a.features[i] - b.features[i]);
    if (!(squares > best_)) return false;
    best_ = squares;
    std::tie(a_, b_) = std::pair(a, b);  // copies first: the arguments may be the members
    return true;
  }

  const Embedder& embedder_;
  std::size_t dims_, steps_ = 0;
  CounterStream stream_;
  std::uint64_t drawn_ = 0;
  std::vector<std::unique_ptr<features::Workspace>> workspaces_;
  double best_ = -1.0;
  Candidate a_, b_;
};

CanarySet copies(const std::vector<float>& record, std::int32_t label, std::uint64_t n) {
  CanarySet set;
  for (std::uint64_t i = 0; i < n; ++i) {
    set.x.insert(set.x.end(), record.begin(), record.end());
    set.y.push_back(label);
  }
  return set;
}

/// A few ordinary records, one a class.
CanarySet bystanders(const Embedder& embedder, std::size_t dims) {
  const CounterStream stream(kSearchSeed, Stream::kTest, 1);
  CanarySet set;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < dims; ++j) set.x.push_back(static_cast<float>(stream.uniform(i * dims + j)));
    set.y.push_back(static_cast<std::int32_t>(i % embedder.plan.classes()));
  }
  return set;
}

/// The exact integer sums of made-up records, modulo 2^64, by the only way there is: they are published with
/// seeded noise, and whoever knows the seed subtracts it.
std::vector<std::uint64_t> known_sums(const Embedder& embedder, const CanarySet& set) {
  constexpr std::uint64_t kSeed = 1;
  const std::vector<privacy::NoisePart>& parts = embedder.plan.noise.parts;
  privacy::NoiseVector noise(parts, *privacy::insecure_seeded_entropy(kSeed));
  CanarySource source(set);
  const privacy::NoisySum noisy =
      std::move(noise).publish(sum_of_one_rank(embed_shard(embedder, source, 1, {})));
  const auto known = privacy::draw_noise(parts, *privacy::insecure_seeded_entropy(kSeed));
  std::vector<std::uint64_t> sums(known.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = static_cast<std::uint64_t>(noisy.values[i]) - static_cast<std::uint64_t>(known[i]);
  }
  return sums;
}

/// b - a, number by number, as real numbers in lattice units.
std::vector<double> difference(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  std::vector<double> out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    out[i] = static_cast<double>(static_cast<std::int64_t>(b[i] - a[i]));
  return out;
}

double norm(const std::vector<double>& v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}

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

CanaryPair worst_pair(const Embedder& embedder) {
  require(!embedder.blocks.empty(), "an audit without a feature block: this is a bug in muffle.");
  const std::size_t dims = embedder.blocks.front()->dims();
  if (dims == 0) throw ConfigError("the records have no numbers: there is nothing to audit.");
  // More copies than these take long and show nothing new; the distance says what they reach.
  const std::uint64_t q = std::min<std::uint64_t>(embedder.plan.max_records_per_person, kMaxCopies);
  const std::string many = q == 1 ? std::string("a record") : fmt::format("{} copies of a record", q);
  const std::vector<float> zeros(dims, 0.0f);

  std::vector<CanaryPair> pairs;
  if (embedder.plan.adjacency == privacy::Adjacency::kAddRemoveOne) {
    pairs.push_back({{}, {}, copies(zeros, 0, q), many + " added"});
  } else {
    const auto [a, b] = FarRecords(embedder).find();
    pairs.push_back({{}, copies(a, 0, q), copies(b, 0, q), many + " changed, its label kept"});
    if (embedder.plan.classes() > 1) {
      pairs.push_back({{}, copies(zeros, 0, q), copies(zeros, 1, q), many + " under another label"});
    }
  }
  CanaryPair* best = &pairs.front();
  for (CanaryPair& pair : pairs) {
    pair.common = bystanders(embedder, dims);
    const auto first = known_sums(embedder, pair.common + pair.first);
    const auto second = known_sums(embedder, pair.common + pair.second);
    std::vector<double> moved = difference(first, second);  // in units of the features below
    privacy::for_each_run(embedder.plan.noise.parts, [&](std::uint64_t at, const privacy::NoiseRun& run) {
      for (std::uint64_t i = at; i < at + run.count; ++i) moved[i] /= run.unit;
    });
    pair.distance = norm(moved);
    if (pair.distance > best->distance) best = &pair;
  }
  return *best;
}

AuditReport audit(const Embedder& embedder, const CanaryPair& pair, const ReleaseFunction& release,
                  const AuditSettings& settings, const CountedHeartbeat& heartbeat) {
  if (!(settings.trials >= kMinTrials && settings.trials <= kMaxTrials)) {
    throw ConfigError("an audit of " + std::to_string(settings.trials) + " trials: choose from " +
                      std::to_string(kMinTrials) + " to " + std::to_string(kMaxTrials) + ", such as 100000.");
  }
  const privacy::NoisePlan& plan = embedder.plan.noise;
  const Attacker attacker(embedder, pair);
  const CanarySet first = pair.common + pair.first, second = pair.common + pair.second;
  const auto publish = [&](const CanarySet& set) {
    CanarySource source(set, settings.rank, settings.ranks);
    Released released = release(source);
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
    if (heartbeat && trial % kBeatEvery == 0) heartbeat(trial);
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
