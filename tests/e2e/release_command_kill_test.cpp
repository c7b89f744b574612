// `muffle release` itself (its own main and commands, linked with faulty_system.cpp) is killed, cut off from
// power and given a full disk at every one of its steps, and is then started again as a requeued job is: the
// same bytes once there are any, one charge, one draw. The transaction alone gets a thousand random kills in
// tests/release/release_kill_test.cpp.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/crypto/site_keys.hpp"
#include "muffle/data/format.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/release/artifact.hpp"
#include "release/kill_fixture.hpp"
#include "support/tier.hpp"

namespace muffle {
namespace {

/// Every so many steps of the command. (Neighbouring steps are of one kind; release_kill_test takes each
/// one.)
std::size_t stride() {
#ifdef MUFFLE_SANITIZED
  return 16;
#else
  return test::thorough() ? 1 : 23;
#endif
}

std::vector<std::string> words_of(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) ADD_FAILURE() << variable << " must be set by CTest";
  std::vector<std::string> words;
  std::istringstream in(value == nullptr ? "" : value);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

class ReleaseCommandKillTest : public release::KillFixture {
 protected:
  ReleaseCommandKillTest() {
    crypto::SiteKey::generate("kill-test").save(folder_ / "kill-test.key");
    constexpr std::size_t kRecords = 40;
    std::vector<float> points;
    std::vector<std::uint8_t> labels;
    for (std::size_t i = 0; i < kRecords; ++i) {
      points.insert(points.end(), {0.01f * static_cast<float>(i), 0.5f});
      labels.push_back(static_cast<std::uint8_t>(i % 2));
    }
    data::write_idx(folder_ / "points.idx", std::vector<std::size_t>{kRecords, 2}, points);
    data::write_idx(folder_ / "labels.idx", std::vector<std::size_t>{kRecords}, labels);
    std::string rows = "a,b\n";
    for (std::size_t i = 0; i < kRecords; ++i) rows += i % 3 == 0 ? "x,u\n" : "y,v\n";
    write_file_atomically(folder_ / "rows.csv", rows);
    write_file_atomically(folder_ / "schema.toml",
                          "[[columns]]\nname = \"a\"\ntype = \"category\"\nvalues = [\"x\", \"y\"]\n"
                          "[[columns]]\nname = \"b\"\ntype = \"category\"\nvalues = [\"u\", \"v\"]\n");
  }

  /// The noise is one block of entropy: 16 numbers.
  std::vector<std::string> command(const std::filesystem::path& run, double budget) const override {
    std::vector<std::string> argv;
    if (ranks_ > 1) {
      argv = words_of("MPIEXEC");
      for (const std::string& flag : words_of("MPIFLAGS")) argv.push_back(flag);
      argv.insert(argv.end(), {"-n", std::to_string(ranks_)});
    }
    argv.insert(argv.end(), {words_of("MUFFLE_FAULTY").at(0), "release", "--out", run.string()});
    const auto set = [&](const std::string& setting) { argv.insert(argv.end(), {"--set", setting}); };
    set("data.id=kill-test");
    if (in_rounds_) {
      set("data.features=" + (folder_ / "rows.csv").string());
      set("data.schema=" + (folder_ / "schema.toml").string());
      for (const char* setting : {"map.pairs.kind=pairs", "privacy.rounds=3", "model.generator=pair-graph"})
        set(setting);
    } else {
      set("data.features=" + (folder_ / "points.idx").string());
      set("data.labels=" + (folder_ / "labels.idx").string());
      for (const char* setting :
           {"data.classes=2", "data.shape=[2]", "data.lo=0.0", "data.hi=1.0", "map.rff.kind=rff",
            "map.rff.count=8", "map.rff.length_scale=0.5", "model.generator=fully-connected"})
        set(setting);
    }
    for (const char* setting :
         {"data.records=40", "privacy.noise_multiplier=8.0", "privacy.max_records_per_person=1",
          "evaluate.metrics=[]", "runtime.deadline_s=120", "runtime.threads=1"})
      set(setting);
    for (const std::string& setting : more_) set(setting);
    set("privacy.ledger=" + file_.string());
    set("privacy.signing_key=" + (folder_ / "kill-test.key").string());
    if (budget < kNoLimit)
      set("privacy.budget_epsilon=" + std::to_string(privacy::epsilon_for(1e-5, budget)));
    return argv;
  }
  double mu() const override { return 0.1249; }

  /// mpirun's code for a killed rank, or that of the rank which is left, if its MPI_Abort is sooner heard of.
  bool was_killed(int ended) const {
    return ranks_ == 1 ? ended == -SIGKILL
                       : ended == 128 + SIGKILL || ended == static_cast<int>(ExitCode::kPeer);
  }

  /// `muffle release` into run(), killed there.
  ::testing::AssertionResult is_killed(const char* point, const char* action) {
    const int ended = release_with_fault(run(), point, action);
    if (was_killed(ended)) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << ended << ": " << said(run());
  }

