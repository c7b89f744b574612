// Each rule of a site's policy: kept, waiting and broken.
#include "muffle/site/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "site/small_consortium.hpp"
#include "support/expect_error.hpp"
#include "support/maps.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::site {
namespace {

using release::DeclineCode;
using release::Proposal;
using test::SmallConsortium;
using Answer = Verdict::Answer;
using Outcome = Ruling::Outcome;

/// A map whose records are summed with LibTorch, if there were one, by a network if it names one.
struct TorchMap : features::FeatureMap {
  explicit TorchMap(features::Asset made_by) : network(std::move(made_by)) {}
  std::string_view kind() const override { return "torch"; }
  std::unique_ptr<FeatureMap> clone() const override { return std::make_unique<TorchMap>(network); }
  void declare(settings::Keys&) override {}
  void resolve(const schema::Schema&) override {}
  nlohmann::json to_json() const override { return {}; }
  void read_json(const JsonFields&) override {}
  std::size_t dims() const override { return 1; }
  std::size_t features() const override { return 1; }
  features::BlockBound bound() const override { return {}; }
  features::PlainFacts plain_facts(const features::Lattice&) const override { return {}; }
  features::MapCost cost() const override { return {}; }
  double numbers_in_map() const override { return 0; }
  std::string hash() const override { return ""; }
  std::unique_ptr<features::Block> make_block(const features::Lattice&) const override { return nullptr; }
  bool needs_torch() const override { return true; }
  features::Asset* asset() override { return network.digest.empty() ? nullptr : &network; }

  features::Asset network;
};

constexpr std::uint64_t kDay = 20'784;  ///< 27 November 2026

/// NORTH, who has pinned everybody, and asks what the defaults ask.
class PolicyTest : public ::testing::Test {
 protected:
  PolicyTest() : proposal(all.proposal()) {
    pins.coordinator = crypto::SignerKey{"TRIAL", all.trial.public_key()};
    for (std::size_t i = 1; i < all.sites.size(); ++i)
      pins.peers.push_back({all.sites[i].name(), all.sites[i].public_key()});
    charters.emplace_back(all.charter, "charter");
  }

  Verdict verdict() {
    release::ProposedRound round = all.round(proposal);
    if (stepped)
      round.proposal.plan.maps.at(0).map =
          test::make_map("decoder-step", {{"coefficients", "2"}}, test::schema_of({1, 4, 4}));
    if (needs_torch) round.proposal.plan.maps.at(0).map = std::make_shared<TorchMap>(network);
    for (const crypto::SiteKey& person : people)
      approvals.push_back(
          release::sign(release::approval_of(round, all.sites[0].public_key(), kDay), person));
    return policy_verdict(policy, pins,
                          {round,
                           {"NORTH", all.sites[0].public_key()},
                           charters,
                           all.round_keys,
                           approvals,
                           ledger,
                           with_torch,
                           taking_part,
                           now,
                           find_networks(round.proposal.plan.maps, network_files)});
  }
  /// This rule alone is not kept.
  void expect(const std::string& rule, Outcome outcome, Answer answer,
              DeclineCode code = DeclineCode::kPolicy) {
    const Verdict v = verdict();
    for (const Ruling& r : v.rulings)
      EXPECT_EQ(r.outcome, r.rule == rule ? outcome : Outcome::kKept) << r.rule << ": " << r.text;
    EXPECT_EQ(v.answer, answer) << v.why();
    if (answer == Answer::kDecline) {
      EXPECT_EQ(v.code, code);
    }
    EXPECT_THAT(v.why(), ::testing::HasSubstr(rule));
  }
  void expect_broken(const std::string& rule, DeclineCode code = DeclineCode::kPolicy) {
    expect(rule, Outcome::kBroken, Answer::kDecline, code);
  }
  std::string text_of(const std::string& rule) {
    const Verdict v = verdict();
    return std::ranges::find(v.rulings, rule, &Ruling::rule)->text;
  }
  void expect_waits(const std::string& rule) { expect(rule, Outcome::kWaits, Answer::kWait); }

