// Steps of sites and key holders are killed at every call to the system, and must come back: never two draws
// for a charge, never a draw that the ledger does not count, never two openings for a round key; once bytes
// were seen, those and no others.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <random>
#include <set>
#include <sstream>

#include "muffle/core/error.hpp"
#include "muffle/privacy/ledger.hpp"
#include "muffle/release/journal.hpp"
#include "round/several_rounds.hpp"
#include "round/step_process.hpp"
#include "support/tier.hpp"

namespace muffle::round {
namespace {

namespace fs = std::filesystem;
using Environment = std::map<std::string, std::string>;

#ifdef MUFFLE_SANITIZED
const int kStride = 7, kPowerCuts = 30;
#else
const int kStride = test::thorough() ? 1 : 5, kPowerCuts = test::thorough() ? 200 : 40;
#endif

class StepKillTest : public testing::Test {
 protected:
  explicit StepKillTest(privacy::RoundParties parties = {4, 4, 3, 1, 3, 1, 0}) : c_(parties) {
    c_.world.sites[0].save(c_.folder / "site0.key");
    c_.world.holders[0].save(c_.folder / "holder0.key");
    c_.world.round_key(0).save(c_.folder / "holder0-round.key");
  }

  /// A world as the party finds it before its step: after the proposal or, for a key holder, the seal of
  /// three contributions, which takes top-ups; or, having opened it, a request to stand in for somebody.
  void fresh(const std::string& role) {
    role_ = role == "stand-in" ? "holder" : role;
    if (role == "later") return fresh_later();
    if (role_ == "holder" && !c_.is_in_exchange(release::seal_name(c_.round.id))) {
      for (const std::size_t i : {1u, 2u, 3u}) c_.site(i, c_.before());
      c_.coordinator(c_.after());
    }
    world_ = c_.folder / ("world-" + std::to_string(++worlds_));
    fs::create_directory(world_);
    fs::create_directory(world_ / "party");
    fs::create_directory(world_ / "draws");
    if (role_ == "holder") {
      fs::copy(c_.folder / "exchange", world_ / "exchange", fs::copy_options::recursive);
      fs::copy_file(c_.folder / "holder0-round.key", world_ / "round-0.key");
    } else {
      fs::create_directory(world_ / "exchange");
      write_file_atomically(world_ / "exchange" / release::proposal_name(c_.round.id), c_.world.proposed);
    }
    fs::copy_file(c_.folder / (role_ + "0.key"), world_ / "party.key");
    seen_.clear();
    if (role != "stand-in") return;
    ASSERT_EQ(step(), 0) << said();
    role_ = role;
    const SealedRound seal(
        c_.round, release::parse_message(c_.in_exchange(release::seal_name(c_.round.id)), "s").header);
    write_file_atomically(world_ / "exchange" / release::stand_in_request_name(c_.round.id),
                          make_stand_in_request(c_.round, seal, c_.world.coordinator, {3}));
  }

  /// A site in the second round of a release, to whose first one it has contributed.
  void fresh_later() {
    const fs::path base = c_.folder / "later";
    if (!several_) {
      several_ = std::make_unique<SeveralRounds>();
      ConsortiumOfFolders& c = several_->c;
      for (const char* part : {"", "party", "draws", "exchange"}) fs::create_directory(base / part);
      c.world.sites[0].save(base / "party.key");
      fs::copy_file(c.folder / "exchange" / release::proposal_name(c.round.id),
                    base / "exchange" / release::proposal_name(c.round.id));
      world_ = base;
      ASSERT_EQ(step(), 0) << said();
      c.exchange->put(c.contribution_of(0), read_file(base / "exchange" / c.contribution_of(0)));
      for (const std::size_t i : {1u, 2u, 3u}) several_->site(0, i);
      several_->coordinator(0);
      for (std::size_t h = 0; h < 3; ++h) several_->holder(0, h);
      several_->coordinator(0);
      several_->propose();
      fs::remove_all(base / "exchange");
      fs::remove_all(base / "draws");
      fs::create_directory(base / "draws");
      fs::copy(c.folder / "exchange", base / "exchange", fs::copy_options::recursive);
    }
    world_ = c_.folder / ("world-" + std::to_string(++worlds_));
    fs::copy(base, world_, fs::copy_options::recursive);
    seen_.clear();
  }

