// A job that comes back: which artifact it may use, and which it may not.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "ledger_fixture.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "support/expect_error.hpp"

namespace muffle::privacy {
namespace {

using test::expect_error;

using LedgerTest = LedgerFixture;

TEST_F(LedgerTest, ARequeuedJobGetsTheCommittedBytes) {
  const std::string id = [&] {
    Ledger ledger = open();
    EXPECT_FALSE(ledger.settle(terms(0.5), std::nullopt)) << "nothing is there yet";
    return release(ledger, terms(0.5), 'a');
  }();
  const std::string before = read_file(file_);
  EXPECT_TRUE(open().settle(terms(0.5), found(id, 'a')));
  // The folder was moved or copied: still the same bytes.
  EXPECT_TRUE(open().settle(terms(0.5, "/elsewhere"), found(id, 'a')));
  EXPECT_EQ(read_file(file_), before) << "reuse costs nothing";
}

TEST_F(LedgerTest, AnArtifactThatWasNotCommittedIsCommittedNow) {
  std::string id;
  {
    Ledger cut_off = open();
    id = cut_off.begin(terms(0.5));
    cut_off.bind(id, std::string(64, 'a'));
  }
  Ledger ledger = open();
  EXPECT_TRUE(ledger.settle(terms(0.5), found(id, 'a')));
  EXPECT_EQ(ledger.state().charges[0].artifact, std::string(64, 'a'));
  EXPECT_EQ(ledger.state().spent_mu(), 0.5);
}

TEST_F(LedgerTest, WithoutAnArtifactANewReleaseIsANewCharge) {
  open(Budget::from_mu(1, 1e-5)).begin(terms(0.75));
  Ledger ledger = open();
  EXPECT_FALSE(ledger.settle(terms(0.5), std::nullopt));
  release(ledger, terms(0.5), 'a');
  EXPECT_EQ(ledger.state().spent_squares, 0.8125);
  expect_error(ExitCode::kBudget, {"in 2 charges"}, [&] { ledger.begin(terms(0.5)); });
}

TEST_F(LedgerTest, ACommittedArtifactThatIsGoneOrAnotherNamesBothHashes) {
  const std::string id = [&] {
    Ledger ledger = open();
    return release(ledger, terms(0.5), 'a');
  }();
  expect_error(ExitCode::kProtocol,
               {"/runs/a/release.mfl", std::string(64, 'a'), "SHA-256 none", "not drawn again"},
               [&] { open().settle(terms(0.5), std::nullopt); });
  expect_error(ExitCode::kProtocol, {std::string(64, 'a'), std::string(64, 'b'), id},
               [&] { open().settle(terms(0.5), found(id, 'b')); });
  EXPECT_FALSE(open().settle(terms(0.5, "/runs/b/release.mfl"), std::nullopt)) << "another run";
}

TEST_F(LedgerTest, AnArtifactOfOtherSettingsIsNotCommitted) {
  const std::string id = open().begin(terms(0.5));
  ChargeTerms other = terms(0.5);
  other.config_hash[0] = 'd';
  expect_error(ExitCode::kProtocol, {"other settings", other.config_hash},
               [&] { open().settle(other, found(id, 'a')); });
  expect_error(ExitCode::kProtocol, {"other settings", "0.6"},
               [&] { open().settle(terms(0.6), found(id, 'a')); });
  EXPECT_FALSE(read_ledger(file_).charges[0].artifact);
}

// Somebody with write access to the run folder alone puts a file there that nobody drew.
TEST_F(LedgerTest, AnArtifactThatNoChargeIsBoundToIsNotAdopted) {
  std::string unbound, bound;
  {
    Ledger ledger = open();
    unbound = ledger.begin(terms(0.5));
    bound = ledger.begin(terms(0.25));
    ledger.bind(bound, std::string(64, 'a'));
  }
  const std::string before = read_file(file_);
  expect_error(ExitCode::kProtocol, {unbound, "before it had made a release", "neither used nor signed"},
               [&] { open().settle(terms(0.5), found(unbound, 'b')); });
  expect_error(ExitCode::kProtocol, {bound, std::string(64, 'a'), std::string(64, 'b')},
               [&] { open().settle(terms(0.25), found(bound, 'b')); });
  for (const std::string& id : {std::string(32, '7'), std::string()}) {
    expect_error(ExitCode::kProtocol, {"does not know", "nothing was charged", "mu 0.75"},
                 [&] { open().settle(terms(0.75), found(id, 'b')); });
  }
  EXPECT_EQ(read_file(file_), before);
  EXPECT_TRUE(open().settle(terms(0.25), found(bound, 'a'))) << "the one that was made for it is";
}

}  // namespace
}  // namespace muffle::privacy
