// Releases between institutions under random faults: each act is a process, killed at any call to the system
// or by a power cut; each party has its own copy of the exchange, and the link to the others' is cut, loses,
// doubles, and hides what came first; and disks are put back to what a backup held. In every other release
// one of four key holders may be missing in each round, and mostly one is gone for good or sleeps through a
// round. Later rounds are often given up after a few turns, and proposed again where that is allowed.
// Whatever happens: one draw a charge and round, one contribution a site and round, one opening a round key,
// one seal, no contribution that its ledger does not count, no act that hangs, nobody who waits beyond the
// last day, no share or round key that is left then; and a sum or a release whenever the theorem says so.
#include <iostream>
#include <numeric>

#include "round/chaos_judge.hpp"
#include "support/tier.hpp"

namespace muffle::round {
namespace {

constexpr int kMoreUntilReleased = 10;  ///< where a build's calls to the system are others

/// So many, or of the quick tier some that are known to be released: without stand-ins, and by them.
std::vector<int> seeds(int thorough, std::vector<int> quick) {
  if (!test::thorough()) return quick;
  std::vector<int> all(static_cast<std::size_t>(thorough));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

release::ReleasePlan plan_for(bool several) { return several ? plan_of_rounds() : plan_of(0); }

/// One release, until it is there or cannot come any more.
void play(int seed, bool several, Tally& tally) {
  // A release takes all of its sites in all rounds, so where it is to have several the weather is fairer.
  constexpr Weather kFair{60, 12, 300, 9}, kFoul{60, 8, 200, 8};
  const Weather weather = !several ? Weather{} : seed / 2 % 2 == 0 ? kFair : kFoul;
  const privacy::RoundParties parties =
      seed % 2 == 0 ? privacy::RoundParties{4, 4, 3, 1, 3, 1, 0} : privacy::RoundParties{4, 4, 3, 1, 4, 1, 1};
  Chaos chaos(static_cast<std::uint64_t>(seed), parties, plan_for(several), weather, tally);
  std::string how;
  for (bool more = true; more;) {
    const Tally before = tally;
    chaos.play_round();
    if (testing::Test::HasFatalFailure()) return;
    const Judge judge(chaos);
    judge.judge_round();
    if (testing::Test::HasFatalFailure()) return;
    const ProposedRound& round = chaos.rounds().back();
    const bool summed = chaos.has_summed(round), released = summed && round.last();
    if (released) judge.verify_release();
    (released ? tally.released : tally.ended) += released || !summed;
    how += !summed ? " ended" : tally.stood_in > before.stood_in ? " by stand-ins" : " opened";
    more = summed && !released && chaos.propose_next();
    if (testing::Test::HasFatalFailure()) return;
    if (summed && !released && !more) {
      ++tally.ended;
      how += " given up";
    }
  }
  chaos.end();
  tally.gone += chaos.somebody_is_gone();
  std::cout << "seed " << seed << ":" << how << std::endl;
}

/// @returns how many were played
int play_all(std::vector<int> all, bool several, Tally& tally) {
  const std::size_t most = all.size() + kMoreUntilReleased;
  std::size_t played = 0;
  while (played < all.size() && !testing::Test::HasFatalFailure()) {
    const int seed = all[played];
    SCOPED_TRACE("seed " + std::to_string(seed));
    play(seed, several, tally);
    const bool shown = tally.released > 0 && (!several || tally.again > 0);
    if (++played == all.size() && played < most && !shown) all.push_back(seed + 1);
  }
  std::cout << played << " releases, " << tally.faults << " faults (" << tally.killed << " killed, "
            << tally.restored << " restored), in " << tally.gone << " a key holder gone for good; "
            << tally.summed << " rounds summed (" << tally.later << " after the first, " << tally.again
            << " of them proposed again, " << tally.stood_in << " by stand-ins), enough came in time in "
            << tally.enough << "; " << tally.released << " released, " << tally.ended
            << " ended without a release; " << tally.spent << " draws without a contribution\n";
  return static_cast<int>(played);
}

TEST(Chaos, WholeRoundsUnderRandomFaults) {
  Tally tally;
  const int played = play_all(seeds(200, {8, 25}), false, tally);
  EXPECT_GT(tally.killed, played);
  EXPECT_GT(tally.released, 0) << "else nothing is shown";
  EXPECT_GT(tally.enough, 0) << "likewise of the seal";
  if (test::thorough()) {
    EXPECT_GT(tally.stood_in, 0);
  }
}

TEST(Chaos, ReleasesOfSeveralRoundsUnderRandomFaults) {
  Tally tally;
  play_all(seeds(60, {5}), true, tally);
  EXPECT_GT(tally.faults, 0);
  EXPECT_GT(tally.released, 0) << "else nothing is shown";
  EXPECT_GT(tally.again, 0) << "nor of what is given up and proposed again";
  if (test::thorough()) {
    EXPECT_GT(tally.stood_in, 0);
    EXPECT_GT(tally.later, 0);
    EXPECT_GT(tally.ended, 0);
  }
}

}  // namespace
}  // namespace muffle::round
