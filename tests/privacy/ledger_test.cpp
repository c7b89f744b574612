#include "muffle/privacy/ledger.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <optional>

#include "ledger_fixture.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "support/expect_error.hpp"

namespace muffle::privacy {
namespace {

using test::expect_error;

using LedgerTest = LedgerFixture;
const std::string kA(64, 'a'), kB(64, 'b');

TEST_F(LedgerTest, OneReleaseIsAnIntentAPendingAndACommit) {
  Ledger ledger = open(Budget::from_epsilon(1, 1e-5));
  const std::string id = release(ledger, terms(0.25), 'a');
  const LedgerState state = read_ledger(file_);
  EXPECT_EQ(state.lines, 4u);
  EXPECT_EQ(state.data_id, "patients-2024");
  ASSERT_EQ(state.charges.size(), 1u);
  EXPECT_EQ(state.charges[0].id, id);
  EXPECT_EQ(state.charges[0].terms.run, "/runs/a/release.mfl");
  EXPECT_EQ(state.charges[0].terms.mu, 0.25);
  EXPECT_EQ(state.charges[0].pending, kA);
  EXPECT_EQ(state.charges[0].artifact, kA);
  EXPECT_EQ(state.spent_squares, 0.0625);
  EXPECT_EQ(state.head, ledger.state().head);
  EXPECT_TRUE(state.torn.empty());
}

TEST_F(LedgerTest, LinesAreWhatTheDocumentsSay) {
  Ledger ledger = open(Budget{2, 1e-5, {}});
  release(ledger, terms(0.5), 'a');
  const std::string text = read_file(file_);
  const std::string intent =
      text.substr(text.find('\n') + 1, text.find('\n', text.find('\n') + 1) - text.find('\n') - 1);
  EXPECT_THAT(intent,
              ::testing::StartsWith(
                  R"({"format":"muffle-ledger","version":2,"seq":1,"prev":")" +
                  to_hex(sha256(PublicBytes(text.substr(0, text.find('\n'))))) +
                  R"(","kind":"INTENT","adjacency":"replace-one","max_records_per_person":1,"mu":0.5,)"));
  const auto own = intent.rfind(R"(,"sha256":")");
  EXPECT_EQ(intent.substr(own + 11, 64), to_hex(sha256(PublicBytes(intent.substr(0, own)))));
}

TEST_F(LedgerTest, APreviewSeesWhatOpenWouldAndWritesNothing) {
  const auto preview = [&](const std::optional<Budget>& budget = std::nullopt,
                           const std::string& id = "patients-2024") {
    return Ledger::preview(file_, id, budget);
  };
  EXPECT_EQ(preview(Budget{1, 1e-5, {}}).budget, (Budget{1, 1e-5, {}}));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  { open(Budget{1, 1e-5, {}}).begin(terms(0.5)); }
  const std::string before = read_file(file_);
  EXPECT_EQ(preview().spent_mu(), 0.5);
  EXPECT_EQ(preview().budget, (Budget{1, 1e-5, {}}));
  expect_error(ExitCode::kConfig, {"muffle ledger budget"}, [&] { preview(Budget{2, 1e-5, {}}); });
  expect_error(ExitCode::kProtocol, {"others"}, [&] { preview(std::nullopt, "others"); });
  // A torn INTENT counts here as it will after open() has mended it.
  write_file_atomically(file_, before.substr(0, before.size() - 5));
  EXPECT_EQ(preview().spent_mu(), 0.5);
  EXPECT_EQ(read_file(file_), before.substr(0, before.size() - 5));
  EXPECT_EQ(open().state().spent_mu(), 0.5);
}

TEST_F(LedgerTest, AnotherDataSetsLedgerIsRefused) {
  { open(); }
  expect_error(ExitCode::kProtocol, {"patients-2024", "others", "data.id"},
               [&] { open_as(file_, "others"); });
  for (const char* id : {"", "a b", "../x", ".hidden", "-flag", "a\nb", "a/b"}) {
    expect_error(ExitCode::kConfig, {"data set"}, [&] { open_as(file_, id); });
  }
}

TEST_F(LedgerTest, ChargesOfAnotherUnitOfPrivacyAreRefused) {
  Ledger ledger = open(Budget::from_epsilon(1.5, 1e-5));
  ChargeTerms add_remove = terms(0.25), fifty = terms(0.25);
  add_remove.unit.adjacency = Adjacency::kAddRemoveOne;
  fifty.unit.max_records_per_person = 50;
  release(ledger, terms(0.25), 'a');
  const std::string before = read_file(file_);
  expect_error(ExitCode::kBudget,
               {"patients-2024", "replace-one adjacency, at most 1 record a person", "add-remove-one",
                "Another ledger does not help", "Nothing was charged"},
               [&] { ledger.begin(add_remove); });
  expect_error(ExitCode::kBudget, {"at most 50 records a person"}, [&] { ledger.begin(fifty); });
  EXPECT_EQ(read_file(file_), before);
  EXPECT_EQ(ledger.state().unit, PrivacyUnit{});
  EXPECT_NO_THROW(ledger.begin(terms(0.1)));
}

TEST_F(LedgerTest, ATornFirstIntentKeepsItsUnit) {
  ChargeTerms fifty = terms(0.25);
  fifty.unit.max_records_per_person = 50;
  { open().begin(fifty); }
  const std::string whole = read_file(file_);
  write_file_atomically(file_, whole.substr(0, whole.size() - 5));
  EXPECT_EQ(Ledger::preview(file_, "patients-2024", std::nullopt).unit, fifty.unit);
  Ledger mended = open();
  EXPECT_EQ(mended.state().unit, fifty.unit);
  EXPECT_THROW(mended.begin(terms(0.25)), PrivacyError);
}

TEST_F(LedgerTest, CommitsThatCannotBeAreBugs) {
  Ledger ledger = open();
  const std::string id = release(ledger, terms(0.5), 'a');
  EXPECT_THROW(ledger.commit(id, kA), InvariantError);
  EXPECT_THROW(ledger.bind(id, kB), InvariantError);
  EXPECT_THROW(ledger.bind(std::string(32, '0'), kB), InvariantError);
  const std::string open_charge = ledger.begin(terms(0.5));
  EXPECT_THROW(ledger.commit(open_charge, kB), InvariantError) << "not bound";
  EXPECT_THROW(ledger.bind(open_charge, "not a hash"), InvariantError);
  ledger.bind(open_charge, kB);
  EXPECT_THROW(ledger.commit(open_charge, std::string(64, 'c')), InvariantError) << "bound to another";
}

// A job that comes back: which artifact it may use, and which it may not.

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
    cut_off.bind(id, kA);
  }
  Ledger ledger = open();
  EXPECT_TRUE(ledger.settle(terms(0.5), found(id, 'a')));
  EXPECT_EQ(ledger.state().charges[0].artifact, kA);
  EXPECT_EQ(ledger.state().spent_mu(), 0.5);
}

