// The release transaction is killed at random points and must come back: never a second draw for one charge,
// never a draw that the ledger does not count, always the same bytes once there are any.
#include <array>
#include <map>
#include <random>
#include <thread>

#include "muffle/core/error.hpp"
#include "muffle/crypto/site_keys.hpp"
#include "muffle/release/transaction.hpp"
#include "release/kill_fixture.hpp"
#include "support/tier.hpp"

namespace muffle::release {
namespace {

#ifdef MUFFLE_SANITIZED
const int kKills = 100, kPowerCuts = 80, kStride = 5;
#else
const int kKills = test::thorough() ? 1000 : 150, kPowerCuts = test::thorough() ? 200 : 80,
          kStride = test::thorough() ? 1 : 5;
#endif

class ReleaseKillTest : public KillFixture {
 protected:
  ReleaseKillTest() { crypto::SiteKey::generate("kill-test").save(folder_ / "kill-test.key"); }

  std::vector<std::string> command(const std::filesystem::path& run, double budget) const override {
    return {MUFFLE_RELEASE_DRIVER,  file_.string(),
            run.string(),           "0.125",
            std::to_string(budget), (folder_ / "kill-test.key").string()};
  }
  double mu() const override { return 0.1249; }
};

TEST_F(ReleaseKillTest, EveryStepAndEveryFaultOnce) {
  const int steps = static_cast<int>(steps_of_one_release().size());
  ASSERT_GT(steps, 30);
  std::map<std::string, int> endings;
  int points = 0;
  for (const std::string action :
       {"kill-before", "kill-after", "short-kill", "partial", "full", "power-cut"}) {
    points = 0;
    for (int step = 1; step <= steps; step += kStride) {
      ++points;
      SCOPED_TRACE(action + " at step " + std::to_string(step));
      fresh_ledger();
      const auto run = here_ / "run";
      const int ended = release_with_fault(run, std::to_string(step), action);
      ++endings[action + " " + std::to_string(ended)];
      ASSERT_EQ(broken_promise(), "");
      if (action == "partial") {
        ASSERT_EQ(ended, 0) << said(run);
      }
      if (action == "full" && ended != 0) {
        ASSERT_EQ(ended, static_cast<int>(ExitCode::kIo)) << said(run);
        if (std::filesystem::exists(file_)) {
          ASSERT_TRUE(privacy::read_ledger(file_).torn.empty()) << "cut back";
        }
        expect_nothing_half_written(run);
      }
      recover(run);
      if (!HasFatalFailure()) expect_finished(run);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(endings["kill-before -9"], points);
  EXPECT_EQ(endings["kill-after -9"], points);
  EXPECT_EQ(endings["short-kill -9"], points);
  EXPECT_EQ(endings["power-cut -9"], points);
  EXPECT_GT(endings["full 74"], points / 2);
}

TEST_F(ReleaseKillTest, RandomKills) {
  const std::size_t steps = steps_of_one_release().size();
  std::mt19937_64 random(7);
  int jobs = 0, killed = 0, drawn = 0, charges = 0;
  const auto tally = [&] {
    drawn += static_cast<int>(drawn_charges().size());
    charges += static_cast<int>(privacy::read_ledger(file_).charges.size());
  };
  for (int i = 0; killed < kKills; ++i) {
    SCOPED_TRACE("job " + std::to_string(i));
    ++jobs;
    if (i % 20 == 0) {
      if (i > 0) tally();
      fresh_ledger();
    }
    const auto run = here_ / ("run-" + std::to_string(i % 20));
    // A job may be killed several times before it gets through.
    for (int again = 0; again == 0 || random() % 3 == 0; ++again) {
      const unsigned kind = random() % 8;
      if (kind < 2) {
        const pid_t pid = start(run);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
        ::kill(pid, SIGKILL);
        killed += wait(pid) == -SIGKILL;
      } else {
        static const std::array<const char*, 6> kActions = {"kill-before", "kill-after", "short-kill",
                                                            "full",        "power-cut",  "power-cut"};
        const std::string point = std::to_string(1 + random() % steps) + ":" + kActions[kind - 2] + ":" +
                                  std::to_string(random() % 1000000);
        SCOPED_TRACE(point);
        const int ended = release(run, {{"MUFFLE_KILL_POINT", point}});
        const bool full = point.find("full") != std::string::npos;
        ASSERT_TRUE(ended == 0 || ended == -SIGKILL || (full && ended == 74)) << ended << ": " << said(run);
        killed += ended == -SIGKILL;
      }
      ASSERT_EQ(broken_promise(), "");
    }
    recover(run);
    if (!HasFatalFailure() && i % 5 == 0) expect_finished(run);
    if (HasFatalFailure()) return;
  }
  tally();
  RecordProperty("killed", killed);
  RecordProperty("draws", drawn);
  RecordProperty("charges", charges);
  RecordProperty("jobs", jobs);
  EXPECT_GT(drawn, jobs) << "some kills fall between a draw and its artifact";
  EXPECT_GT(charges, drawn) << "and some between a charge and its draw";
}

// The same checks on a disk that only pretends to sync: they must find the draws that the ledger forgot.
TEST_F(ReleaseKillTest, ALedgerThatDoesNotSyncWouldBeFoundOut) {
  const std::size_t steps = steps_of_one_release().size();
  std::mt19937_64 random(11);
  int found_out = 0;
  for (int i = 0; i < kPowerCuts; ++i) {
    fresh_ledger();
    const std::string point = std::to_string(1 + random() % steps) + ":power-cut:" + std::to_string(i);
    release(here_ / "run", {{"MUFFLE_KILL_POINT", point}, {"MUFFLE_LOSE_SYNCS", "1"}});
    found_out += broken_promise() != "";
  }
  EXPECT_GT(found_out, kPowerCuts / 20);
}

TEST_F(ReleaseKillTest, ADrawWithoutAChargeOfItsOwnWouldBeFoundOut) {
  for (const char* mutant : {"draw-first", "draw-twice"}) {
    fresh_ledger();
    ASSERT_EQ(release(here_ / "run", {{"MUFFLE_MUTANT", mutant}}), 0) << said(here_ / "run");
    EXPECT_NE(broken_promise(), "") << mutant;
  }
}

TEST_F(ReleaseKillTest, ConcurrentReleasesNeverSpendMoreThanTheBudget) {
  // Room for five charges of 1/8: 5/64 <= 0.28^2 < 6/64.
  for (int round = 0; round < 3; ++round) {
    fresh_ledger();
    expect_turns(12, 5, 0.28);
  }
}

TEST_F(ReleaseKillTest, OneJobStartedManyTimesAtOnceIsReleasedOnce) { expect_one_release(8); }

TEST_F(ReleaseKillTest, ConcurrentJobsThatAreKilledKeepThePromises) {
  const std::size_t steps = steps_of_one_release().size();
  std::mt19937_64 random(13);
  for (int round = 0; round < (kKills + 49) / 50; ++round) {
    fresh_ledger();
    std::vector<pid_t> jobs;
    for (int j = 0; j < 6; ++j) {
      // No power cuts here: they would take back other processes' bytes too.
      const std::string point = std::to_string(1 + random() % steps) +
                                (random() % 2 ? ":kill-after:" : ":short-kill:") + std::to_string(j);
      jobs.push_back(start(here_ / ("run-" + std::to_string(j % 3)), {{"MUFFLE_KILL_POINT", point}}));
    }
    for (const pid_t job : jobs) wait(job);
    ASSERT_EQ(broken_promise(), "");
    for (int j = 0; j < 3; ++j) recover(here_ / ("run-" + std::to_string(j)));
    if (HasFatalFailure()) return;
  }
}

/// The same of a release of three rounds, which one charge pays for.
class ReleaseInRoundsKillTest : public ReleaseKillTest {
 protected:
  std::vector<std::string> command(const std::filesystem::path& run, double budget) const override {
    std::vector<std::string> words = ReleaseKillTest::command(run, budget);
    words.emplace_back("rounds");
    return words;
  }
};

TEST_F(ReleaseInRoundsKillTest, NoRoundIsDrawnTwiceAndBetweenRoundsAJobGoesOnForItsOneCharge) {
  const int steps = static_cast<int>(steps_of_one_release().size());
  ASSERT_GT(steps, 60);
  int gone_on = 0, charged_anew = 0;
  for (const std::string action : {"kill-before", "kill-after", "short-kill", "power-cut"}) {
    for (int step = 1; step <= steps; step += 2 * kStride) {
      SCOPED_TRACE(action + " at step " + std::to_string(step));
      fresh_ledger();
      const auto run = here_ / "run";
      ASSERT_EQ(release_with_fault(run, std::to_string(step), action), -SIGKILL);
      ASSERT_EQ(broken_promise(), "");
      const bool between = std::filesystem::exists(file_) && !privacy::read_ledger(file_).charges.empty() &&
                           privacy::read_ledger(file_).charges.back().between_rounds() &&
                           std::filesystem::exists(rounds_file(run / "release.mfl"));
      recover(run);
      if (HasFatalFailure()) return;
      const std::size_t charges = privacy::read_ledger(file_).charges.size();
      charged_anew += charges == 2;
      gone_on += between && charges == 1;
      ASSERT_LE(charges, 2u);
      EXPECT_FALSE(std::filesystem::exists(rounds_file(run / "release.mfl")));
      expect_finished(run);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(gone_on, 0);
  EXPECT_GT(charged_anew, 0);
}

TEST_F(ReleaseInRoundsKillTest, ARoundThatIsDrawnTwiceWouldBeFoundOut) {
  ASSERT_EQ(release(here_ / "run", {{"MUFFLE_MUTANT", "draw-twice"}}), 0) << said(here_ / "run");
  EXPECT_NE(broken_promise(), "");
}

TEST_F(ReleaseInRoundsKillTest, OneJobStartedManyTimesAtOnceDrawsEachRoundOnce) {
  const auto run = here_ / "run";
  std::vector<pid_t> started;
  for (int j = 0; j < 6; ++j) started.push_back(start(run));
  for (const pid_t job : started) EXPECT_EQ(wait(job), 0) << said(run);
  EXPECT_EQ(privacy::read_ledger(file_).charges.size(), 1u);
  EXPECT_EQ(drawn_charges().size(), 3u);
  EXPECT_EQ(broken_promise(), "");
}

}  // namespace
}  // namespace muffle::release
