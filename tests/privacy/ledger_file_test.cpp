// The ledger's file and its lock.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <thread>

#include "ledger_fixture.hpp"
#include "muffle/core/chained_file.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "privacy/ledger_entry.hpp"
#include "support/expect_error.hpp"

namespace muffle::privacy {
namespace {

using test::expect_error;

class LedgerFileTest : public LedgerFixture {
 protected:
  const std::filesystem::path lock_ = file_.string() + ".lock";
};

TEST_F(LedgerFileTest, SaysWhetherItHadToMakeTheFile) {
  EXPECT_TRUE(open().created());
  EXPECT_FALSE(open().created());
}

TEST_F(LedgerFileTest, ASecondNameOfTheFileIsRefused) {
  { open(); }
  std::filesystem::create_hard_link(file_, folder_ / "other.jsonl");
  for (const auto& name : {file_, folder_ / "other.jsonl"}) {
    expect_error(ExitCode::kProtocol, {name.string(), "2 names", "hard links", "Nothing was charged"},
                 [&] { open_as(name); });
  }
  std::filesystem::remove(folder_ / "other.jsonl");
  // What a crash while the ledger was created leaves.
  std::filesystem::create_hard_link(file_, file_.string() + ".new");
  EXPECT_NO_THROW(open());
}

TEST_F(LedgerFileTest, WhoWaitsTooLongIsToldWhoHoldsTheLock) {
  const Ledger holder = open();
  expect_error(ExitCode::kPeer,
               {"ledger.jsonl.lock", "process " + std::to_string(::getpid()) + " on ", "since 2"},
               [&] { open(std::nullopt, 50); });
}

TEST_F(LedgerFileTest, WhoWaitsMayDoOtherThingsMeanwhileAndGiveUp) {
  std::optional<Ledger> holder = open();
  const std::string before = read_file(file_);
  int looks = 0;
  const auto waits = [&] {
    return Ledger::open(file_, "patients-2024", std::nullopt, std::chrono::seconds(60), [&] {
      if (++looks == 5) throw ConfigError("told to stop");
    });
  };
  expect_error(ExitCode::kConfig, {"told to stop"}, waits);
  EXPECT_EQ(looks, 5);
  EXPECT_EQ(read_file(file_), before);
  holder.reset();
  looks = 0;
  EXPECT_NO_THROW(waits());
  EXPECT_EQ(looks, 0) << "nobody waits for a lock that is free";
}

TEST_F(LedgerFileTest, WhatStandsInTheLockIsShownWithoutControlCharacters) {
  const Ledger holder = open();
  { std::ofstream(lock_) << "\x1b[2Jevil \xc2\x9b\x07\n"; }
  expect_error(ExitCode::kPeer, {"held by ?[2Jevil ??,"}, [&] { open(std::nullopt, 50); });
}

TEST_F(LedgerFileTest, ALinkLeadsToTheSameLock) {
  { open(); }
  std::filesystem::create_symlink(file_, folder_ / "link.jsonl");
  const Ledger holder = open();
  EXPECT_THROW(open_as(folder_ / "link.jsonl"), CommError);
}

TEST_F(LedgerFileTest, WritingInSpiteOfTheLockIsNoticed) {
  Ledger ledger = open();
  write_file_atomically(file_, read_file(file_) + "x");
  expect_error(ExitCode::kProtocol, {"Locks do not seem to work"}, [&] { ledger.begin(terms(0.5)); });
}

TEST_F(LedgerFileTest, AFullDiskChargesNothingAndLeavesNoHalfLine) {
  Ledger ledger = open(Budget{1, 1e-5, {}});
  const std::string before = read_file(file_);
  // A limit on the file's size cuts the write short, as a full disk does.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit old{}, low{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  low = old;
  low.rlim_cur = before.size() + 100;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  expect_error(ExitCode::kIo, {"ledger.jsonl", "space", "not added"}, [&] { ledger.begin(terms(0.5)); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_EQ(read_file(file_), before);
  EXPECT_NO_THROW(ledger.begin(terms(0.5))) << "and when there is space again it goes on";
}

TEST_F(LedgerFileTest, CreatingNeverReplacesALedger) {
  { open(); }
  const std::string before = read_file(file_);
  // As if this machine's cache of a network folder had not shown the file.
  create_book(file_, {"ledger", "", "", "", "", ""}, "another first line");
  EXPECT_EQ(read_file(file_), before);
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".new"));
}

TEST_F(LedgerFileTest, AnUnwritableFolderIsAnIoError) {
  std::filesystem::create_symlink(folder_ / "loop", folder_ / "loop");
  expect_error(ExitCode::kIo, {"loop"}, [&] { open_as(folder_ / "loop"); });
  write_file_atomically(folder_ / "a-file", "x");
  expect_error(ExitCode::kIo, {"a-file"}, [&] { open_as(folder_ / "a-file" / "ledger.jsonl"); });
}

TEST_F(LedgerFileTest, TheLockIsAsPublicAsTheLedger) {
  const mode_t before = ::umask(0002);
  { open(); }
  ::umask(before);
  for (const auto& file : {file_, lock_}) {
    struct stat status {};
    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0664u) << file;
  }
}

TEST_F(LedgerFileTest, ALockThatIsALinkIsRefused) {
  std::filesystem::create_symlink(folder_ / "elsewhere", lock_);
  expect_error(ExitCode::kIo, {"ledger.jsonl.lock", "Nothing was charged"}, [&] { open(); });
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

// Two processes with locks on two files of one name could spend the same budget.
TEST_F(LedgerFileTest, ALockThatWasDeletedWhileSomebodyWaitedIsNoLock) {
  auto first = std::make_optional(open());
  std::atomic<int> refusals{0};
  std::atomic<bool> in{false};
  std::thread waiter([&] {
    const Ledger third =
        Ledger::open(file_, "patients-2024", std::nullopt, std::chrono::minutes(5), [&] { ++refusals; });
    in = true;
  });
  const auto until = [&](int enough) {
    while (!in && refusals < enough) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  until(1);
  std::filesystem::remove(lock_);
  auto second = std::make_optional(open());
  first.reset();        // the waiter gets the lock of the file that has no name any more
  until(refusals + 2);  // one of the first lock may have been under way; the other is of the second
  EXPECT_FALSE(in);
  second.reset();
  waiter.join();
  EXPECT_TRUE(in);
}

TEST_F(LedgerFileTest, AChargeThatIsWrittenButNotBelievedIsToldToBeSpent) {
  ChargeTerms strange = terms(0.5);
  strange.sigma = std::numeric_limits<double>::quiet_NaN();  // which no reader accepts
  Ledger ledger = open();
  expect_error(ExitCode::kProtocol, {"stays spent", "nothing was drawn"}, [&] { ledger.begin(strange); });
  EXPECT_NE(read_file(file_).find("INTENT"), std::string::npos);
}

TEST_F(LedgerFileTest, ATornChargeOfAnotherUnitIsNotMendedAway) {
  ChargeTerms fifty = terms(0.25);
  fifty.unit.max_records_per_person = 50;
  { open().begin(terms(0.5)); }
  const LedgerState state = read_ledger(file_);
  const std::string line = ledger::render({state.lines, state.head, state.data_id, today(), "here",
                                           ledger::IntentLine{std::string(32, 'a'), fifty}});
  const std::string torn = read_file(file_) + line.substr(0, line.size() - 5);
  write_file_atomically(file_, torn);
  expect_error(ExitCode::kBudget, {"at most 50 records a person"}, [&] { open(); });
  EXPECT_EQ(read_file(file_), torn);
}

}  // namespace
}  // namespace muffle::privacy