TEST_F(LedgerTest, WithoutAnArtifactANewReleaseIsANewCharge) {
  open(Budget{1, 1e-5, {}}).begin(terms(0.75));
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
  expect_error(ExitCode::kProtocol, {"/runs/a/release.mfl", kA, "SHA-256 none", "not drawn again"},
               [&] { open().settle(terms(0.5), std::nullopt); });
  expect_error(ExitCode::kProtocol, {kA, kB, id}, [&] { open().settle(terms(0.5), found(id, 'b')); });
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
    ledger.bind(bound, kA);
  }
  const std::string before = read_file(file_);
  expect_error(ExitCode::kProtocol, {unbound, "before it had made a release", "neither used nor signed"},
               [&] { open().settle(terms(0.5), found(unbound, 'b')); });
  expect_error(ExitCode::kProtocol, {bound, kA, kB}, [&] { open().settle(terms(0.25), found(bound, 'b')); });
  for (const std::string& id : {std::string(32, '7'), std::string()}) {
    expect_error(ExitCode::kProtocol, {"does not know", "nothing was charged", "mu 0.75"},
                 [&] { open().settle(terms(0.75), found(id, 'b')); });
  }
  EXPECT_EQ(read_file(file_), before);
  EXPECT_TRUE(open().settle(terms(0.25), found(bound, 'a'))) << "the one that was made for it is";
}

TEST_F(LedgerTest, AContributionsChargeSaysWhatIsLeftIfAllBetrayTheSiteAndWhenItsRoundWasReleased) {
  const std::string hash(64, 'a'), release(64, 'b');
  ChargeTerms asked = terms(0.25);
  asked.run = "round 17";
  asked.alone_mu = 0.5;
  {
    Ledger ledger = open();
    const std::string id = ledger.begin(asked);
    ledger.bind(id, hash);
    expect_error(ExitCode::kInvariant, {"not committed"}, [&] { ledger.note_release(id, release); });
    ledger.commit(id, hash);
    ledger.note_release(id, release);
    expect_error(ExitCode::kInvariant, {"twice"}, [&] { ledger.note_release(id, release); });
  }
  const LedgerState state = read_ledger(file_);
  ASSERT_EQ(state.charges_for("round 17").size(), 1u);
  EXPECT_TRUE(state.charges_for("round 18").empty());
  EXPECT_EQ(state.charges[0].terms.alone_mu, 0.5);
  EXPECT_EQ(state.charges[0].released, release);
  EXPECT_NEAR(state.spent_mu(), 0.25, 1e-12)
      << "the second figure decides nothing, nor does the release cost";
  EXPECT_NE(ledger_text(state).find("if everybody else betrays the site"), std::string::npos);
  asked.alone_mu = 0.1;  // less than the charge: nobody's betrayal helps
  Ledger ledger = open();
  expect_error(ExitCode::kProtocol, {"betrays"}, [&] { ledger.begin(asked); });
}

}  // namespace
}  // namespace muffle::privacy
