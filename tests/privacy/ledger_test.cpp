#include "muffle/privacy/ledger.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "ledger_fixture.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/privacy/accountant.hpp"
#include "privacy/expect_error.hpp"
#include "privacy/ledger_file.hpp"

namespace muffle::privacy {
namespace {

using ::testing::HasSubstr;
using testing_support::expect_error;

using LedgerTest = LedgerFixture;

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
  EXPECT_EQ(state.charges[0].pending, std::string(64, 'a'));
  EXPECT_EQ(state.charges[0].artifact, std::string(64, 'a'));
  EXPECT_EQ(state.spent_squares, 0.0625);
  EXPECT_EQ(state.head, ledger.state().head);
  EXPECT_TRUE(state.torn.empty());
}

TEST_F(LedgerTest, AnIntentCountsWithoutItsCommit) {
  { open().begin(terms(0.5)); }
  EXPECT_EQ(read_ledger(file_).spent_mu(), 0.5);
  EXPECT_FALSE(read_ledger(file_).charges[0].artifact.has_value());
}

TEST_F(LedgerTest, TheIntentIsInTheFileWhenBeginReturns) {
  Ledger ledger = open();
  const std::string id = ledger.begin(terms(0.5));
  EXPECT_NE(read_ledger(file_).find_charge(id), nullptr);
}

TEST_F(LedgerTest, LinesAreWhatTheDocumentsSay) {
  Ledger ledger = open(Budget::from_mu(2, 1e-5));
  release(ledger, terms(0.5), 'a');
  const std::string text = read_file(file_);
  const std::string intent =
      text.substr(text.find('\n') + 1, text.find('\n', text.find('\n') + 1) - text.find('\n') - 1);
  EXPECT_THAT(intent,
              ::testing::StartsWith(
                  R"({"format":"muffle-ledger","version":2,"seq":1,"prev":")" +
                  to_hex(sha256(text.substr(0, text.find('\n')))) +
                  R"(","kind":"INTENT","adjacency":"replace-one","max_records_per_person":1,"mu":0.5,)"));
  const auto own = intent.rfind(R"(,"sha256":")");
  EXPECT_EQ(intent.substr(own + 11, 64), to_hex(sha256(intent.substr(0, own))));
}

TEST_F(LedgerTest, SpentOnlyGrowsAndIsNeverBelowTheExactSum) {
  Ledger ledger = open();
  double before = 0;
  long double exact = 0;
  for (int i = 1; i <= 60; ++i) {
    const double mu = 0.1 / i;
    ledger.begin(terms(mu));
    exact += static_cast<long double>(mu) * mu;
    EXPECT_GT(ledger.state().spent_squares, before);
    EXPECT_GE(static_cast<long double>(ledger.state().spent_squares), exact);
    before = ledger.state().spent_squares;
  }
  EXPECT_NEAR(before, static_cast<double>(exact), 1e-15);
}

TEST_F(LedgerTest, ABudgetOfOneReleaseAllowsThatRelease) {
  for (const double epsilon : {0.2, 0.5, 1.0, 2.0, 5.0, 10.0}) {
    PrivacySpec spec;
    spec.epsilon = epsilon;
    spec.max_records_per_person = 1;
    SensitivityInput input;
    input.blocks.push_back({1.0, false, "unit"});
    const double mu = mu_of(plan_noise(spec, input, {{{{1, 0x1p24}}, 1}}));
    LedgerState state;
    state.budget = Budget::from_epsilon(epsilon, 1e-5);
    EXPECT_TRUE(quote(state, mu, true, 1e-5).allowed) << epsilon;
    // Two of them do not fit.
    state.spent_squares = mu * mu;
    EXPECT_FALSE(quote(state, mu, true, 1e-5).allowed) << epsilon;
  }
}

TEST_F(LedgerTest, MuIsOfTheNoiseThatIsDrawnRoundedUp) {
  NoisePlan plan;
  plan.sensitivity.value = 2.0;
  plan.parts = {{{{1, 0x1p24, std::uint64_t{3} << 24}}, 1}};
  EXPECT_GE(static_cast<long double>(mu_of(plan)), 2.0L / 3.0L);
  EXPECT_LE(mu_of(plan), next_up(2.0 / 3.0));
  plan.parts = {{{{1, 0x1p24, std::uint64_t{4} << 24}}, 1}};
  EXPECT_EQ(mu_of(plan), 0.5);
  // Of several runs the least noisy one counts: the others are post-processing of it.
  plan.parts.push_back({{{7, 0x1p20, std::uint64_t{5} << 20}, {1, 0x1p10, std::uint64_t{3} << 10}}, 2});
  EXPECT_GE(static_cast<long double>(mu_of(plan)), 2.0L / 3.0L);
  EXPECT_LE(mu_of(plan), next_up(2.0 / 3.0));
}

TEST_F(LedgerTest, TheBoundaryIsDecidedAgainstTheAsker) {
  LedgerState state;
  state.budget = Budget::from_mu(1.0, 1e-5);
  EXPECT_TRUE(quote(state, 1.0, true, 1e-5).allowed) << "exactly the budget fits";
  EXPECT_FALSE(quote(state, next_up(1.0), true, 1e-5).allowed) << "one ulp more does not";
  state.spent_squares = 0.75;
  EXPECT_TRUE(quote(state, 0.5, true, 1e-5).allowed);
  EXPECT_FALSE(quote(state, next_up(0.5), true, 1e-5).allowed);
  // sqrt(1/2) as a double is above the real one: twice that is above 1.
  state.spent_squares = multiply_up(std::sqrt(0.5), std::sqrt(0.5));
  EXPECT_FALSE(quote(state, std::sqrt(0.5), true, 1e-5).allowed);
  state.spent_squares = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(quote(state, 0.1, true, 1e-5).allowed) << "NaN spends everything";
}

TEST_F(LedgerTest, WhatRemainsFits) {
  for (const double spent : {0.0, 0.1, 1.0 / 3, 0.9999}) {
    LedgerState state;
    state.budget = Budget::from_mu(1.1, 1e-5);
    state.spent_squares = spent;
    const double remaining = *quote(state, 0.5, true, 1e-5).remaining_mu;
    EXPECT_TRUE(quote(state, remaining, true, 1e-5).allowed) << spent;
    EXPECT_FALSE(quote(state, remaining * (1 + 1e-12), true, 1e-5).allowed) << spent;
  }
}

TEST_F(LedgerTest, ARefusalShowsTheArithmeticAndChargesNothing) {
  Ledger ledger = open(Budget::from_epsilon(1, 1e-5));
  const double mu = 1 / noise_multiplier_for(0.5, 1e-5);
  release(ledger, terms(mu), 'a');
  const std::string before = read_file(file_);
  // mu(0.5) = 0.142211, mu(0.9) from the accountant, budget mu(1) = 0.268051.
  const double asked = 1 / noise_multiplier_for(0.9, 1e-5);
  expect_error<PrivacyError>(
      [&] { ledger.begin(terms(asked)); }, ExitCode::kBudget,
      {"patients-2024", "spent so far mu 0.142211 (epsilon 0.5 at delta 1e-05) in 1 charge",
       "asks for mu 0.24", "(epsilon 0.9 at delta 1e-05)", "together mu 0.28",
       "the budget is mu 0.268051 (epsilon 1 at delta 1e-05)", "before this release there remains mu 0.22",
       "noise multiplier of 4.40", "Nothing was charged", "ledger.jsonl"});
  EXPECT_EQ(read_file(file_), before);
}

TEST_F(LedgerTest, MuThatIsNoMuIsRefused) {
  Ledger ledger = open();
  const std::string before = read_file(file_);
  for (const double mu : {0.0, -1.0, 1e-8, 1e5, std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::infinity()}) {
    expect_error<ConfigError>([&] { ledger.begin(terms(mu)); }, ExitCode::kConfig,
                              {"mu", "Nothing was charged"});
    expect_error<ConfigError>([&] { Budget::from_mu(mu, 1e-5); }, ExitCode::kConfig, {"budget"});
  }
  for (const double delta : {0.0, 1.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    expect_error<ConfigError>([&] { Budget::from_mu(1, delta); }, ExitCode::kConfig, {"delta"});
    expect_error<ConfigError>([&] { Budget::from_epsilon(1, delta); }, ExitCode::kConfig, {"delta"});
  }
  EXPECT_EQ(read_file(file_), before);
}

TEST_F(LedgerTest, SeededNoiseFitsIntoNoBudgetAndIsRememberedWithoutOne) {
  ChargeTerms seeded = terms(0.001);
  seeded.secure_noise = false;
  {
    Ledger ledger = open();
    ledger.begin(seeded);
    EXPECT_EQ(ledger.state().insecure, 1u);
    EXPECT_THAT(quote(ledger.state(), 0.1, true, 1e-5).text, HasSubstr("NO guarantee"));
  }
  Ledger ledger = open(Budget::from_mu(1, 1e-5));
  expect_error<PrivacyError>([&] { ledger.begin(terms(0.001)); }, ExitCode::kBudget, {"seeded"});
}

TEST_F(LedgerTest, ABudgetIsRecordedOnceAndHolds) {
  { open(); }
  { open(Budget::from_epsilon(1, 1e-5)); }
  EXPECT_EQ(read_ledger(file_).budget, Budget::from_epsilon(1, 1e-5));
  { open(Budget::from_epsilon(1, 1e-5)); }
  EXPECT_EQ(read_ledger(file_).lines, 2u) << "the same budget is not written again";
  // Leaving the budget out of the configuration does not lift it.
  expect_error<PrivacyError>([&] { open().begin(terms(1.0)); }, ExitCode::kBudget, {"budget"});
  for (const double epsilon : {0.5, 2.0}) {
    expect_error<ConfigError>([&] { open(Budget::from_epsilon(epsilon, 1e-5)); }, ExitCode::kConfig,
                              {"patients-2024", "epsilon 1", "muffle ledger budget"});
  }
  open().set_budget(Budget::from_mu(3, 1e-5));
  EXPECT_NO_THROW(open().begin(terms(1.0)));
}

TEST_F(LedgerTest, APreviewSeesWhatOpenWouldAndWritesNothing) {
  const auto preview = [&](const std::optional<Budget>& budget = std::nullopt,
                           const std::string& id = "patients-2024") {
    return Ledger::preview(file_, id, budget);
  };
  EXPECT_EQ(preview(Budget::from_mu(1, 1e-5)).budget, Budget::from_mu(1, 1e-5));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  { open(Budget::from_mu(1, 1e-5)).begin(terms(0.5)); }
  const std::string before = read_file(file_);
  EXPECT_EQ(preview().spent_mu(), 0.5);
  EXPECT_EQ(preview().budget, Budget::from_mu(1, 1e-5));
  expect_error<ConfigError>([&] { preview(Budget::from_mu(2, 1e-5)); }, ExitCode::kConfig,
                            {"muffle ledger budget"});
  expect_error<ProtocolError>([&] { preview(std::nullopt, "others"); }, ExitCode::kProtocol, {"others"});
  // A torn INTENT counts here as it will after open() has mended it.
  write_file_atomically(file_, before.substr(0, before.size() - 5));
  EXPECT_EQ(preview().spent_mu(), 0.5);
  EXPECT_EQ(read_file(file_), before.substr(0, before.size() - 5));
  EXPECT_EQ(open().state().spent_mu(), 0.5);
}

TEST_F(LedgerTest, AnotherDataSetsLedgerIsRefused) {
  { open(); }
  expect_error<ProtocolError>([&] { Ledger::open(file_, "others", std::nullopt, std::chrono::seconds(1)); },
                              ExitCode::kProtocol, {"patients-2024", "others", "data.id"});
  for (const char* id : {"", "a b", "../x", ".hidden", "-flag", "a\nb", "a/b"}) {
    expect_error<ConfigError>([&] { Ledger::open(file_, id, std::nullopt, std::chrono::seconds(1)); },
                              ExitCode::kConfig, {"data set"});
  }
}

TEST_F(LedgerTest, ARequeuedJobGetsTheCommittedBytes) {
  const std::string id = [&] {
    Ledger ledger = open();
    EXPECT_FALSE(ledger.settle(terms(0.5), std::nullopt)) << "nothing is there yet";
    return release(ledger, terms(0.5), 'a');
  }();
  const std::string before = read_file(file_);
  EXPECT_TRUE(open().settle(terms(0.5), found(id, 'a', terms(0.5))));
  // The folder was moved or copied: still the same bytes.
  EXPECT_TRUE(open().settle(terms(0.5, "/elsewhere"), found(id, 'a', terms(0.5, "/elsewhere"))));
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
  EXPECT_TRUE(ledger.settle(terms(0.5), found(id, 'a', terms(0.5))));
  EXPECT_EQ(ledger.state().charges[0].artifact, std::string(64, 'a'));
  EXPECT_EQ(ledger.state().spent_mu(), 0.5);
}

TEST_F(LedgerTest, WithoutAnArtifactANewReleaseIsANewCharge) {
  open(Budget::from_mu(1, 1e-5)).begin(terms(0.75));
  Ledger ledger = open();
  EXPECT_FALSE(ledger.settle(terms(0.5), std::nullopt));
  release(ledger, terms(0.5), 'a');
  EXPECT_EQ(ledger.state().spent_squares, 0.8125);
  expect_error<PrivacyError>([&] { ledger.begin(terms(0.5)); }, ExitCode::kBudget, {"in 2 charges"});
}

TEST_F(LedgerTest, ACommittedArtifactThatIsGoneOrAnotherNamesBothHashes) {
  const std::string id = [&] {
    Ledger ledger = open();
    return release(ledger, terms(0.5), 'a');
  }();
  expect_error<ProtocolError>(
      [&] { open().settle(terms(0.5), std::nullopt); }, ExitCode::kProtocol,
      {"/runs/a/release.mfl", std::string(64, 'a'), "SHA-256 none", "not drawn again"});
  expect_error<ProtocolError>([&] { open().settle(terms(0.5), found(id, 'b', terms(0.5))); },
                              ExitCode::kProtocol, {std::string(64, 'a'), std::string(64, 'b'), id});
  EXPECT_FALSE(open().settle(terms(0.5, "/runs/b/release.mfl"), std::nullopt)) << "another run";
}

TEST_F(LedgerTest, AnArtifactOfOtherSettingsIsNotCommitted) {
  const std::string id = open().begin(terms(0.5));
  ChargeTerms other = terms(0.5);
  other.config_hash[0] = 'd';
  expect_error<ProtocolError>([&] { open().settle(other, found(id, 'a', other)); }, ExitCode::kProtocol,
                              {"other settings", other.config_hash});
  expect_error<ProtocolError>([&] { open().settle(terms(0.5), found(id, 'a', terms(0.6))); },
                              ExitCode::kProtocol, {"other settings", "0.6"});
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
  expect_error<ProtocolError>([&] { open().settle(terms(0.5), found(unbound, 'b', terms(0.5))); },
                              ExitCode::kProtocol,
                              {unbound, "before it had made a release", "neither used nor signed"});
  expect_error<ProtocolError>([&] { open().settle(terms(0.25), found(bound, 'b', terms(0.25))); },
                              ExitCode::kProtocol, {bound, std::string(64, 'a'), std::string(64, 'b')});
  for (const std::string& id : {std::string(32, '7'), std::string()}) {
    expect_error<ProtocolError>([&] { open().settle(terms(0.75), found(id, 'b', terms(0.75))); },
                                ExitCode::kProtocol, {"does not know", "nothing was charged", "mu 0.75"});
  }
  EXPECT_EQ(read_file(file_), before);
  EXPECT_TRUE(open().settle(terms(0.25), found(bound, 'a', terms(0.25))))
      << "the one that was made for it is";
}

TEST_F(LedgerTest, ChargesOfAnotherUnitOfPrivacyAreRefused) {
  Ledger ledger = open(Budget::from_epsilon(1.5, 1e-5));
  ChargeTerms add_remove = terms(0.25), fifty = terms(0.25);
  add_remove.unit.adjacency = Adjacency::kAddRemoveOne;
  fifty.unit.max_records_per_person = 50;
  release(ledger, terms(0.25), 'a');
  const std::string before = read_file(file_);
  expect_error<PrivacyError>([&] { ledger.begin(add_remove); }, ExitCode::kBudget,
                             {"patients-2024", "replace-one adjacency, at most 1 record a person",
                              "add-remove-one", "Another ledger does not help", "Nothing was charged"});
  expect_error<PrivacyError>([&] { ledger.begin(fifty); }, ExitCode::kBudget,
                             {"at most 50 records a person"});
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

TEST_F(LedgerTest, SaysWhetherItHadToMakeTheFile) {
  EXPECT_TRUE(open().created());
  EXPECT_FALSE(open().created());
}

TEST_F(LedgerTest, ASecondNameOfTheFileIsRefused) {
  { open(); }
  std::filesystem::create_hard_link(file_, folder_ / "other.jsonl");
  for (const auto& name : {file_, folder_ / "other.jsonl"}) {
    expect_error<ProtocolError>(
        [&] { Ledger::open(name, "patients-2024", std::nullopt, std::chrono::seconds(1)); },
        ExitCode::kProtocol, {name.string(), "2 names", "hard links", "Nothing was charged"});
  }
  std::filesystem::remove(folder_ / "other.jsonl");
  // What a crash while the ledger was created leaves.
  std::filesystem::create_hard_link(file_, file_.string() + ".new");
  EXPECT_NO_THROW(open());
}

TEST_F(LedgerTest, CommitsThatCannotBeAreBugs) {
  Ledger ledger = open();
  const std::string id = release(ledger, terms(0.5), 'a');
  EXPECT_THROW(ledger.commit(id, std::string(64, 'a')), InvariantError);
  EXPECT_THROW(ledger.bind(id, std::string(64, 'b')), InvariantError);
  EXPECT_THROW(ledger.bind(std::string(32, '0'), std::string(64, 'b')), InvariantError);
  const std::string open_charge = ledger.begin(terms(0.5));
  EXPECT_THROW(ledger.commit(open_charge, std::string(64, 'b')), InvariantError) << "not bound";
  EXPECT_THROW(ledger.bind(open_charge, "not a hash"), InvariantError);
  ledger.bind(open_charge, std::string(64, 'b'));
  EXPECT_THROW(ledger.commit(open_charge, std::string(64, 'c')), InvariantError) << "bound to another";
}

TEST_F(LedgerTest, WhoWaitsTooLongIsToldWhoHoldsTheLock) {
  const Ledger holder = open();
  expect_error<CommError>([&] { open(std::nullopt, 50); }, ExitCode::kPeer,
                          {"ledger.jsonl.lock", "process " + std::to_string(::getpid()) + " on ", "since 2"});
}

TEST_F(LedgerTest, WhatStandsInTheLockIsShownWithoutControlCharacters) {
  const Ledger holder = open();
  { std::ofstream(file_.string() + ".lock") << "\x1b[2Jevil \xc2\x9b\x07\n"; }
  try {
    open(std::nullopt, 50);
    FAIL() << "the lock was had twice";
  } catch (const CommError& e) {
    EXPECT_THAT(e.what(), HasSubstr("held by ?[2Jevil ??,"));
  }
}

TEST_F(LedgerTest, ALinkLeadsToTheSameLock) {
  { open(); }
  std::filesystem::create_symlink(file_, folder_ / "link.jsonl");
  const Ledger holder = open();
  EXPECT_THROW(
      Ledger::open(folder_ / "link.jsonl", "patients-2024", std::nullopt, std::chrono::milliseconds(20)),
      CommError);
}

TEST_F(LedgerTest, WritingInSpiteOfTheLockIsNoticed) {
  Ledger ledger = open();
  write_file_atomically(file_, read_file(file_) + "x");
  expect_error<ProtocolError>([&] { ledger.begin(terms(0.5)); }, ExitCode::kProtocol,
                              {"Locks do not seem to work"});
}

TEST_F(LedgerTest, AFullDiskChargesNothingAndLeavesNoHalfLine) {
  Ledger ledger = open(Budget::from_mu(1, 1e-5));
  const std::string before = read_file(file_);
  // A limit on the file's size cuts the write short, as a full disk does.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit old{}, low{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  low = old;
  low.rlim_cur = before.size() + 100;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  expect_error<IoError>([&] { ledger.begin(terms(0.5)); }, ExitCode::kIo,
                        {"ledger.jsonl", "space", "not added"});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_EQ(read_file(file_), before);
  EXPECT_NO_THROW(ledger.begin(terms(0.5))) << "and when there is space again it goes on";
}

TEST_F(LedgerTest, CreatingNeverReplacesALedger) {
  { open(); }
  const std::string before = read_file(file_);
  // As if this machine's cache of a network folder had not shown the file.
  ledger::create_with_line(file_, "another first line");
  EXPECT_EQ(read_file(file_), before);
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".new"));
}

TEST_F(LedgerTest, AnUnwritableFolderIsAnIoError) {
  std::filesystem::create_symlink(folder_ / "loop", folder_ / "loop");
  expect_error<IoError>([&] { Ledger::open(folder_ / "loop", "x", std::nullopt, std::chrono::seconds(1)); },
                        ExitCode::kIo, {"loop"});
  write_file_atomically(folder_ / "a-file", "x");
  expect_error<IoError>(
      [&] { Ledger::open(folder_ / "a-file" / "ledger.jsonl", "x", std::nullopt, std::chrono::seconds(1)); },
      ExitCode::kIo, {"a-file"});
}

}  // namespace
}  // namespace muffle::privacy
