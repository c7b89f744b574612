#include "muffle/privacy/site_noise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "muffle/privacy/distributed_noise.hpp"
#include "support/expect_error.hpp"

namespace muffle::privacy {
namespace {

using test::expect_error;
__extension__ using Uint128 = unsigned __int128;

constexpr std::uint64_t kSigma = 1'000'000;

NoisePlan planned(std::uint64_t sigma_lattice) {
  NoisePlan plan;
  plan.parts = {{{{1, 1.0, sigma_lattice}}, 1}};
  return plan;
}

/// Calls action for every round of up to 6 sites and 3 to 5 key holders that is allowed.
void for_each_round(const std::function<void(const RoundParties&)>& action) {
  RoundParties p;
  for (p.sites = 2; p.sites <= 6; ++p.sites)
    for (p.least = 2; p.least <= p.sites; ++p.least)
      for (p.expected = p.least; p.expected <= p.sites; ++p.expected)
        for (p.colluding = 0; p.colluding < p.least; ++p.colluding)
          for (p.holders = 3; p.holders <= 5; ++p.holders)
            for (p.missing_holders = 0; p.missing_holders <= 2; ++p.missing_holders)
              for (p.colluding_holders = 0; p.colluding_holders < p.holders; ++p.colluding_holders) {
                const int f = p.missing_holders, spare = p.holders - f - p.colluding_holders;
                if (spare < 1 || (f > 0 && p.holders < f * f + f + p.colluding_holders + 1)) continue;
                action(p);
              }
}

/// What any coalition of t sealed sites and t_h holders faces with f holders missing, exactly.
Uint128 faced(const RoundParties& p, std::uint64_t share, std::uint64_t top_up, int sealed) {
  const auto honest_sites = static_cast<unsigned>(sealed - p.colluding);
  const auto honest_holders = static_cast<unsigned>(p.holders - p.missing_holders - p.colluding_holders);
  return Uint128{share} * share * honest_sites + Uint128{top_up} * top_up * honest_holders;
}

std::uint64_t sigma_of(const std::vector<NoisePart>& parts) { return parts.at(0).runs.at(0).sigma_lattice; }

TEST(SiteNoisePlanTest, EveryCoalitionFacesTheFullNoiseWhoeverComes) {
  int rounds = 0;
  for (const std::uint64_t sigma : {std::uint64_t{37}, kSigma + 1, (std::uint64_t{1} << 44) + 12345}) {
    for_each_round([&](const RoundParties& p) {
      const SiteNoisePlan plan(planned(sigma), p);
      const Uint128 wanted = Uint128{sigma} * sigma;
      const std::uint64_t s = sigma_of(plan.shares());
      const auto expected = static_cast<unsigned>(p.expected - p.colluding);
      EXPECT_TRUE(Uint128{s} * s * expected >= wanted);
      EXPECT_TRUE(Uint128{s - 1} * (s - 1) * expected < wanted) << "no larger than it must be";
      std::uint64_t before = ~std::uint64_t{0};
      for (int u = p.least; u <= p.sites; ++u) {
        const std::uint64_t h = sigma_of(plan.top_ups(u));
        ASSERT_TRUE(faced(p, s, h, u) >= wanted) << "n " << p.sites << " N " << p.expected << " u " << u;
        EXPECT_TRUE(h == 0 || h >= 4);
        EXPECT_TRUE(h == 0 || faced(p, s, h == 4 ? 0 : h - 1, u) < wanted) << "no larger than it must be";
        // Key holders who were shown seals of other sizes: the larger asks for less, so the honest ones'
        // noise is never below what the largest seal asks for.
        EXPECT_LE(h, before);
        before = h;
        EXPECT_GE(plan.honest_sigma(u, 0, 0), static_cast<double>(sigma) * (1 - 1e-15));
        EXPECT_GE(plan.total_sigma(u, p.holders - p.missing_holders, 0, 0), plan.honest_sigma(u, 0, 0));
        EXPECT_TRUE(h == 0 || u < p.expected) << "as many as expected need no top-up";
      }
      EXPECT_GE(plan.alone() * std::sqrt(expected), 1 - 1e-12) << "mu sqrt(N - t), whoever betrays a site";
      ++rounds;
    });
  }
  EXPECT_GT(rounds, 3000);
}

// A plan that takes another number than the sealed one, leaves the top-up out, or reckons with all holders
// would be found by the test above: each leaves somebody with less than the full noise.
TEST(SiteNoisePlanTest, MutantsFallShort) {
  int fewer = 0, without = 0, all_holders = 0;
  for_each_round([&](const RoundParties& p) {
    const SiteNoisePlan plan(planned(kSigma), p);
    const Uint128 wanted = Uint128{kSigma} * kSigma;
    const std::uint64_t s = sigma_of(plan.shares());
    for (int u = p.least; u < p.expected; ++u) {
      fewer += faced(p, s, sigma_of(plan.top_ups(u + 1)), u) < wanted ? 1 : 0;
      without += faced(p, s, 0, u) < wanted ? 1 : 0;
      const double missing =
          static_cast<double>(kSigma) * kSigma - static_cast<double>(s) * s * (u - p.colluding);
      const auto spread =
          static_cast<std::uint64_t>(std::ceil(std::sqrt(std::max(missing, 0.0) / p.holders)));
      if (p.missing_holders + p.colluding_holders > 0) all_holders += faced(p, s, spread, u) < wanted ? 1 : 0;
    }
  });
  EXPECT_GT(fewer, 100);
  EXPECT_GT(without, 100);
  EXPECT_GT(all_holders, 100);
}

TEST(SiteNoisePlanTest, CostsWhatTheDocumentationSays) {
  const auto carried = [](const RoundParties& p, int sealed) {
    const SiteNoisePlan plan(planned(kSigma), p);
    return plan.total_sigma(sealed, p.holders, 0, 0) / static_cast<double>(kSigma);
  };
  const RoundParties five{5, 5, 4, 1, 3, 1, 0};
  EXPECT_NEAR(carried(five, 5), 1.118, 5e-4);
  EXPECT_NEAR(carried(five, 4), 1.173, 5e-4);
  const RoundParties ten{10, 10, 7, 2, 5, 2, 1};
  EXPECT_NEAR(carried(ten, 10), 1.118, 5e-4);
  EXPECT_NEAR(carried(ten, 7), 1.346, 5e-4);
  const RoundParties hundred{100, 100, 60, 5, 7, 3, 1};
  EXPECT_NEAR(carried(hundred, 60), 1.270, 5e-4);
  EXPECT_NEAR(SiteNoisePlan(planned(kSigma), five).alone(), 1 / std::sqrt(4.0), 1e-5);
}

// Where all come and nobody tops up, the shares are those of a job's ranks.
TEST(SiteNoisePlanTest, AJobIsTheSpecialCase) {
  for (int ranks = 2; ranks <= 6; ++ranks) {
    for (int t = 0; t < ranks; ++t) {
      const SiteNoisePlan plan(planned(kSigma), {ranks, ranks, ranks, t, 3, 1, 0});
      const DistributedNoisePlan job = plan_distributed_noise(planned(kSigma), ranks, t);
      EXPECT_EQ(plan.shares(), job.shares);
      EXPECT_NEAR(plan.total_sigma(ranks, 3, 0, 0), job.total_sigma(job.shares[0].runs[0]), 1e-6);
    }
  }
}

TEST(SiteNoisePlanTest, RefusesWhatTheTheoremDoesNotCover) {
  const auto refused = [](std::initializer_list<std::string> parts, const RoundParties& parties,
                          std::uint64_t sigma = kSigma) {
    expect_error(ExitCode::kConfig, parts, [&] { SiteNoisePlan(planned(sigma), parties); });
  };
  refused({"1 sites are invited"}, {1, 1, 1, 0, 3, 1, 0});
  refused({"least <= expected <= invited"}, {5, 3, 4, 1, 3, 1, 0});
  refused({"least <= expected <= invited"}, {5, 6, 4, 1, 3, 1, 0});
  refused({"least <= expected <= invited"}, {5, 5, 1, 0, 3, 1, 0});
  refused({"4 sites may collude"}, {5, 5, 4, 4, 3, 1, 0});
  refused({"-1 sites may collude"}, {5, 5, 4, -1, 3, 1, 0});
  refused({"2 key holders"}, {5, 5, 4, 1, 2, 1, 0});
  refused({"11 key holders"}, {5, 5, 4, 1, 11, 1, 0});
  refused({"at least one more must be honest"}, {5, 5, 4, 1, 3, 3, 0});
  refused({"at least one more must be honest"}, {5, 5, 4, 1, 3, -1, 0});
  // Stand-ins: f keys of every honest holder's may be rebuilt, and that many may not open a second sum.
  refused({"takes 4 key holders"}, {5, 5, 4, 1, 3, 1, 1});
  EXPECT_NO_THROW(SiteNoisePlan(planned(kSigma), {5, 5, 4, 1, 4, 1, 1}));
  refused({"takes 8 key holders"}, {5, 5, 4, 1, 7, 1, 2});
  EXPECT_NO_THROW(SiteNoisePlan(planned(kSigma), {5, 5, 4, 1, 8, 1, 2}));
  refused({"sigma 3 lattice units"}, {5, 5, 5, 1, 3, 1, 0}, 6);
  refused({"2^50"}, {5, 5, 4, 3, 3, 1, 0}, std::uint64_t{1} << 50);
  const SiteNoisePlan plan(planned(kSigma), {5, 5, 4, 1, 3, 1, 0});
  for (const int sealed : {3, 6})
    expect_error(ExitCode::kInvariant, {"too few or too many"}, [&] { plan.top_ups(sealed); });
}

// Runs of other sizes: each has its own share and its own top-up, drawn in the vector's order.
TEST(SiteNoisePlanTest, EveryRunHasItsOwn) {
  NoisePlan noise;
  noise.parts = {{{{5, 8.0, 1000}, {7, 4.0, 37}}, 3}, {{{2, 1.0, 90'000}}, 1}};
  const RoundParties parties{4, 4, 3, 1, 3, 1, 0};
  const SiteNoisePlan plan(noise, parties);
  const std::vector<NoisePart> top_ups = plan.top_ups(3);
  for (std::size_t p = 0; p < 2; ++p) {
    for (std::size_t r = 0; r < noise.parts[p].runs.size(); ++r) {
      const std::uint64_t sigma = noise.parts[p].runs[r].sigma_lattice;
      const SiteNoisePlan alone(planned(sigma), parties);
      EXPECT_EQ(plan.shares()[p].runs[r].sigma_lattice, sigma_of(alone.shares()));
      EXPECT_EQ(top_ups[p].runs[r].sigma_lattice, sigma_of(alone.top_ups(3)));
    }
  }
  EXPECT_LT(top_ups[0].runs[1].sigma_lattice, plan.shares()[0].runs[1].sigma_lattice);
  EXPECT_EQ(plan.log_closeness(), log_closeness_bound(top_ups[0].runs[1].sigma_lattice, 7));
  const auto entropy = insecure_seeded_entropy(5), same = insecure_seeded_entropy(5);
  const std::vector<std::int64_t> drawn = draw_top_up(top_ups, *entropy);
  EXPECT_EQ(drawn, draw_noise(top_ups, *same)) << "number by number, as any noise";
  std::vector<NoisePart> some = top_ups;
  some[0].runs[0].sigma_lattice = 0;
  const std::vector<std::int64_t> partly = draw_top_up(some, *entropy);
  ASSERT_EQ(partly.size(), 38u);
  for (const std::size_t first : {0u, 12u, 24u}) {
    EXPECT_TRUE(std::all_of(&partly[first], &partly[first] + 5, [](std::int64_t v) { return v == 0; }));
    EXPECT_TRUE(std::any_of(&partly[first + 5], &partly[first] + 12, [](std::int64_t v) { return v != 0; }));
  }
}

}  // namespace
}  // namespace muffle::privacy
