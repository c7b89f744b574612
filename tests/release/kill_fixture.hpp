#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/privacy/ledger.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::release {

/// Runs releases in processes of their own that are linked with faulty_system.cpp, and holds them to the
/// ledger's promises, whatever became of them. A test's jobs share a ledger; fresh_ledger() begins anew.
class KillFixture : public ::testing::Test {
 protected:
  using Environment = std::map<std::string, std::string>;

  KillFixture() { fresh_ledger(); }

  /// argv of a release into the folder `run` with all the ledger's budget in mu.
  virtual std::vector<std::string> command(const std::filesystem::path& run, double budget) const = 0;
  /// What one release is charged, at least.
  virtual double mu() const = 0;

  void fresh_ledger() {
    here_ = folder_ / std::to_string(++ledgers_);
    file_ = here_ / "ledger.jsonl";
    draws_ = here_ / "draws";
    std::filesystem::create_directories(draws_);
  }

  /// Starts a release; its output goes to RUN.out.
  pid_t start(const std::filesystem::path& run, const Environment& environment = {},
              double budget = kNoLimit) const {
    const std::vector<std::string> words = command(run, budget);
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const std::string out = output_of(run), marks = draws_.string() + ":" + file_.string();
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    const int fd = ::open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
    ::dup2(fd, 1);
    ::dup2(fd, 2);
    ::setenv("MUFFLE_MARK_DRAWS", marks.c_str(), 1);
    ::setenv("TMPDIR", folder_.path().c_str(),
             1);  // where other tests' mpirun does not tidy up as this one starts
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  static std::string output_of(const std::filesystem::path& run) { return run.string() + ".out"; }
  static std::string said(const std::filesystem::path& run) { return read_file(output_of(run)); }
  /// @returns the exit code, or minus the signal.
  static int wait(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  int release(const std::filesystem::path& run, const Environment& environment = {}) const {
    return wait(start(run, environment));
  }
  int release_with_fault(const std::filesystem::path& run, const std::string& step, const std::string& action,
                         unsigned seed = 1) const {
    return release(run, {{"MUFFLE_KILL_POINT", step + ":" + action + ":" + std::to_string(seed)}});
  }

  /// CALL@FILE of every step of an undisturbed release.
  std::vector<std::string> steps_of_one_release() {
    const auto list = folder_ / "steps";
    EXPECT_EQ(release(here_ / "listed", {{"MUFFLE_LIST_STEPS", list.string()}}), 0) << said(here_ / "listed");
    fresh_ledger();
    std::vector<std::string> steps;
    std::istringstream in(read_file(list));
    for (std::string step; std::getline(in, step);) steps.push_back(step);
    return steps;
  }

  /// The charge, and the later round, of every block of noise that was drawn.
  std::multiset<std::string> drawn_charges() const {
    std::multiset<std::string> ids;
    for (const auto& entry : std::filesystem::directory_iterator(draws_))
      ids.insert(entry.path().filename().string().substr(0, entry.path().filename().string().find('.')));
    return ids;
  }

  /// Empty, or what is wrong.
  std::string broken_promise() const {
    const auto drawn = drawn_charges();
    if (!std::filesystem::exists(file_)) return drawn.empty() ? "" : "drawn without a ledger";
    privacy::LedgerState state;
    try {
      state = privacy::read_ledger(file_);
    } catch (const std::exception& e) {
      return std::string("the ledger cannot be read: ") + e.what();
    }
    std::set<std::string> charges;
    for (const std::string& id : drawn) {
      if (drawn.count(id) > 1) return "charge " + id + " was drawn twice";
      if (state.find_charge(id.substr(0, 32)) == nullptr)
        return "charge " + id + " was drawn, but the ledger does not have it";
      charges.insert(id.substr(0, 32));
    }
    if (!(state.spent_squares >= mu() * mu() * static_cast<double>(charges.size())))
      return "the ledger counts too little";
    return "";
  }

  static std::string bytes_or_nothing(const std::filesystem::path& file) {
    return std::filesystem::exists(file) ? read_file(file) : "";
  }

  /// Runs the job again until it is through. What was released already must stay as it was.
  void recover(const std::filesystem::path& run) {
    const auto artifact = run / "release.mfl";
    const std::string bytes = bytes_or_nothing(artifact);
    const auto drawn = drawn_charges();
    ASSERT_EQ(release(run), 0) << said(run);
    ASSERT_EQ(broken_promise(), "");
    if (!bytes.empty()) {
      ASSERT_EQ(read_file(artifact), bytes) << "bytes that were there already are handed out";
      ASSERT_EQ(drawn_charges(), drawn) << "and nothing is drawn for them";
    }
    const privacy::LedgerState state = privacy::read_ledger(file_);
    ASSERT_FALSE(state.charges.empty());
    ASSERT_TRUE(state.torn.empty());
    for (const char* file : {"release.mfl.sig", "privacy.json", "privacy.txt"}) {
      ASSERT_NE(bytes_or_nothing(run / file), "") << file;
    }
  }

  /// A finished release is handed out again, and nothing changes.
  void expect_finished(const std::filesystem::path& run) {
    const auto drawn = drawn_charges();
    const std::string ledger = read_file(file_), released = read_file(run / "release.mfl"),
                      signature = read_file(run / "release.mfl.sig");
    ASSERT_EQ(release(run), 0) << said(run);
    ASSERT_EQ(read_file(run / "release.mfl"), released);
    ASSERT_EQ(read_file(run / "release.mfl.sig"), signature);
    ASSERT_EQ(drawn_charges(), drawn) << "a finished release is never drawn again";
    ASSERT_EQ(read_file(file_), ledger) << "and costs nothing more";
  }

  /// So many jobs at once, each of one release of mu 1/8: as many are released as the budget has room for,
  /// the others are refused, and the ledger counts every draw.
  void expect_turns(int jobs, std::size_t room, double budget) {
    std::vector<pid_t> started;
    for (int j = 0; j < jobs; ++j) started.push_back(start(here_ / ("run-" + std::to_string(j)), {}, budget));
    std::map<int, std::size_t> ended;
    for (const pid_t job : started) ++ended[wait(job)];
    EXPECT_EQ(ended[0], room);
    EXPECT_EQ(ended[static_cast<int>(ExitCode::kBudget)], static_cast<std::size_t>(jobs) - room);
    const privacy::LedgerState state = privacy::read_ledger(file_);
    EXPECT_EQ(state.charges.size(), room);
    for (const privacy::ChargeRecord& charge : state.charges) EXPECT_TRUE(charge.artifact) << charge.id;
    EXPECT_LE(state.spent_mu(), budget);
    EXPECT_EQ(drawn_charges().size(), room);
    EXPECT_EQ(broken_promise(), "");
  }

  /// One job, started so many times at once, is one charge and one draw.
  void expect_one_release(int starts) {
    const auto run = here_ / "run";
    std::vector<pid_t> started;
    for (int j = 0; j < starts; ++j) started.push_back(start(run));
    for (const pid_t job : started) EXPECT_EQ(wait(job), 0) << said(run);
    EXPECT_EQ(privacy::read_ledger(file_).charges.size(), 1u);
    EXPECT_EQ(drawn_charges().size(), 1u);
  }

  /// No file below the folder is one that somebody was writing.
  static void expect_nothing_half_written(const std::filesystem::path& folder) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      ASSERT_EQ(entry.path().string().find(".tmp."), std::string::npos) << entry.path();
  }

  static constexpr double kNoLimit = 1000;
  const test::TemporaryFolder folder_;
  std::filesystem::path here_, file_, draws_;  ///< here_ holds the ledger file_ and its runs

 private:
  int ledgers_ = 0;
};

}  // namespace muffle::release
