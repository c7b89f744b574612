// `muffle audit` on the real path (embed_shard, a round, Karney noise from the operating system,
// publish), and on mutants: ways in which releases have leaked. An honest mechanism must be found to leak at
// least kLeast of its true mu and no more than it claims; each mutant must be found to exceed its claim.
//
// False-failure rate of a run: an honest audit exceeds its claim by chance with probability at most
// 1 - kConfidence = 1e-6. With kTrials and noise multiplier 1 its bound is 0.92 on average with a standard
// deviation of 0.011, so it falls short of 0.85 with probability below 1e-10 (the quick tier, of fewer
// trials, reckoned by the square root of their number: 0.87, 0.017, of 0.77 below 1e-8); the tightest mutant
// (sigma / 1.2, true mu 1.2) is found at 1.12 on average and missed (1.0) with probability below 1e-18. There
// are seven honest audits (three in the quick tier): below 1e-5 in all.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "job/audit_case.hpp"
#include "muffle/job/audit_paths.hpp"
#include "muffle/privacy/accountant.hpp"
#include "support/one_noise.hpp"
#include "support/tier.hpp"

namespace muffle::embed {
namespace {

using testing_audit::Case;
using testing_audit::CaseOptions;
using testing_audit::make_case;
using testing_audit::with_sigma;

constexpr std::uint64_t kTrials = 30'000;
/// Of honest mechanisms.
const std::uint64_t kHonestTrials = test::thorough() ? kTrials : 12'000;
const double kLeast = test::thorough() ? 0.85 : 0.77;
constexpr double kConfidence = 1 - 1e-6;

ReleaseFunction real_release(const Embedder& embedder) {
  static const auto alone = comm::single_process();
  return job::real_release(embedder, *alone, {});
}

AuditReport audit_of(const Case& c, const ReleaseFunction& release, std::uint64_t trials = kHonestTrials) {
  return audit(c.embedder, c.pair, release, {trials, kConfidence});
}

TEST(AuditStat, TheRealPathLeaksWhatItClaimsAndNoMore) {
  const std::vector<std::pair<std::string, CaseOptions>> cases{
      {"counts under add/remove-one", {.counts = true, .adjacency = privacy::Adjacency::kAddRemoveOne}},
      {"second moments, weighted, beside one frequency, add/remove-one",
       {.moments_weight = 0.5, .adjacency = privacy::Adjacency::kAddRemoveOne}},
      {"three records a person", {.max_records_per_person = 3}},
      {"one frequency, replace-one", {}},
      {"many frequencies, add/remove-one", {.features = 10, .adjacency = privacy::Adjacency::kAddRemoveOne}},
      {"counts beside many frequencies: a label changes", {.features = 10, .counts = true}},
      {"second moments: a label changes", {.features = 0, .moments_weight = 1}},
  };
  for (const auto& [what, options] : std::span(cases).first(test::thorough() ? cases.size() : 3)) {
    SCOPED_TRACE(what);
    const auto c = make_case(options);
    // The pair realises the sensitivity, so the audit tests the claim and not something easier.
    EXPECT_GT(c->pair.distance, 0.999 * c->noise().sensitivity.value);
    EXPECT_LE(c->pair.distance, c->noise().sensitivity.value);
    const AuditReport report = audit_of(*c, real_release(c->embedder));
    EXPECT_NEAR(report.claimed_mu, 1.0, 1e-12);
    EXPECT_GT(report.reachable_mu, 0.999);
    EXPECT_GT(report.bound.mu, kLeast * report.claimed_mu);
    EXPECT_FALSE(report.exceeds()) << report.bound.mu;
    EXPECT_GT(report.epsilon_lower,
              (kLeast - 0.05) * privacy::epsilon_for(c->noise().delta, report.claimed_mu));
    EXPECT_LT(report.epsilon_lower, c->noise().epsilon);
    EXPECT_LT(report.bound.epsilon_any, c->noise().epsilon);
  }
}

/// Real random features of far records are nearly orthogonal rather than antipodal: the audit says how far
/// its pair reaches, and finds that much.
TEST(AuditStat, ALooseBoundIsReportedAsSuch) {
  const auto c = make_case({.dims = 2, .features = 100, .classes = 1});
  EXPECT_GT(c->pair.distance, 1.3);
  EXPECT_LT(c->pair.distance, 1.8);
  const AuditReport report = audit_of(*c, real_release(c->embedder), 3'000);
  EXPECT_NEAR(report.reachable_mu, c->pair.distance / 2, 1e-6);
  EXPECT_LT(report.bound.mu, report.reachable_mu);
  EXPECT_GT(report.bound.mu, 0.2);
}

/// A broken mechanism: the noise of release number `which`, in place of the real noise.
using Noise =
    std::function<std::vector<std::int64_t>(std::size_t n, std::uint64_t sigma, std::uint64_t which)>;

ReleaseFunction broken_release(const Case& c, Noise noise) {
  auto which = std::make_shared<std::uint64_t>(0);
  return [&c, which, noise](data::RecordSource& records) {
    // The exact sums, by way of noise that is known.
    privacy::NoiseVector known(test::one_noise(c.embedder.plan.size(), 1),
                               *privacy::insecure_seeded_entropy(1));
    auto values = std::move(known).publish(sum_of_one_rank(embed_shard(c.embedder, records, 1, {}))).values;
    const auto same =
        privacy::draw_noise(test::one_noise(c.embedder.plan.size(), 1), *privacy::insecure_seeded_entropy(1));
    const auto added =
        noise(c.embedder.plan.size(), c.noise().parts.front().runs.front().sigma_lattice, (*which)++);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += added[i] - same[i];
    return values;
  };
}

std::vector<std::int64_t> fresh(std::size_t n, std::uint64_t sigma) {
  static const auto entropy = privacy::os_entropy();
  return privacy::draw_noise(test::one_noise(n, sigma), *entropy);
}

TEST(AuditStat, EveryMutantExceedsItsClaim) {
  struct Mutant {
    std::string name, caught_by;
    Noise noise;
    std::uint64_t trials;
  };
  const std::vector<Mutant> mutants{
      {"no noise", "projection",
       [](std::size_t n, std::uint64_t, std::uint64_t) { return std::vector<std::int64_t>(n, 0); }, 2'000},
      {"half the noise", "projection",
       [](std::size_t n, std::uint64_t sigma, std::uint64_t) { return fresh(n, sigma / 2); }, 4'000},
      {"sigma / 1.2", "projection",
       [](std::size_t n, std::uint64_t sigma, std::uint64_t) { return fresh(n, sigma * 5 / 6); }, kTrials},
      {"noise on the first coordinate only", "projection",
       [](std::size_t n, std::uint64_t sigma, std::uint64_t) {
         auto z = fresh(n, sigma);
         for (std::size_t i = 1; i < n; ++i) z[i] = 0;
         return z;
       },
       4'000},
      {"one noise for all releases", "difference",
       [first = std::vector<std::int64_t>()](std::size_t n, std::uint64_t sigma, std::uint64_t) mutable {
         if (first.empty()) first = fresh(n, sigma);
         return first;
       },
       2'000},
      // Releases come in threes: the earlier one, of S and of S'.
      {"noise reused from the release before", "difference",
       [last = std::vector<std::int64_t>()](std::size_t n, std::uint64_t sigma, std::uint64_t which) mutable {
         if (which % 3 == 0) last = fresh(n, sigma);
         return last;
       },
       2'000},
      {"noise from a known seed", "difference",
       [](std::size_t n, std::uint64_t sigma, std::uint64_t) {
         return privacy::draw_noise(test::one_noise(n, sigma), *privacy::insecure_seeded_entropy(7'000'000));
       },
       2'000},
      {"noise from a seed that changes but can be guessed", "seeds",
       [](std::size_t n, std::uint64_t sigma, std::uint64_t which) {
         return privacy::draw_noise(test::one_noise(n, sigma),
                                    *privacy::insecure_seeded_entropy(which * 7 % 64));
       },
       2'000},
      {"tails cut at half a sigma", "projection",
       [](std::size_t n, std::uint64_t sigma, std::uint64_t) {
         auto z = fresh(n, sigma);
         const auto most = static_cast<std::int64_t>(sigma / 2);
         for (auto& v : z) v = std::clamp(v, -most, most);
         return z;
       },
       4'000},
  };
  const auto c = make_case({});
  for (const Mutant& mutant : mutants) {
    const AuditReport report = audit_of(*c, broken_release(*c, mutant.noise), mutant.trials);
    EXPECT_TRUE(report.exceeds()) << mutant.name << ": " << report.bound.mu;
    double by_the_named_attack = 0;
    for (const privacy::AuditFinding& f : report.bound.findings) {
      if (f.attack == mutant.caught_by) by_the_named_attack = std::max(by_the_named_attack, f.mu);
    }
    EXPECT_GT(by_the_named_attack, report.claimed_mu) << mutant.name << " by " << mutant.caught_by;
  }
}

/// The harness is no mutant itself.
TEST(AuditStat, AnHonestStandInDoesNotExceed) {
  const auto c = make_case({});
  const AuditReport report = audit_of(*c, broken_release(*c, [](std::size_t n, std::uint64_t sigma,
                                                                std::uint64_t) { return fresh(n, sigma); }));
  EXPECT_FALSE(report.exceeds()) << report.bound.mu;
  EXPECT_GT(report.bound.mu, kLeast);
}

/// Calibrated to half the sensitivity (the factor 2 of replace-one, or a second record, forgotten), the real
/// path exceeds the claim.
TEST(AuditStat, AForgottenFactorInTheSensitivityExceedsTheClaim) {
  const auto honest = make_case({});
  privacy::NoisePlan wrong = with_sigma(honest->noise(), 0.5);
  wrong.sigma /= 2;
  const auto audit_with = [](const Case& c, const privacy::NoisePlan& noise, std::uint64_t trials) {
    const Embedder embedder = testing_audit::with_noise(c.embedder, noise);
    return audit(embedder, c.pair, real_release(embedder), {trials, kConfidence});
  };
  const AuditReport factor_2 = audit_with(*honest, wrong, 4'000);
  EXPECT_TRUE(factor_2.exceeds()) << factor_2.bound.mu;
  EXPECT_NEAR(factor_2.reachable_mu, 2.0, 0.01);

  // Planned for one record a person, attacked with three.
  const AuditReport records = audit_with(*make_case({.max_records_per_person = 3}), honest->noise(), 4'000);
  EXPECT_TRUE(records.exceeds()) << records.bound.mu;

  // Counts released beside a map planned as if alone, under add/remove-one: sqrt(2) more. (Under replace-one
  // they really are free, as the first test shows.)
  const auto counts = make_case({.counts = true, .adjacency = privacy::Adjacency::kAddRemoveOne});
  const auto alone = make_case({.counts = false, .adjacency = privacy::Adjacency::kAddRemoveOne});
  privacy::NoisePlan forgotten = alone->noise();
  forgotten.parts = with_sigma(counts->noise(), alone->noise().sigma / counts->noise().sigma).parts;
  const AuditReport uncounted = audit_with(*counts, forgotten, 8'000);
  EXPECT_TRUE(uncounted.exceeds()) << uncounted.bound.mu;
}

}  // namespace
}  // namespace muffle::embed