  /// @returns the exit code, or minus the signal.
  int step(Environment environment = {}) const {
    const std::uint64_t now = is_site()           ? c_.before()
                              : role_ == "holder" ? c_.after()
                                                  : c_.round.proposal.open_until + 1;
    environment["MUFFLE_MARK_DRAWS"] = (world_ / "draws").string() + ":" + ledger().string();
    return step_process(is_site() ? "site" : "holder", world_, now, environment);
  }
  int step_with_fault(const std::string& at, const std::string& action, unsigned seed = 1) const {
    return step({{"MUFFLE_KILL_POINT", at + ":" + action + ":" + std::to_string(seed)}});
  }
  std::string said() const { return read_file(world_ / "said"); }

  std::size_t steps_of_one() {
    EXPECT_EQ(step({{"MUFFLE_LIST_STEPS", (world_ / "steps").string()}}), 0) << said();
    std::istringstream in(read_file(world_ / "steps"));
    std::size_t lines = 0;
    for (std::string line; std::getline(in, line);) ++lines;
    return lines;
  }

  fs::path ledger() const { return world_ / "party" / "ledger.mfl"; }
  fs::path message() const {
    const std::string name =
        role_ == "site" ? c_.contribution_of(0)
        : role_ == "later"
            ? release::contribution_name(several_->rounds[1].id, several_->c.world.sites[0].public_key())
        : role_ == "holder" ? c_.opening_of(0)
                            : release::stand_in_name(c_.round.id, c_.world.holders[0].public_key());
    return world_ / "exchange" / name;
  }
  /// What anybody sees in the exchange. @param fetch  and takes away, as a courier may
  void look(bool fetch) {
    if (!fs::exists(message())) return;
    seen_.insert(read_file(message()));
    if (fetch) fs::remove(message());
  }

  /// Empty, or what is wrong.
  std::string broken_promise() const {
    if (seen_.size() > 1) return "two different messages were sent";
    if (!is_site()) return "";
    std::multiset<std::string> drawn;
    for (const auto& entry : fs::directory_iterator(world_ / "draws")) {
      const std::string name = entry.path().filename().string();
      drawn.insert(name.substr(0, name.find('.')));
    }
    if (!fs::exists(ledger())) return drawn.empty() ? "" : "drawn without a ledger";
    privacy::LedgerState state;
    try {
      state = privacy::read_ledger(ledger());
    } catch (const Error& e) {
      return std::string("the ledger cannot be read: ") + e.what();
    }
    if (state.charges.size() > 1) return "charged twice";
    for (const std::string& id : drawn) {  // of a later round with its number behind it
      if (drawn.count(id) > 1) return "charge " + id + " was drawn twice";
      if (state.find_charge(id.substr(0, 32)) == nullptr) return "a draw that the ledger does not have";
    }
    return "";
  }

  /// The same step again, until it is through.
  void recover() {
    for (int again = 0; again < 3; ++again) {
      ASSERT_EQ(step(), 0) << said();
      look(again == 1);
      ASSERT_EQ(broken_promise(), "");
    }
  }

