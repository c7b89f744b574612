// The release protocol is killed at random points and must come back: never a second draw for one charge,
// never a draw that the ledger does not count, always the same bytes once there are any.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "ledger_fixture.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"

namespace muffle::privacy {
namespace {

#ifdef MUFFLE_SANITIZED
constexpr int kKills = 150, kPowerCuts = 80;
#else
constexpr int kKills = 1000, kPowerCuts = 200;
#endif
constexpr double kMu = 0.125;

using Environment = std::map<std::string, std::string>;

class LedgerKillTest : public LedgerFixture {
 protected:
  LedgerKillTest() { fresh_ledger(); }

  void fresh_ledger() {
    const std::filesystem::path here = folder_ / std::to_string(++ledgers_);
    file_ = here / "ledger.jsonl";
    draws_ = here / "draws";
    std::filesystem::create_directories(draws_);
  }

  /// Starts a release; its output goes to RUN/out.
  pid_t start(const std::filesystem::path& run, const Environment& environment, double budget) const {
    std::filesystem::create_directories(run);
    const std::string out = (run / "out").string(), budget_text = std::to_string(budget);
    const std::string ledger = file_.string(), run_text = run.string(), draws = draws_.string();
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    const int fd = ::open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
    ::dup2(fd, 1);
    ::dup2(fd, 2);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::execl(MUFFLE_LEDGER_DRIVER, "ledger_driver", ledger.c_str(), run_text.c_str(), draws.c_str(), "0.125",
            budget_text.c_str(), nullptr);
    ::_exit(127);
  }
  /// @returns the exit code, or minus the signal.
  static int wait(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  int release(const std::filesystem::path& run, const Environment& environment = {},
              double budget = 1000) const {
    return wait(start(run, environment, budget));
  }

  std::multiset<std::string> drawn_charges() const {
    std::multiset<std::string> ids;
    for (const auto& entry : std::filesystem::directory_iterator(draws_))
      ids.insert(entry.path().filename().string().substr(0, 32));
    return ids;
  }

  /// Empty, or what is wrong.
  std::string broken_promise() const {
    const auto drawn = drawn_charges();
    if (!std::filesystem::exists(file_)) return drawn.empty() ? "" : "drawn without a ledger";
    LedgerState state;
    try {
      state = read_ledger(file_);
    } catch (const std::exception& e) {
      return std::string("the ledger cannot be read: ") + e.what();
    }
    for (const std::string& id : drawn) {
      if (drawn.count(id) > 1) return "charge " + id + " was drawn twice";
      if (state.find_charge(id) == nullptr)
        return "charge " + id + " was drawn, but the ledger does not have it";
    }
    if (!(state.spent_squares >= kMu * kMu * static_cast<double>(drawn.size())))
      return "the ledger counts too little";
    return "";
  }

  int steps_of_one_release() {
    const auto count = folder_ / "steps";
    EXPECT_EQ(release(folder_ / "counted", {{"MUFFLE_COUNT_STEPS", count.string()}}), 0);
    fresh_ledger();
    return std::stoi(read_file(count));
  }

  /// Runs the job again until it is through, and once more. Everything must stay as it was.
  void recover(const std::filesystem::path& run) {
    const auto artifact = run / "release.mfl";
    const std::string bytes = std::filesystem::exists(artifact) ? read_file(artifact) : "";
    ASSERT_EQ(release(run), 0) << read_file(run / "out");
    ASSERT_EQ(broken_promise(), "");
    const std::string released = read_file(artifact);
    if (!bytes.empty()) {
      ASSERT_EQ(released, bytes) << "bytes that were there already are handed out, not drawn again";
    }
    const auto drawn = drawn_charges();
    const std::string ledger = read_file(file_);
    ASSERT_EQ(release(run), 0) << read_file(run / "out");
    ASSERT_EQ(read_file(artifact), released);
    ASSERT_EQ(drawn_charges(), drawn) << "a finished release is never drawn again";
    ASSERT_EQ(read_file(file_), ledger) << "and costs nothing more";
  }

  std::filesystem::path draws_;
  int ledgers_ = 0;
};

TEST_F(LedgerKillTest, EveryStepAndEveryFaultOnce) {
  const int steps = steps_of_one_release();
  ASSERT_GT(steps, 15);
  std::map<std::string, int> endings;
  for (const std::string action :
       {"kill-before", "kill-after", "short-kill", "partial", "full", "power-cut"}) {
    for (int step = 1; step <= steps; ++step) {
      SCOPED_TRACE(action + " at step " + std::to_string(step));
      fresh_ledger();
      const auto run = file_.parent_path() / "run";
      const int ended = release(run, {{"MUFFLE_KILL_POINT", std::to_string(step) + ":" + action + ":1"}});
      ++endings[action + " " + std::to_string(ended)];
      ASSERT_EQ(broken_promise(), "");
      if (action == "partial") {
        ASSERT_EQ(ended, 0) << read_file(run / "out");
      }
      if (action == "full" && ended != 0) {
        ASSERT_EQ(ended, static_cast<int>(ExitCode::kIo)) << read_file(run / "out");
        if (std::filesystem::exists(file_)) {
          ASSERT_TRUE(read_ledger(file_).torn.empty()) << "cut back";
        }
        for (const auto& entry : std::filesystem::directory_iterator(run)) {
          ASSERT_EQ(entry.path().string().find(".tmp."), std::string::npos) << entry.path();
        }
      }
      recover(run);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(endings["kill-before -9"], steps);
  EXPECT_EQ(endings["kill-after -9"], steps);
  EXPECT_EQ(endings["short-kill -9"], steps);
  EXPECT_EQ(endings["power-cut -9"], steps);
  EXPECT_GT(endings["full 74"], steps / 2);
}

TEST_F(LedgerKillTest, AThousandRandomKills) {
  const int steps = steps_of_one_release();
  std::mt19937_64 random(7);
  int jobs = 0, killed = 0, drawn = 0, charges = 0;
  const auto tally = [&] {
    drawn += static_cast<int>(drawn_charges().size());
    charges += static_cast<int>(read_ledger(file_).charges.size());
  };
  for (int i = 0; killed < kKills; ++i) {
    SCOPED_TRACE("job " + std::to_string(i));
    ++jobs;
    if (i % 20 == 0) {
      if (i > 0) tally();
      fresh_ledger();
    }
    const auto run = file_.parent_path() / ("run-" + std::to_string(i % 20));
    // A job may be killed several times before it gets through.
    for (int again = 0; again == 0 || random() % 3 == 0; ++again) {
      const unsigned kind = random() % 8;
      if (kind < 2) {
        const pid_t pid = start(run, {}, 1000);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 12000));
        ::kill(pid, SIGKILL);
        killed += wait(pid) == -SIGKILL;
      } else {
        static const std::array<const char*, 6> kActions = {"kill-before", "kill-after", "short-kill",
                                                            "full",        "power-cut",  "power-cut"};
        const std::string point = std::to_string(1 + random() % static_cast<unsigned>(steps)) + ":" +
                                  kActions[kind - 2] + ":" + std::to_string(random() % 1000000);
        SCOPED_TRACE(point);
        killed += release(run, {{"MUFFLE_KILL_POINT", point}}) != 0;
      }
      ASSERT_EQ(broken_promise(), "");
    }
    recover(run);
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
TEST_F(LedgerKillTest, ALedgerThatDoesNotSyncWouldBeFoundOut) {
  const int steps = steps_of_one_release();
  std::mt19937_64 random(11);
  int found_out = 0;
  for (int i = 0; i < kPowerCuts; ++i) {
    fresh_ledger();
    const std::string point =
        std::to_string(1 + random() % static_cast<unsigned>(steps)) + ":power-cut:" + std::to_string(i);
    release(file_.parent_path() / "run", {{"MUFFLE_KILL_POINT", point}, {"MUFFLE_LOSE_SYNCS", "1"}});
    found_out += broken_promise() != "";
  }
  EXPECT_GT(found_out, kPowerCuts / 20);
}

TEST_F(LedgerKillTest, ConcurrentReleasesNeverSpendMoreThanTheBudget) {
  // Room for five charges of 1/8: 5/64 <= 0.28^2 < 6/64.
  constexpr double kBudget = 0.28;
  for (int round = 0; round < 3; ++round) {
    fresh_ledger();
    std::vector<pid_t> jobs;
    for (int j = 0; j < 12; ++j)
      jobs.push_back(start(file_.parent_path() / ("run-" + std::to_string(j)), {}, kBudget));
    int released = 0, refused = 0;
    for (const pid_t job : jobs) {
      const int code = wait(job);
      released += code == 0;
      refused += code == static_cast<int>(ExitCode::kBudget);
    }
    EXPECT_EQ(released, 5);
    EXPECT_EQ(refused, 7);
    const LedgerState state = read_ledger(file_);
    EXPECT_EQ(state.charges.size(), 5u);
    for (const ChargeRecord& charge : state.charges) EXPECT_TRUE(charge.artifact) << charge.id;
    EXPECT_LE(state.spent_mu(), kBudget);
    EXPECT_EQ(drawn_charges().size(), 5u);
    EXPECT_EQ(broken_promise(), "");
  }
}

TEST_F(LedgerKillTest, OneJobStartedManyTimesAtOnceIsReleasedOnce) {
  const auto run = file_.parent_path() / "run";
  std::vector<pid_t> jobs;
  for (int j = 0; j < 8; ++j) jobs.push_back(start(run, {}, 1000));
  for (const pid_t job : jobs) EXPECT_EQ(wait(job), 0);
  EXPECT_EQ(read_ledger(file_).charges.size(), 1u);
  EXPECT_EQ(drawn_charges().size(), 1u);
}

TEST_F(LedgerKillTest, ConcurrentJobsThatAreKilledKeepThePromises) {
  const int steps = steps_of_one_release();
  std::mt19937_64 random(13);
  for (int round = 0; round < (kKills + 49) / 50; ++round) {
    fresh_ledger();
    std::vector<pid_t> jobs;
    for (int j = 0; j < 6; ++j) {
      // No power cuts here: they would take back other processes' bytes too.
      const std::string point = std::to_string(1 + random() % static_cast<unsigned>(steps)) +
                                (random() % 2 ? ":kill-after:" : ":short-kill:") + std::to_string(j);
      jobs.push_back(start(file_.parent_path() / ("run-" + std::to_string(j % 3)),
                           {{"MUFFLE_KILL_POINT", point}}, 1000));
    }
    for (const pid_t job : jobs) wait(job);
    ASSERT_EQ(broken_promise(), "");
    for (int j = 0; j < 3; ++j) recover(file_.parent_path() / ("run-" + std::to_string(j)));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace muffle::privacy
