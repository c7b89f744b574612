// The noise that is drawn in real rounds between institutions: for no coalition of t sites and t_h key
// holders is what is left of it, once its own is taken off, below sigma. Up to 6 sites, however many
// contribute and collude; where f key holders may be missing, f of them are, and others stand in for them.
// The sizes of all rounds that are allowed are checked exactly (site_noise_test.cpp); here they are drawn.
// False failures: each variance is held to 5 standard deviations of its estimate below sigma^2, about 3e-7
// each, of 120 (thorough: 390). That it would find a plan that reckons with one honest share too many is
// shown beside it.
#include <gtest/gtest.h>

#include <cmath>

#include "round/parties_world.hpp"
#include "support/tier.hpp"

namespace muffle::round {
namespace {

constexpr int kRounds = 2;
/// Some 1,300 numbers each: for a variance, many numbers of few rounds are as good as few of many.
const std::vector<std::size_t> kCategories{24, 48, 2};

std::uint64_t seed_of(int round, bool holder, std::size_t i) {
  return 1'000'000 + 100 * static_cast<std::uint64_t>(round) + (holder ? 50 : 0) + i;
}

/// Variances over sigma^2, in standard deviations of their estimates: of what a coalition faces, and of the
/// same with one more site in it.
struct Faced {
  double honest = 0, one_fewer = 0;
};

/// Those who have opened stand in for all others.
void stand_in(const World& world, const ProposedRound& round, const SealedRound& seal,
              const std::vector<KeyHolder::Opened>& opened, release::Summation& sum) {
  std::vector<std::size_t> missing;
  for (std::size_t h = opened.size(); h < world.holders.size(); ++h) missing.push_back(h);
  const release::AskedRound request(
      round, seal,
      release::parse_message(make_stand_in_request(round, seal, world.coordinator, missing), "r").header);
  for (std::size_t h = 0; h < opened.size(); ++h) {
    const auto message = make_stand_in(round, seal, request, world.holders[h], *opened[h].shares, {});
    sum.take_stand_in(request, release::parse_message(*message, "s").header);
  }
}

/// Real rounds of `sealed` contributions, from which the first t sites and t_h key holders take off their
/// own.
Faced faced(const World& world, const ProposedRound& round, std::size_t sealed) {
  const privacy::RoundParties& p = round.proposal.parties;
  const auto subtract = [](std::vector<std::uint64_t>& from, const std::vector<std::int64_t>& noise,
                           bool added) {
    for (std::size_t n = 0; n < from.size(); ++n)
      from[n] -= static_cast<std::uint64_t>(noise[n]) * (added ? 1 : ~std::uint64_t{0});
  };
  const auto planned = round.proposal.plan.noise.parts.at(0).runs.at(0).sigma_lattice;
  const double variance = static_cast<double>(planned) * static_cast<double>(planned);
  double squares = 0, fewer = 0, count = 0;
  for (int r = 0; r < kRounds; ++r) {
    std::vector<release::Message> contributions;
    std::vector<std::uint64_t> left(round.length, 0);
    for (std::size_t i = 0; i < sealed; ++i) {
      const auto entropy = privacy::insecure_seeded_entropy(seed_of(r, false, i));
      contributions.push_back(release::parse_message(
          Contributor(round, world.sites[i])
              .contribute(embed::TestAccess::make(std::vector<std::uint64_t>(round.length, 0)),
                          privacy::NoiseShare(round.noise.shares(), *entropy),
                          release::TestAccess::charge(release::charged_as(round.first())), 0),
          "c"));
    }
    const SealedRound seal = world.seal(round, contributions);
    release::Summation sum(round, seal);
    for (const release::Message& m : contributions) sum.add_contribution(m);
    const auto there = static_cast<std::size_t>(p.holders - p.missing_holders);
    std::vector<KeyHolder::Opened> opened;
    for (std::size_t h = 0; h < there; ++h) {
      const auto entropy = privacy::insecure_seeded_entropy(seed_of(r, true, h));
      opened.push_back(KeyHolder(round, world.holders[h], world.round_key(h)).open(seal, *entropy));
      sum.take_opening(release::parse_message(opened.back().message, "o"));
    }
    if (p.missing_holders > 0) stand_in(world, round, seal, opened, sum);
    const privacy::NoisySum released = std::move(sum).finish();
    left.assign(released.values.begin(), released.values.end());
    const auto share = [&](std::size_t i) {
      return privacy::draw_noise(round.noise.shares(),
                                 *privacy::insecure_seeded_entropy(seed_of(r, false, i)));
    };
    for (int i = 0; i < p.colluding; ++i) subtract(left, share(static_cast<std::size_t>(i)), true);
    for (int h = 0; h < p.colluding_holders; ++h)
      subtract(left,
               privacy::draw_top_up(
                   round.noise.top_ups(static_cast<int>(sealed)),
                   *privacy::insecure_seeded_entropy(seed_of(r, true, static_cast<std::size_t>(h)))),
               false);
    std::vector<std::uint64_t> without = left;
    subtract(without, share(static_cast<std::size_t>(p.colluding)), true);
    for (std::size_t n = 0; n < left.size(); ++n) {
      const auto square = [](std::uint64_t v) {
        const auto x = static_cast<double>(static_cast<std::int64_t>(v));
        return x * x;
      };
      squares += square(left[n]) / variance;
      fewer += square(without[n]) / variance;
      ++count;
    }
  }
  const double deviation = std::sqrt(2.0 * count);
  return {(squares - count) / deviation, (fewer - count) / deviation};
}

TEST(DrawnNoiseStat, NoCoalitionFacesLessThanSigma) {
  struct Holders {
    int all, colluding, missing;
  };
  std::vector<Holders> kinds{{3, 1, 0}, {4, 1, 1}, {4, 3, 0}, {5, 2, 1}};
  if (test::thorough()) kinds.insert(kinds.end(), {{3, 2, 0}, {6, 3, 1}, {8, 1, 2}});
  int cases = 0, caught = 0;
  for (int n = 3; n <= 6; ++n) {
    for (int t = 1; t <= n - 2; ++t) {
      for (const Holders& h : kinds) {
        const int least = t + 1;
        for (int expected = test::thorough() ? std::max(least, n - 1) : n; expected <= n; ++expected) {
          const World world({n, expected, least, t, h.all, h.colluding, h.missing}, 0, kCategories);
          const ProposedRound round = world.round();
          ASSERT_EQ(round.proposal.plan.noise.parts.size(), 1u) << "one sigma";
          for (int u = least; u <= n; ++u) {
            const Faced z = faced(world, round, static_cast<std::size_t>(u));
            ++cases;
            EXPECT_GT(z.honest, -5.0) << "n " << n << ", N " << expected << ", t " << t << ", m " << h.all
                                      << ", t_h " << h.colluding << ", f " << h.missing << ", sealed " << u;
            caught += z.one_fewer < -5.0;
          }
        }
      }
    }
  }
  std::cout << cases << " cases; one honest share fewer was caught in " << caught << "\n";
  EXPECT_GT(caught, cases * 9 / 10) << "the test has no eyes";
}

}  // namespace
}  // namespace muffle::round