  void every_step(const std::string& role) {
    fresh(role);
    const auto steps = static_cast<int>(steps_of_one());
    ASSERT_GT(steps, 15);
    int lost = 0, killed = 0, first = 0;
    for (const std::string action : {"kill-before", "kill-after", "short-kill", "full", "power-cut"}) {
      // Each action begins one step later than the one before it: together they take all steps.
      for (int at = 1 + first++ % kStride; at <= steps; at += kStride) {
        SCOPED_TRACE(role + ": " + action + " at step " + std::to_string(at));
        fresh(role);
        const int ended = step_with_fault(std::to_string(at), action, static_cast<unsigned>(at));
        ASSERT_TRUE(ended == 0 || ended == -SIGKILL || ended == static_cast<int>(ExitCode::kIo)) << said();
        killed += ended == -SIGKILL;
        look(at % 2 == 0);
        ASSERT_EQ(broken_promise(), "");
        recover();
        if (HasFatalFailure()) return;
        if (seen_.empty()) {
          ++lost;
          ASSERT_TRUE(is_site()) << said();
          ASSERT_NE(said().find("no second contribution is drawn"), std::string::npos) << said();
          ASSERT_EQ(privacy::read_ledger(ledger()).charges.size(), 1u) << "what is lost was charged";
        }
        fs::remove_all(world_);
      }
    }
    RecordProperty("steps", steps);
    RecordProperty("killed", killed);
    RecordProperty("lost", lost);
    EXPECT_GT(killed, steps / kStride);
    EXPECT_LT(lost, killed / 2) << "a charge is lost only between INTENT and PENDING";
  }

  ConsortiumOfFolders c_;
  bool is_site() const { return role_ == "site" || role_ == "later"; }

  std::unique_ptr<SeveralRounds> several_;
  std::string role_;
  fs::path world_;
  int worlds_ = 0;
  std::set<std::string> seen_;
};

TEST_F(StepKillTest, ASiteAtEveryStep) { every_step("site"); }
TEST_F(StepKillTest, ASiteInALaterRoundAtEveryStep) { every_step("later"); }
TEST_F(StepKillTest, AKeyHolderAtEveryStep) { every_step("holder"); }

/// Where a key holder may be missing, and the others keep shares of its keys.
class StandInKillTest : public StepKillTest {
 protected:
  StandInKillTest() : StepKillTest({4, 4, 3, 1, 4, 1, 1}) {}
};

TEST_F(StandInKillTest, AKeyHolderThatKeepsSharesAtEveryStep) { every_step("holder"); }
TEST_F(StandInKillTest, AStandInAtEveryStep) { every_step("stand-in"); }

TEST_F(StepKillTest, AKeyHoldersKeyIsGoneOnceItHasSpoken) {
  fresh("holder");
  ASSERT_EQ(step(), 0) << said();
  EXPECT_FALSE(fs::exists(world_ / "round-0.key"));
  const auto state = release::parse_journal(read_file(world_ / "party" / "journal.mfj"), "journal");
  EXPECT_TRUE(state.erased(c_.round.proposal.holders[0].point));
  // A power cut at any moment of the rest.
  std::mt19937_64 random(3);
  for (int i = 0; i < kPowerCuts; ++i) {
    SCOPED_TRACE(i);
    fresh("holder");
    step_with_fault(std::to_string(1 + random() % 40), "power-cut", static_cast<unsigned>(random() % 100000));
    look(false);
    recover();
    if (HasFatalFailure()) return;
    EXPECT_EQ(seen_.size(), 1u);
    fs::remove_all(world_);
  }
}

// The same checks on a disk that only pretends to sync: they must find the draws that the ledger forgot.
TEST_F(StepKillTest, ALedgerThatDoesNotSyncWouldBeFoundOut) {
  fresh("site");
  const std::size_t steps = steps_of_one();
  std::mt19937_64 random(11);
  int found_out = 0;
  for (int i = 0; i < kPowerCuts; ++i) {
    fresh("site");
    step({{"MUFFLE_KILL_POINT", std::to_string(1 + random() % steps) + ":power-cut:" + std::to_string(i)},
          {"MUFFLE_LOSE_SYNCS", "1"}});
    found_out += broken_promise() != "";
    fs::remove_all(world_);
  }
  EXPECT_GT(found_out, kPowerCuts / 20);
}

TEST_F(StepKillTest, OneSiteStartedManyTimesAtOnceContributesOnce) {
  fresh("site");
  std::vector<pid_t> started;
  for (int j = 0; j < 6; ++j) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(step() == 0 ? 0 : 1);
    started.push_back(pid);
  }
  for (const pid_t pid : started) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  }
  look(false);
  recover();
  EXPECT_EQ(seen_.size(), 1u);
}

}  // namespace
}  // namespace muffle::round
