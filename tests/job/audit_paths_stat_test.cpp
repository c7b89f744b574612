// `muffle audit` through secure sums and distributed noise, on ranks that are threads: the reduce of the
// product (rounds over a together, privacy::NoiseShare), fresh keys for each release.
// Each path must be found to leak at least kLeast of its claim and no more than it claims; each mutant of it
// must be found to exceed.
//
// False-failure rate of a run: an honest audit exceeds its claim by chance with probability at most 1 -
// kConfidence = 1e-5 (in truth far less: its bound is 0.91 on average with a standard deviation of 0.014; in
// the quick tier, of fewer trials, 0.86 and 0.022), and falls short of kLeast, six standard deviations below,
// with probability below 1e-9. There are four honest audits: below 1e-4 in all.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "job/audit_case.hpp"
#include "muffle/job/audit_paths.hpp"
#include "support/expect_error.hpp"
#include "support/thread_comm.hpp"
#include "support/tier.hpp"

namespace muffle::embed::paths {
namespace {

ReleaseFunction real_release(const Embedder& embedder, comm::HostComm& comm,
                             const privacy::AggregationMode& mode) {
  return job::real_release(embedder, comm, mode);
}

using privacy::AggregationMode;
using testing_audit::Case;
using testing_audit::make_case;
using testing_audit::with_noise;
using testing_audit::with_sigma;

constexpr double kConfidence = 1 - 1e-5;
const std::uint64_t kTrials = test::thorough() ? 20'000 : 8'000;
const double kLeast = test::thorough() ? 0.82 : 0.72;
constexpr std::uint64_t kFewTrials = 3'000;

AggregationMode mode_of(int ranks, bool distributed, int colluding = 0) {
  if (distributed) return privacy::DistributedNoise{ranks, colluding};
  return privacy::Masked{ranks};
}

/// Audits, on so many ranks, the release function that `path` makes for each.
AuditReport audit_on(int ranks, const Case& c, std::uint64_t trials,
                     const std::function<ReleaseFunction(comm::HostComm&)>& path) {
  AuditReport report;
  test::run_thread_ranks(
      ranks,
      [&](comm::HostComm& comm) {
        const AuditReport mine =
            audit(c.embedder, c.pair, path(comm), {trials, kConfidence, comm.rank(), comm.size()});
        if (comm.is_root()) report = mine;
      },
      std::chrono::minutes(5));
  return report;
}

AuditReport audit_real(const Case& c, const AggregationMode& mode, std::uint64_t trials = kTrials) {
  return audit_on(privacy::ranks_of(mode), c, trials,
                  [&](comm::HostComm& comm) { return real_release(c.embedder, comm, mode); });
}

void expect_tight(const AuditReport& report) {
  EXPECT_NEAR(report.claimed_mu, 1.0, 1e-12);
  EXPECT_GT(report.bound.mu, kLeast);
  EXPECT_FALSE(report.exceeds()) << report.bound.mu;
}

TEST(AuditPathsStat, MaskedSumsLeakWhatIsClaimedAndNoMore) {
  expect_tight(audit_real(*make_case({}), mode_of(2, false)));
}

TEST(AuditPathsStat, SharesOfNoiseOfAllRanksAreWorthTheClaim) {
  expect_tight(audit_real(*make_case({}), mode_of(2, true)));
}

// The attacker has the curious ranks' shares; those of the others are the whole noise.
TEST(AuditPathsStat, CuriousRanksLearnWhatIsClaimedAndNoMore) {
  const auto c = make_case({.counts = true, .adjacency = privacy::Adjacency::kAddRemoveOne});
  expect_tight(audit_real(*c, mode_of(3, true, 1)));
  expect_tight(audit_real(*make_case({}), mode_of(3, true, 2)));
}

TEST(AuditPathsStat, EveryMutantExceedsItsClaim) {
  const auto c = make_case({});
  const Embedder half = with_noise(c->embedder, with_sigma(c->noise(), 0.5));
  const auto exceeds = [&](const std::string& what, int ranks,
                           const std::function<ReleaseFunction(comm::HostComm&)>& path) {
    const AuditReport report = audit_on(ranks, *c, kFewTrials, path);
    EXPECT_TRUE(report.exceeds()) << what << ": " << report.bound.mu;
  };
  exceeds("masked, half the noise", 2,
          [&](comm::HostComm& comm) { return real_release(half, comm, mode_of(2, false)); });
  exceeds("shares of half the noise", 2,
          [&](comm::HostComm& comm) { return real_release(half, comm, mode_of(2, true)); });
  // Planned against nobody curious, though two of three are: the honest share is sigma / sqrt(3).
  const Embedder third = with_noise(c->embedder, with_sigma(c->noise(), 1 / std::sqrt(3.0)));
  exceeds("shares that forget the curious", 3,
          [&](comm::HostComm& comm) { return real_release(third, comm, mode_of(3, true, 2)); });
}

// Ranks that would leave out their share, or draw a smaller one, by another plan.
TEST(AuditPathsStat, ARankWithAPlanOfItsOwnTakesNoPart) {
  const auto c = make_case({});
  const Embedder silent = with_noise(c->embedder, with_sigma(c->noise(), 1e-6));
  test::run_thread_ranks(4, [&](comm::HostComm& comm) {
    test::expect_error(ExitCode::kProtocol, {"another round", "sigma_lattice"}, [&] {
      (void)real_release(comm.is_root() ? c->embedder : silent, comm, mode_of(4, true));
    });
  });
}

}  // namespace
}  // namespace muffle::embed::paths
