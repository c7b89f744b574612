// The ledger's file and its lock.
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <limits>
#include <optional>
#include <thread>

#include "ledger_fixture.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "privacy/expect_error.hpp"
#include "privacy/ledger_entry.hpp"

namespace muffle::privacy {
namespace {

using testing_support::expect_error;

class LedgerFileTest : public LedgerFixture {
 protected:
  std::filesystem::path lock() const { return file_.string() + ".lock"; }
};

TEST_F(LedgerFileTest, TheLockIsAsPublicAsTheLedger) {
  const mode_t before = ::umask(0002);
  { open(); }
  ::umask(before);
  for (const auto& file : {file_, lock()}) {
    struct stat status {};
    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0664u) << file;
  }
}

TEST_F(LedgerFileTest, ALockThatIsALinkIsRefused) {
  std::filesystem::create_symlink(folder_ / "elsewhere", lock());
  expect_error<IoError>([&] { open(); }, ExitCode::kIo, {"ledger.jsonl.lock", "Nothing was charged"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

// Two processes with locks on two files of one name could spend the same budget.
TEST_F(LedgerFileTest, ALockThatWasDeletedWhileSomebodyWaitedIsNoLock) {
  auto first = std::make_optional(open());
  std::atomic<bool> in{false};
  std::thread waiter([&] {
    const Ledger third = open(std::nullopt, 60'000);
    in = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::filesystem::remove(lock());
  auto second = std::make_optional(open());
  first.reset();  // the waiter gets the lock of the file that has no name any more
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_FALSE(in);
  second.reset();
  waiter.join();
  EXPECT_TRUE(in);
}

TEST_F(LedgerFileTest, AChargeThatIsWrittenButNotBelievedIsToldToBeSpent) {
  ChargeTerms strange = terms(0.5);
  strange.sigma = std::numeric_limits<double>::quiet_NaN();  // which no reader accepts
  Ledger ledger = open();
  expect_error<Error>([&] { ledger.begin(strange); }, ExitCode::kProtocol,
                      {"stays spent", "nothing was drawn"});
  EXPECT_NE(read_file(file_).find("INTENT"), std::string::npos);
}

TEST_F(LedgerFileTest, ATornChargeOfAnotherUnitIsNotMendedAway) {
  ChargeTerms fifty = terms(0.25);
  fifty.unit.max_records_per_person = 50;
  { open().begin(terms(0.5)); }
  const LedgerState state = read_ledger(file_);
  const std::string line = ledger::render({state.lines, state.head, state.data_id, ledger::utc_now(), "here",
                                           ledger::IntentLine{std::string(32, 'a'), fifty}});
  const std::string torn = read_file(file_) + line.substr(0, line.size() - 5);
  write_file_atomically(file_, torn);
  expect_error<PrivacyError>([&] { open(); }, ExitCode::kBudget, {"at most 50 records a person"});
  EXPECT_EQ(read_file(file_), torn);
}

}  // namespace
}  // namespace muffle::privacy