  /// The ledger has this one charge, committed, and the noise was drawn for it once.
  void expect_one_charge() {
    const privacy::LedgerState state = privacy::read_ledger(file_);
    ASSERT_EQ(state.charges.size(), 1u);
    EXPECT_TRUE(state.charges.front().artifact);
    EXPECT_EQ(drawn_charges().size(), 1u);
    EXPECT_NEAR(state.spent_mu(), 0.125, 1e-4);
  }

  std::filesystem::path run() const { return here_ / "run"; }
  int ranks_ = 1;
  std::vector<std::string> more_;  ///< further settings
  bool in_rounds_ = false;         ///< counts of a table, in three rounds
};

// The requeued job of the specification: the artifact is there, COMMIT is not.
TEST_F(ReleaseCommandKillTest, ARequeuedJobHandsOutTheArtifactThatWasNotCommitted) {
  for (const int ranks : {1, 2}) {
    for (const int again_on : {1, 2}) {
      SCOPED_TRACE(std::to_string(ranks) + " rank(s), then " + std::to_string(again_on));
      fresh_ledger();
      ranks_ = ranks;
      ASSERT_TRUE(is_killed("rename@release.mfl", "kill-after"));
      const std::string bytes = bytes_or_nothing(run() / "release.mfl");
      ASSERT_NE(bytes, "");
      ASSERT_FALSE(privacy::read_ledger(file_).charges.front().artifact) << "killed before COMMIT";
      ranks_ = again_on;
      recover(run());
      ASSERT_EQ(read_file(run() / "release.mfl"), bytes);
      expect_finished(run());
      expect_one_charge();
      if (HasFatalFailure()) return;
    }
  }
}

// Killed between the charge and the artifact: the charge stays spent, and the requeued job pays for its own
// draw.
TEST_F(ReleaseCommandKillTest, AChargeWithoutAnArtifactStaysSpent) {
  ranks_ = 2;
  ASSERT_TRUE(is_killed("rename@release.mfl", "kill-before"));
  ASSERT_FALSE(std::filesystem::exists(run() / "release.mfl"));
  recover(run());
  const privacy::LedgerState state = privacy::read_ledger(file_);
  EXPECT_EQ(state.charges.size(), 2u);
  EXPECT_EQ(drawn_charges().size(), 2u);
  EXPECT_NEAR(state.spent_mu(), 0.125 * std::sqrt(2.0), 1e-4);
}

// The other ways to sum: from the charge on they take the same steps. In distributed noise the ranks draw
// their shares before the charge, so there are two draws for one charge, which no mark of the coordinator's
// can tell apart.
TEST_F(ReleaseCommandKillTest, MaskedReleasesComeBackToo) {
  ranks_ = 2;
  more_ = {"privacy.secure_aggregation=true"};
  for (const char* point : {"write@release.mfl", "rename@release.mfl"}) {
    for (const char* action : {"kill-before", "kill-after"}) {
      SCOPED_TRACE(std::string(action) + " " + point);
      fresh_ledger();
      ASSERT_TRUE(is_killed(point, action));
      ASSERT_EQ(broken_promise(), "");
      recover(run());
      if (!HasFatalFailure()) expect_finished(run());
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(ReleaseCommandKillTest, ReleasesWithDistributedNoiseComeBackToo) {
  ranks_ = 2;
  more_ = {"privacy.secure_aggregation=true", "privacy.distributed_noise=true"};
  for (const bool written : {false, true}) {
    SCOPED_TRACE(written ? "the release is there" : "no release is there");
    fresh_ledger();
    ASSERT_TRUE(is_killed("rename@release.mfl", written ? "kill-after" : "kill-before"));
    const std::string bytes = bytes_or_nothing(run() / "release.mfl");
    ASSERT_EQ(bytes != "", written);
    ASSERT_EQ(release(run()), 0) << said(run());
    if (written) {
      EXPECT_EQ(read_file(run() / "release.mfl"), bytes);
    }
    const privacy::LedgerState state = privacy::read_ledger(file_);
    ASSERT_EQ(state.charges.size(), written ? 1u : 2u);
    EXPECT_TRUE(state.charges.back().artifact);
    EXPECT_EQ(state.charges.front().pending.has_value(), true) << "bound before the rename";
    EXPECT_EQ(state.charges.back().artifact, state.charges.back().pending);
  }
}

// One charge pays for three rounds: killed between two of them, the job goes on with the next, on any number
// of ranks, and draws none again; killed while a round is written, it pays anew.
TEST_F(ReleaseCommandKillTest, BetweenTwoRoundsAJobGoesOnForItsOneCharge) {
  in_rounds_ = true;
  for (const int ranks : {1, 2}) {
    for (const std::string round : {"", "#2"}) {
      SCOPED_TRACE(std::to_string(ranks) + " rank(s), rounds' file" + round);
      fresh_ledger();
      ranks_ = ranks;
      ASSERT_TRUE(is_killed(("rename@release.mfl.rounds" + round).c_str(), "kill-after"));
      ASSERT_TRUE(privacy::read_ledger(file_).charges.front().between_rounds());
      ASSERT_EQ(drawn_charges().size(), round.empty() ? 1u : 2u);
      ranks_ = 3 - ranks;
      recover(run());
      if (HasFatalFailure()) return;
      const privacy::LedgerState state = privacy::read_ledger(file_);
      ASSERT_EQ(state.charges.size(), 1u);
      EXPECT_TRUE(state.charges.front().artifact);
      EXPECT_EQ(drawn_charges().size(), 3u);
      EXPECT_NEAR(state.spent_mu(), 0.125, 1e-4);
      EXPECT_FALSE(std::filesystem::exists(run() / "release.mfl.rounds"));
    }
  }
  // Masked, the number of ranks decides who saw which sums: a release states that once, for all rounds.
  fresh_ledger();
  more_ = {"privacy.secure_aggregation=true"};
  ranks_ = 1;
  ASSERT_TRUE(is_killed("rename@release.mfl.rounds", "kill-after"));
  ranks_ = 2;
  EXPECT_EQ(release(run()), static_cast<int>(ExitCode::kConfig)) << said(run());
  EXPECT_NE(said(run()).find("Go on as the job began"), std::string::npos);
  ranks_ = 1;
  recover(run());
  EXPECT_EQ(privacy::read_ledger(file_).charges.size(), 1u);
  EXPECT_EQ(drawn_charges().size(), 3u);
  more_.clear();
  fresh_ledger();
  ASSERT_TRUE(is_killed("rename@release.mfl.rounds", "kill-before"));
  recover(run());
  EXPECT_EQ(privacy::read_ledger(file_).charges.size(), 2u);
  EXPECT_EQ(drawn_charges().size(), 4u);
}

// Bound to its charge, but the file never came: the hash alone is no release.
TEST_F(ReleaseCommandKillTest, AForgedFileInPlaceOfTheReleaseIsRefused) {
  ASSERT_TRUE(is_killed("rename@release.mfl", "kill-after"));
  const auto artifact = run() / "release.mfl";
  const std::string bytes = read_file(artifact);
  release::Artifact forged = release::parse_artifact(bytes, "release.mfl");
  for (std::int64_t& value : forged.values) value += 1;
  write_file_atomically(artifact, release::artifact_bytes(forged));
  EXPECT_EQ(release(run()), static_cast<int>(ExitCode::kProtocol)) << said(run());
  EXPECT_FALSE(std::filesystem::exists(run() / "release.mfl.sig"));
  EXPECT_FALSE(privacy::read_ledger(file_).charges.front().artifact);
  write_file_atomically(artifact, bytes);
  recover(run());
  expect_one_charge();
}

TEST_F(ReleaseCommandKillTest, EveryStepOfTheCommand) {
  const auto steps = steps_of_one_release();
  ASSERT_GT(steps.size(), 30u);
  for (const char* step : {"write@ledger.jsonl", "rename@release.mfl", "write@config.resolved.toml"})
    ASSERT_NE(std::find(steps.begin(), steps.end(), step), steps.end()) << step;
  std::map<std::string, std::size_t> endings;
  std::size_t tried = 0;
  for (std::size_t step = 1; step <= steps.size(); step += stride(), ++tried) {
    for (const std::string action : {"kill-after", "short-kill", "full", "power-cut"}) {
      // Starting the whole command takes a while. A short write is one of a write.
      if (action == "short-kill" && steps[step - 1].rfind("write@", 0) != 0) continue;
      if (action == "full" && tried % 2 != 0) continue;
      if (action == "power-cut" && tried % 4 != 0) continue;
      SCOPED_TRACE(action + " at step " + std::to_string(step) + ", " + steps[step - 1]);
      fresh_ledger();
      const int ended = release_with_fault(run(), std::to_string(step), action);
      ++endings[action + " " + std::to_string(ended)];
      ASSERT_EQ(broken_promise(), "");
      if (action == "full") {
        ASSERT_TRUE(ended == 0 || ended == static_cast<int>(ExitCode::kIo)) << ended << said(run());
        expect_nothing_half_written(run());
      }
      recover(run());
      if (!HasFatalFailure() && step % 5 == 0) expect_finished(run());
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(endings["kill-after -9"], tried);
  EXPECT_GE(endings["power-cut -9"], tried / 4);
  EXPECT_GE(endings["full 74"], tried / 4);
}

TEST_F(ReleaseCommandKillTest, ConcurrentReleasesTakeTurnsAndKeepTheBudget) {
  // Room for three charges of 1/8: 3/64 <= 0.22^2 < 4/64.
  expect_turns(6, 3, 0.22);
}

TEST_F(ReleaseCommandKillTest, OneJobStartedManyTimesAtOnceIsReleasedOnce) {
  expect_one_release(4);
  expect_one_charge();
}

}  // namespace
}  // namespace muffle