  SmallConsortium all;
  Proposal proposal;
  Policy policy;
  Pins pins;
  std::vector<release::Consortium> charters;
  std::vector<crypto::SiteKey> people;
  std::vector<release::SignedHeader> approvals;
  privacy::LedgerState ledger;
  bool needs_torch = false, with_torch = true, stepped = false;
  features::Asset network;                 ///< of the round's map
  std::vector<std::string> network_files;  ///< of the site
  std::vector<std::size_t> taking_part;
  std::uint64_t now = 1'800'000'000 - 14 * 86'400;  ///< two weeks before contributions end
};

TEST_F(PolicyTest, SaysYesToWhatItsDefaultsAllow) {
  const Verdict v = verdict();
  EXPECT_EQ(v.answer, Answer::kYes) << v.why();
  EXPECT_EQ(v.why(), "");
}

TEST_F(PolicyTest, DeadlinesAreNotYearsAhead) {
  proposal.open_until = now + 90 * 86'400;
  EXPECT_EQ(verdict().answer, Answer::kYes);
  ++proposal.open_until;
  expect_broken("deadlines");
  policy.longest_days = 91;
  EXPECT_EQ(verdict().answer, Answer::kYes);
  proposal.open_until = 253'402'300'799;  // the year 9999
  expect_broken("deadlines");
}

TEST_F(PolicyTest, AProgramWithoutLibTorchDeclinesMapsThatNeedItWithACodeOfItsOwn) {
  needs_torch = true;
  EXPECT_EQ(verdict().answer, Answer::kYes);
  with_torch = false;
  expect_broken("program", DeclineCode::kNeedsTorch);
  EXPECT_THAT(verdict().why(), ::testing::HasSubstr("`muffle site step`"));
  needs_torch = false;
  EXPECT_EQ(verdict().answer, Answer::kYes);
}

TEST_F(PolicyTest, MapsThatGoOnStepByStepAreDeclined) {
  stepped = true;
  expect_broken("steps");
  EXPECT_THAT(verdict().why(), ::testing::HasSubstr("rounds of one job"));
  stepped = false;
  EXPECT_EQ(verdict().answer, Answer::kYes);
}

/// Whatever the proposal calls it: found by size and hash among the files that the site itself names.
TEST_F(PolicyTest, ANetworkThatTheRoundIsMadeByMustBeAFileOfTheSites) {
  const test::TemporaryFolder folder;
  const auto written = [&](const char* name, const std::string& text) {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  };
  const std::string good = written("good.pt", "network"), other = written("other.pt", "NETWORK"),
                    longer = written("longer.pt", "a network");
  network_files = {"/nonexistent.pt"};
  EXPECT_EQ(verdict().answer, Answer::kYes) << "no map is made by one: nothing is opened";
  needs_torch = true;
  network = {sha256_file_hex(PublicFile(good)), 7, "MIT", good};  // a path that is not the site's word
  network_files.clear();
  expect_waits("networks");
  EXPECT_THAT(verdict().why(), ::testing::AllOf(::testing::HasSubstr(network.digest),
                                                ::testing::HasSubstr("7 bytes, licence MIT")));
  network_files = {other, longer, "/nonexistent.pt", folder.path().string()};
  expect_waits("networks");
  EXPECT_THAT(verdict().why(), ::testing::AllOf(::testing::HasSubstr("'" + other + "' is another file"),
                                                ::testing::HasSubstr("'" + longer + "' is another file"),
                                                ::testing::HasSubstr("cannot read '/nonexistent.pt'"),
                                                ::testing::HasSubstr("not a regular file")));
  network_files.push_back(good);
  EXPECT_EQ(verdict().answer, Answer::kYes) << verdict().why();
  EXPECT_EQ(find_networks(all.round(proposal).proposal.plan.maps, network_files).files.size(), 0u);
  with_torch = false;
  expect_broken("program", DeclineCode::kNeedsTorch);
}

TEST_F(PolicyTest, TheCoordinatorIsTheOneThatIsPinned) {
  pins.coordinator->key = all.sites[2].public_key();
  expect_broken("coordinator");
  pins.coordinator.reset();
  expect_waits("coordinator");
}

TEST_F(PolicyTest, EverybodyIsAMemberByTheCharterThatTheProposalNames) {
  charters.clear();
  expect_waits("charter");
  charters.emplace_back(all.charter, "charter");
  proposal.charter = {};
  expect_broken("charter");
}

TEST_F(PolicyTest, ASiteThatNoCharterHasIsRefused) {
  proposal.sites[2].name = "EAST";
  expect_broken("charter");
}

TEST_F(PolicyTest, AMemberPlaysItsOwnRoles) {
  // WEST's card says that it holds records alone.
  all.cards[3] = SmallConsortium::said(all.sites[2], release::MessageKind::kCard,
                                       body_of(release::Card{.name = "WEST", .site = true}));
  all.charter = SmallConsortium::said(
      all.trial, release::MessageKind::kCharter,
      body_of(release::Charter{.title = "stays", .admission = "by telephone", .cards = all.cards}));
  charters.clear();
  charters.emplace_back(all.charter, "charter");
  proposal.charter = all.charter.id();
  expect_broken("charter");
}

TEST_F(PolicyTest, ALaterCharterRevokes) {
  release::Charter next{
      .title = "stays", .version = 2, .previous = all.charter.id(), .admission = "by telephone"};
  next.cards = {all.cards.begin(), all.cards.end() - 1};
  next.revoked = {all.sites[2].public_key()};
  charters.emplace_back(SmallConsortium::said(all.trial, release::MessageKind::kCharter, body_of(next)),
                        "charter");
  expect_broken("charter");
}

/// In a later round of a release it matters who is in the first one's seal.
TEST_F(PolicyTest, WhoHasNoPartInTheReleaseNeedsToBeNoMember) {
  const auto left = crypto::SiteKey::generate("LEFT");
  proposal.sites.push_back({"LEFT", left.public_key()});
  ++proposal.parties.sites;
  pins.peers.push_back({"LEFT", left.public_key()});
  expect_broken("charter");
  taking_part = {0, 1, 2};
  EXPECT_EQ(verdict().answer, Answer::kYes) << verdict().why();
}

/// Members come, go and change their keys while a round is under way; only a revocation ends it.
TEST_F(PolicyTest, ANewerCharterEndsNoRoundThatIsUnderWay) {
  const auto seen = [&](release::Charter next) {
    next.title = "stays";
    next.version = charters.back().charter.version + 1;
    next.previous = charters.back().id;
    charters.emplace_back(SmallConsortium::said(all.trial, release::MessageKind::kCharter, body_of(next)),
                          "charter");
  };
  const auto east = crypto::SiteKey::generate("EAST"), west = crypto::SiteKey::generate("WEST");
  const auto card = [](const crypto::SiteKey& key) {
    return SmallConsortium::said(key, release::MessageKind::kCard,
                                 body_of(release::Card{.name = key.name(), .site = true}));
  };
  std::vector<release::SignedHeader> cards = all.cards;
  cards.push_back(card(east));
  seen({.cards = cards});  // somebody joins
  EXPECT_EQ(verdict().answer, Answer::kYes) << verdict().why();
  EXPECT_THAT(text_of("charter"), ::testing::HasSubstr("version 2 was seen since"));
  cards[3] = card(west);  // WEST has another key now, which it was not revoked for
  seen({.cards = cards});
  EXPECT_EQ(verdict().answer, Answer::kYes) << verdict().why();
  cards.pop_back();
  seen({.cards = cards, .revoked = {east.public_key()}});
  EXPECT_EQ(charters.size(), 4u);
  EXPECT_EQ(verdict().answer, Answer::kYes) << "whoever was revoked has no part in it: " << verdict().why();
  seen({.cards = cards, .revoked = {east.public_key(), all.sites[2].public_key()}});
  expect_broken("charter");
  EXPECT_THAT(verdict().why(), ::testing::HasSubstr("charter 5 has revoked"));
}

/// A coordinator that invents round keys could take the masks off.
TEST_F(PolicyTest, RoundKeysAreTheirHoldersOwn) {
  proposal.holders[1].point = crypto::ExchangeKey::generate().point();
  expect_waits("round keys");
  proposal.holders[1].point = all.points[1][0];
  proposal.holders[1].number = 1;  // another number's point
  expect_waits("round keys");
  proposal.holders[1] = {proposal.holders[1].holder, 3, all.points[1][3]};
  EXPECT_EQ(verdict().answer, Answer::kYes);
  all.round_keys.pop_back();
  expect_waits("round keys");
}

TEST_F(PolicyTest, UnknownSitesCountAsCurious) {
  pins.peers.pop_back();  // WEST: a site and a key holder
  const Verdict v = verdict();
  EXPECT_EQ(v.answer, Answer::kWait);
  EXPECT_THAT(v.why(), ::testing::AllOf(::testing::HasSubstr("colluding sites"), ::testing::HasSubstr("WEST"),
                                        ::testing::HasSubstr("colluding key holders")));
  policy.colluding_sites = policy.colluding_holders = 0;  // t = t_h = 1 then covers WEST
  policy.least_contributions = 1;
  EXPECT_EQ(verdict().answer, Answer::kYes);
  pins.peers.pop_back();
  EXPECT_EQ(verdict().answer, Answer::kWait);
}

TEST_F(PolicyTest, FewerColludingThanTheSiteAsksForIsBrokenWhoeverIsPinned) {
  proposal.parties.colluding = 0;
  expect_broken("colluding sites");
  proposal = all.proposal();
  proposal.parties.colluding_holders = 0;
  expect_broken("colluding key holders");
}

TEST_F(PolicyTest, LeastContributions) {
  policy.least_contributions = 3;
  expect_broken("contributions");
  proposal.parties.least = 3;
  EXPECT_EQ(verdict().answer, Answer::kYes);
}

TEST_F(PolicyTest, SitesThatMayBeInventedMakeNoCrowd) {
  policy.colluding_sites = policy.colluding_holders = 0;
  pins.peers.pop_back();  // WEST, of whom t = 1 is told: k = 2 may be this site and an invention
  expect_waits("contributions");
  EXPECT_THAT(verdict().why(), ::testing::HasSubstr("1 at least of sites that you know"));
  proposal.parties.least = 3;
  EXPECT_EQ(verdict().answer, Answer::kYes);
}

TEST_F(PolicyTest, LargestEpsilons) {
  policy.largest_epsilon = 0.99;
  expect_broken("epsilon");
  policy.largest_epsilon = 1.0;
  policy.largest_epsilon_alone = 1.2;  // it is some 1.5: sqrt(N - t) more mu
  expect_broken("epsilon if all betray");
  policy.largest_epsilon_alone.reset();
  EXPECT_EQ(verdict().answer, Answer::kYes);
  // At another delta the same noise costs more.
  policy.delta = 1e-9;
  expect_broken("epsilon");
}

TEST_F(PolicyTest, TheBudgetIsTheSitesOwn) {
  ledger.budget = privacy::Budget::from_epsilon(1.5, 1e-5);
  EXPECT_EQ(verdict().answer, Answer::kYes);
  ledger.spent_squares = ledger.budget->mu * ledger.budget->mu * 0.9;
  expect_broken("budget", DeclineCode::kBudget);
  ledger.spent_squares = 0;
  ledger.unit = privacy::PrivacyUnit{privacy::Adjacency::kAddRemoveOne, 4};
  expect_broken("budget", DeclineCode::kBudget);
}

TEST_F(PolicyTest, RequiredKeyHolders) {
  policy.required_holders = {"NORTH", "WEST"};
  EXPECT_EQ(verdict().answer, Answer::kYes);
  policy.required_holders = {"REGULATOR"};
  expect_waits("required key holders");
  pins.peers.push_back({"REGULATOR", crypto::SiteKey::generate("REGULATOR").public_key()});
  expect_broken("required key holders");
}

TEST_F(PolicyTest, HowManyKeyHoldersMayBeMissing) {
  all = SmallConsortium({"NORTH", "SOUTH", "WEST", "EAST"});
  proposal = all.proposal();
  proposal.parties.missing_holders = 1;
  proposal.stand_in_until = proposal.open_until;
  pins = {};
  pins.coordinator = crypto::SignerKey{"TRIAL", all.trial.public_key()};
  for (const crypto::SiteKey& site : all.sites) pins.peers.push_back({site.name(), site.public_key()});
  charters.clear();
  charters.emplace_back(all.charter, "charter");
  EXPECT_EQ(verdict().answer, Answer::kYes) << verdict().why();
  policy.missing_holders = 0;
  expect_broken("missing key holders");
}

TEST_F(PolicyTest, Columns) {
  for (const schema::Column& c : proposal.plan.schema.table->columns) policy.columns.push_back(c.name);
  EXPECT_EQ(verdict().answer, Answer::kYes);
  schema::Table keyed = *proposal.plan.schema.table;
  keyed.columns.emplace_back();
  keyed.columns.back().name = "id";
  keyed.columns.back().type = schema::ColumnType::kKey;
  proposal.plan.schema.table = std::make_shared<const schema::Table>(keyed);
  EXPECT_EQ(verdict().answer, Answer::kYes) << "of keys nothing is read: " << verdict().why();
  policy.columns.pop_back();
  expect_broken("columns");
}

TEST_F(PolicyTest, TheNumberOfRecordsStaysAtTheSite) {
  proposal.plan = SmallConsortium::plan(1.0, 1000);
  expect_broken("number of records");
  policy.tell_records = true;
  EXPECT_EQ(verdict().answer, Answer::kYes);
}

TEST_F(PolicyTest, RecordsOfAPerson) {
  policy.records_per_person = 3;
  expect_broken("records of a person");
  proposal.plan = SmallConsortium::plan(1.0, 0, 3);
  EXPECT_EQ(verdict().answer, Answer::kYes);
}

TEST_F(PolicyTest, PeopleApproveEachOnceAndForThisRoundAndSite) {
  const auto line_of = [](const crypto::SiteKey& key) { return key.name() + " " + to_hex(key.public_key()); };
  crypto::SiteKey alice = crypto::SiteKey::generate("alice"), bob = crypto::SiteKey::generate("bob");
  policy.approvals = 2;
  policy.approvers = {line_of(alice), line_of(bob)};
  expect_waits("approvals");
  // A stranger's, one of another round, one for another site, and Alice's twice are none or one.
  const release::ProposedRound round = all.round(proposal);
  Proposal other = proposal;
  other.title = "another";
  approvals = {
      sign(approval_of(round, all.sites[0].public_key(), kDay), crypto::SiteKey::generate("mallory")),
      sign(approval_of(all.round(other), all.sites[0].public_key(), kDay), bob),
      sign(approval_of(round, all.sites[1].public_key(), kDay), bob),
      sign(approval_of(round, all.sites[0].public_key(), kDay), alice),
      sign(approval_of(round, all.sites[0].public_key(), kDay), alice)};
  expect_waits("approvals");
  EXPECT_THAT(verdict().why(), ::testing::HasSubstr("1 of 2: alice (2026-11-27)"));
  release::SignedHeader changed = approval_of(round, all.sites[0].public_key(), kDay);
  changed.body.erase("day");  // none of this muffle's
  approvals.push_back(sign(changed, bob));
  changed.body["day"] = "yesterday";
  approvals.push_back(sign(changed, bob));
  expect_waits("approvals");
  people.push_back(std::move(bob));
  EXPECT_EQ(verdict().answer, Answer::kYes);
}

TEST_F(PolicyTest, WhatIsBrokenIsNotMendedByApprovals) {
  crypto::SiteKey alice = crypto::SiteKey::generate("alice");
  policy.approvals = 1;
  policy.approvers = {"alice " + to_hex(alice.public_key())};
  policy.largest_epsilon = 0.5;
  people.push_back(std::move(alice));
  EXPECT_EQ(verdict().answer, Answer::kDecline);
}

TEST(Policy, SettingsThatCouldNeverBeMetAreProblems) {
  const std::string alice = "alice " + std::string(64, '5');
  const auto problems = [](const Policy& policy) {
    settings::Problems found;
    policy.problems(found);
    return found.take();
  };
  EXPECT_TRUE(problems({}).empty());
  Policy two;
  two.approvals = 2;
  two.approvers = {alice};
  EXPECT_EQ(problems(two).size(), 1u);
  two.approvers = {alice, "bob " + std::string(64, '5')};  // one key under two names
  EXPECT_FALSE(problems(two).empty());
  Policy nobody_asked;
  nobody_asked.approvers = {alice};
  EXPECT_EQ(problems(nobody_asked).size(), 1u);
}

/// A key holder opens what people have seen, and nothing else.
TEST_F(PolicyTest, PeopleApproveTheOpeningOfOneSeal) {
  const auto alice = crypto::SiteKey::generate("alice"), bob = crypto::SiteKey::generate("bob");
  policy.approvers = {"alice " + to_hex(alice.public_key()), "bob " + to_hex(bob.public_key())};
  policy.opening_approvals = 2;
  const release::ProposedRound round = all.round(proposal);
  const auto sealed = [&](std::size_t count) {
    release::Seal body;
    for (std::size_t i = 0; i < count; ++i) {
      release::SignedHeader header{.kind = release::MessageKind::kContribution};
      header.round = header.answers = round.id;
      header.body = body_of(release::Contribution{.commitments = std::vector<crypto::PairCommitment>(3),
                                                  .macs = std::vector<crypto::PairMac>(3),
                                                  .charge = std::string(32, 'c'),
                                                  .data_id = "stays"});
      body.contributions.push_back(
          sign(std::move(header), all.sites[i], std::vector<std::uint64_t>(round.length)));
    }
    release::SignedHeader header{.kind = release::MessageKind::kSeal};
    header.round = header.answers = round.id;
    header.body = body_of(body);
    return release::SealedRound(round, sign(std::move(header), all.trial));
  };
  const release::SealedRound seal = sealed(3), other = sealed(2);
  const crypto::SitePublicKey own = all.sites[0].public_key(), another = all.sites[1].public_key();
  const auto outcome = [&] { return opening_ruling(policy, round, seal, own, approvals).outcome; };
  EXPECT_EQ(outcome(), Outcome::kWaits);
  approvals = {sign(opening_approval_of(round, seal.id, own, kDay), alice),
               sign(opening_approval_of(round, seal.id, own, kDay + 1), alice),
               sign(opening_approval_of(round, other.id, own, kDay), bob),
               sign(opening_approval_of(round, seal.id, another, kDay), bob),
               sign(opening_approval_of(round, seal.id, own, kDay), crypto::SiteKey::generate("mallory")),
               sign(approval_of(round, own, kDay), bob)};  // that the site contributes
  EXPECT_EQ(outcome(), Outcome::kWaits);
  EXPECT_THAT(opening_ruling(policy, round, seal, own, approvals).text,
              ::testing::HasSubstr("1 of 2: alice"));
  approvals.push_back(sign(opening_approval_of(round, seal.id, own, kDay), bob));
  EXPECT_EQ(outcome(), Outcome::kKept);
  EXPECT_EQ(opening_ruling(policy, round, other, own, approvals).outcome, Outcome::kWaits);
  // What people say of the opening approves no contribution.
  policy.approvals = 2;
  expect_waits("approvals");
}

TEST(Pins, AreWhatAPersonWasTold) {
  const test::TemporaryFolder folder;
  const SmallConsortium all;
  const auto words = [](const crypto::SiteKey& key) {
    return crypto::in_words(crypto::fingerprint(key.public_key()));
  };
  Pins pins = Pins::load(folder.path());
  EXPECT_FALSE(pins.coordinator);
  const release::Card south{.name = "SOUTH", .site = true}, trial{.name = "TRIAL", .coordinator = true};
  pins.add(all.trial.public_key(), trial, words(all.trial));
  pins.add(all.sites[1].public_key(), south, to_hex(crypto::fingerprint(all.sites[1].public_key())));
  pins.add(all.sites[1].public_key(), south, words(all.sites[1]));  // again
  pins.save(folder.path());
  const Pins again = Pins::load(folder.path());
  ASSERT_TRUE(again.coordinator);
  EXPECT_EQ(again.coordinator->key, all.trial.public_key());
  ASSERT_EQ(again.peers.size(), 1u);
  EXPECT_EQ(again.peer("SOUTH")->key, all.sites[1].public_key());
  EXPECT_TRUE(again.knows(all.sites[1].public_key()));
  EXPECT_FALSE(again.knows(all.sites[2].public_key()));
}

TEST(Pins, NobodyIsPinnedByAnotherFingerprintNorTwice) {
  const SmallConsortium all;
  const auto words = [](const crypto::SiteKey& key) {
    return crypto::in_words(crypto::fingerprint(key.public_key()));
  };
  const release::Card south{.name = "SOUTH", .site = true};
  Pins pins;
  test::expect_error(ExitCode::kConfig, {"another fingerprint", "Nothing was pinned"},
                     [&] { pins.add(all.sites[1].public_key(), south, words(all.sites[2])); });
  test::expect_error(ExitCode::kConfig, {"eight words"},
                     [&] { pins.add(all.sites[1].public_key(), south, "yes, that is us"); });
  pins.add(all.sites[1].public_key(), south, words(all.sites[1]));
  test::expect_error(ExitCode::kConfig, {"pinned already"},
                     [&] { pins.add(all.sites[2].public_key(), south, words(all.sites[2])); });
  pins.add(all.trial.public_key(), {.name = "TRIAL", .coordinator = true}, words(all.trial));
  test::expect_error(ExitCode::kConfig, {"a site has one"}, [&] {
    pins.add(all.sites[2].public_key(), {.name = "OTHER", .coordinator = true}, words(all.sites[2]));
  });
  const test::TemporaryFolder folder;
  for (const char* text : {"peer SOUTH 00\n", "former SOUTH\n", "friend SOUTH\n", "peer\n"}) {
    std::ofstream(folder.path() / "pins") << text;
    test::expect_error(ExitCode::kConfig, {"line 1"}, [&] { Pins::load(folder.path()); });
  }
}

/// A key that was replaced is known as long as rounds need it, and never pinned again.
TEST(Pins, AKeyThatWasReplacedStaysKnown) {
  const SmallConsortium all;
  const test::TemporaryFolder folder;
  const auto words = [](const crypto::SiteKey& key) {
    return crypto::in_words(crypto::fingerprint(key.public_key()));
  };
  const release::Card south{.name = "SOUTH", .site = true};
  const crypto::SiteKey &old = all.sites[1], &next = all.sites[2];
  Pins pins;
  test::expect_error(ExitCode::kConfig, {"--replaces", "is not pinned"},
                     [&] { pins.add(next.public_key(), south, words(next), true); });
  pins.add(old.public_key(), south, words(old));
  test::expect_error(ExitCode::kConfig, {"this very key"},
                     [&] { pins.add(old.public_key(), south, words(old), true); });
  test::expect_error(ExitCode::kConfig, {"another fingerprint"},
                     [&] { pins.add(next.public_key(), south, words(old), true); });
  pins.add(next.public_key(), south, words(next), true);
  pins.save(folder.path());
  const Pins again = Pins::load(folder.path());
  EXPECT_EQ(again.peer("SOUTH")->key, next.public_key());
  ASSERT_EQ(again.former.size(), 1u);
  EXPECT_TRUE(again.knows(old.public_key()));
  EXPECT_TRUE(again.knows(next.public_key()));
  EXPECT_EQ(again.with_fingerprint(crypto::fingerprint(old.public_key()))->name, "SOUTH");
  Pins back = again;
  test::expect_error(ExitCode::kConfig, {"has replaced"},
                     [&] { back.add(old.public_key(), south, words(old), true); });
  test::expect_error(ExitCode::kConfig, {"a coordinator"}, [&] {
    back.add(all.trial.public_key(), {.name = "TRIAL", .coordinator = true}, words(all.trial), true);
  });
}

}  // namespace
}  // namespace muffle::site
