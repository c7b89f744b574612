// The noise that is drawn in real rounds between institutions: for no coalition of t sites and t_h key
// holders is what is left of it, once its own is taken off, below sigma. Up to 6 sites, however many
// contribute. False failures: each variance is held to 5 standard deviations of its estimate below sigma^2,
// about 3e-7 each of some
// 40. That it would find a plan that reckons with one honest share too many is shown beside it.
#include <gtest/gtest.h>

#include <cmath>

#include "round/parties_world.hpp"

namespace muffle::round {
namespace {

constexpr int kRounds = 80;

std::uint64_t seed_of(int round, bool holder, std::size_t i) {
  return 1'000'000 + 100 * static_cast<std::uint64_t>(round) + (holder ? 50 : 0) + i;
}

/// Variances over sigma^2, in standard deviations of their estimates: of what a coalition faces, and of the
/// same with one more site in it.
struct Faced {
  double honest = 0, one_fewer = 0;
};

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
    for (std::size_t h = 0; h < world.holders.size(); ++h) {
      const auto entropy = privacy::insecure_seeded_entropy(seed_of(r, true, h));
      sum.take_opening(release::parse_message(
          KeyHolder(round, world.holders[h], world.round_key(h)).open(seal, *entropy).message, "o"));
    }
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
  int cases = 0, caught = 0;
  for (int n = 3; n <= 6; ++n) {
    for (int t = 1; t <= std::min(2, n - 2); ++t) {
      for (const int k : {t + 1, n - 1}) {
        const World world({n, n, k, t, 3, 1, 0});
        const ProposedRound round = world.round();
        ASSERT_EQ(round.proposal.plan.noise.parts.size(), 1u) << "one sigma";
        for (int u = k; u <= n; ++u) {
          const Faced z = faced(world, round, static_cast<std::size_t>(u));
          ++cases;
          EXPECT_GT(z.honest, -5.0) << "n " << n << ", t " << t << ", k " << k << ", sealed " << u;
          caught += z.one_fewer < -5.0;
        }
        if (k == n - 1) break;
      }
    }
  }
  std::cout << cases << " cases; one honest share fewer was caught in " << caught << "\n";
  EXPECT_GT(caught, cases * 9 / 10) << "the test has no eyes";
}

}  // namespace
}  // namespace muffle::round
