// What people see and say of rounds: proposals out of a charter, what lies in an exchange, how far a round
// is.
#include "muffle/round/draft.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/embed/self_check.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/round/status.hpp"
#include "round/parties_world.hpp"
#include "site/small_consortium.hpp"
#include "support/expect_error.hpp"
#include "support/maps.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::round {
namespace {

using release::MessageKind;
using release::SignedHeader;
using test::expect_error;
using test::SmallConsortium;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kThen = 1'790'000'000;

class ConsortiumFolder : public ::testing::Test {
 protected:
  void put(const std::string& name, const SignedHeader& header) {
    exchange->put(name, release::message_bytes(header));
  }
  void put_all(const SmallConsortium& all) {
    for (const SignedHeader& card : all.cards) put(release::card_name(card.sender), card);
    put(release::charter_name(1), all.charter);
    for (const SignedHeader& keys : all.round_keys) put(release::round_keys_name(keys.sender, 0), keys);
    for (const SignedHeader& yes : all.countersignatures)
      put(release::countersignature_name(1, yes.sender), yes);
  }
  Draft draft(const SmallConsortium& all, Wishes wishes = {},
              const std::vector<release::Proposal>& earlier = {}) {
    wishes.contribute_until = kThen + 10;
    wishes.open_until = kThen + 20;
    wishes.stand_in_until = kThen + 30;
    return draft_proposal(SmallConsortium::plan(), read_membership(*exchange), all.trial.public_key(),
                          earlier, wishes);
  }

  test::TemporaryFolder folder;
  std::unique_ptr<Exchange> exchange = make_exchange(folder.path().string());
};

TEST_F(ConsortiumFolder, MapsThatGoOnStepByStepAreNotProposed) {
  const SmallConsortium all;
  put_all(all);
  release::ReleasePlan plan = SmallConsortium::plan();
  plan.maps.at(0).map = test::make_map("decoder-step", {{"coefficients", "2"}}, test::schema_of({1, 4, 4}));
  expect_error(ExitCode::kConfig, {"decoder-step", "not between institutions", "Nothing was proposed"},
               [&] { draft_proposal(plan, read_membership(*exchange), all.trial.public_key(), {}, {}); });
}

TEST_F(ConsortiumFolder, MinibatchesOfOneSitesRecordsAreNotProposed) {
  const SmallConsortium all;
  put_all(all);
  release::ReleasePlan plan = SmallConsortium::plan();
  plan.maps.at(0).minibatches = {.batches = 4};
  expect_error(ExitCode::kConfig, {"minibatches = 0", "each institution"},
               [&] { draft_proposal(plan, read_membership(*exchange), all.trial.public_key(), {}, {}); });
}

TEST_F(ConsortiumFolder, HoldsWhoIsInTheConsortium) {
  const SmallConsortium all;
  put_all(all);
  const Membership members = read_membership(*exchange);
  EXPECT_TRUE(members.set_aside.empty());
  EXPECT_EQ(members.cards.size(), 4u);
  EXPECT_EQ(members.round_keys.size(), 3u);
  EXPECT_EQ(members.countersignatures.size(), 3u);
  ASSERT_NE(members.newest(all.trial.public_key()), nullptr);
  EXPECT_EQ(members.newest(all.trial.public_key())->id, all.charter.id());
  EXPECT_EQ(members.newest(all.sites[0].public_key()), nullptr);
}

TEST_F(ConsortiumFolder, WhatIsForgedForeignOrMisnamedIsSetAsideAndStopsNobody) {
  const SmallConsortium all, others;
  put_all(all);
  exchange->put("card-garbage.mfm", "garbage");
  put("card-0000000000000000.mfm", all.cards[1]);  // copied under another name
  put(release::card_name(all.sites[0].public_key()).insert(5, "x"), all.charter);  // no card
  SignedHeader forged = all.cards[2];
  forged.body["name"] = "MALLORY";
  std::ofstream(folder.path() / "card-1111111111111111.mfm") << release::message_bytes(forged);
  put(release::countersignature_name(1, others.sites[0].public_key()), others.countersignatures[0]);
  put("charter-7.mfm", all.charter);
  SignedHeader no_next = SmallConsortium::said(
      others.trial, MessageKind::kCharter,
      body_of(
          release::Charter{.title = "x", .version = 2, .previous = all.charter.id(), .cards = others.cards}));
  put("charter-2.mfm", no_next);  // another coordinator's, on top of ours
  std::ofstream(folder.path() / "round-keys-large.mfm").seekp(release::kMostBytesOfWords + 1) << 'x';
  const Membership members = read_membership(*exchange);
  EXPECT_EQ(members.set_aside.size(), 8u);
  EXPECT_EQ(members.cards.size(), 4u);
  EXPECT_EQ(members.charters.size(), 1u);
  for (const SetAside& aside : members.set_aside) EXPECT_FALSE(aside.why.empty()) << aside.name;
}

/// Whoever carries the exchange withholds a charter that was seen, and with it a revocation.
TEST_F(ConsortiumFolder, ACharterThatWasSeenOnceStaysSeen) {
  const SmallConsortium all;
  put_all(all);
  const test::TemporaryFolder party;
  const CharterShelf shelf{party.path(), all.trial.public_key()};
  release::Charter next{.title = "stays",
                        .version = 2,
                        .previous = all.charter.id(),
                        .cards = {all.cards.begin(), all.cards.end() - 1},
                        .revoked = {all.sites[2].public_key()}};
  const SignedHeader second = SmallConsortium::said(all.trial, MessageKind::kCharter, body_of(next));
  put("charter-2.mfm", second);
  EXPECT_EQ(read_membership(*exchange, shelf).charters.size(), 2u);
  std::filesystem::remove(folder.path() / "charter-2.mfm");
  const Membership rolled_back = read_membership(*exchange, shelf);
  ASSERT_NE(rolled_back.newest(all.trial.public_key()), nullptr);
  EXPECT_EQ(rolled_back.newest(all.trial.public_key())->id, second.id());
  EXPECT_EQ(rolled_back.charters.size(), 2u);
  EXPECT_EQ(read_membership(*exchange).charters.size(), 1u) << "the exchange alone tells less";
  // Nor is another second version taken, nor a third that forgets.
  next.revoked.clear();
  next.cards = all.cards;
  put("charter-2.mfm", SmallConsortium::said(all.trial, MessageKind::kCharter, body_of(next)));
  next.version = 3;
  next.previous = second.id();
  put("charter-3.mfm", SmallConsortium::said(all.trial, MessageKind::kCharter, body_of(next)));
  const Membership forked = read_membership(*exchange, shelf);
  EXPECT_EQ(forked.set_aside.size(), 2u);
  EXPECT_EQ(forked.newest(all.trial.public_key())->id, second.id());
  // After a gap the revocations are compared all the same.
  std::filesystem::remove(folder.path() / "charter-2.mfm");
  std::filesystem::remove(folder.path() / "charter-3.mfm");
  next.version = 4;
  put("charter-4.mfm", SmallConsortium::said(all.trial, MessageKind::kCharter, body_of(next)));
  EXPECT_EQ(read_membership(*exchange, shelf).set_aside.size(), 1u);
  // Another coordinator's are not this shelf's.
  EXPECT_TRUE(kept_charters({party.path(), all.sites[0].public_key()}).empty());
  EXPECT_EQ(kept_charters(shelf).size(), 2u);
}

TEST_F(ConsortiumFolder, AProposalHasSensibleDefaults) {
  const SmallConsortium all;
  put_all(all);
  const Draft d = draft(all);
  EXPECT_TRUE(d.left_out.empty());
  EXPECT_EQ(d.proposal.parties, (privacy::RoundParties{3, 3, 2, 1, 3, 1, 0}));
  EXPECT_EQ(d.proposal.charter, all.charter.id());
  for (std::size_t h = 0; h < 3; ++h) {
    EXPECT_EQ(d.proposal.holders[h].number, 0u);
    EXPECT_EQ(d.proposal.holders[h].point, all.points[h][0]);
  }
  EXPECT_EQ(d.proposal.self_check, embed::self_check(d.proposal.plan));
  (void)all.round(d.proposal);  // what is drafted can be read
}

TEST_F(ConsortiumFolder, OfManySitesAboutHalfMustCome) {
  std::vector<std::string> names;
  for (int i = 0; i < 10; ++i) names.push_back("S" + std::to_string(i));
  const SmallConsortium all(names);
  put_all(all);
  const Draft d = draft(all);
  EXPECT_EQ(d.proposal.parties, (privacy::RoundParties{10, 10, 6, 2, 5, 1, 1}));
  EXPECT_EQ(d.proposal.stand_in_until, kThen + 30);
  EXPECT_THAT(proposal_in_words(all.round(d.proposal)),
              ::testing::AllOf(HasSubstr("4 of 5 must open, and stand in for the others"),
                               HasSubstr("; stand-ins until")));
  // Only where there are enough for it, or as somebody wishes.
  EXPECT_EQ(draft(all, {.holders = {"S0", "S1", "S2"}}).proposal.parties.missing_holders, 0);
  EXPECT_EQ(draft(all, {.colluding_holders = 3}).proposal.parties.missing_holders, 0);
  const Draft none = draft(all, {.missing_holders = 0});
  EXPECT_EQ(none.proposal.stand_in_until, 0u);
  EXPECT_THAT(proposal_in_words(all.round(none.proposal)), HasSubstr("all 5 must open"));
  expect_error(ExitCode::kConfig, {"2 key holders may be missing", "takes 8 key holders"},
               [&] { draft(all, {.missing_holders = 2}); });
}

TEST_F(ConsortiumFolder, NoRoundKeyIsNamedTwice) {
  const SmallConsortium all;
  put_all(all);
  std::vector<release::Proposal> earlier;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Draft d = draft(all, {}, earlier);
    for (const release::HolderKey& h : d.proposal.holders) EXPECT_EQ(h.number, i);
    earlier.push_back(d.proposal);
  }
  expect_error(ExitCode::kConfig, {"no unused round key", "muffle site join"},
               [&] { draft(all, {}, earlier); });
  expect_error(ExitCode::kConfig, {"no unused round key"}, [&] {
    draft(all, {.holders = {"NORTH", "SOUTH", "WEST"}}, earlier);
  });
}

TEST_F(ConsortiumFolder, OnlyMembersWhoAcceptedTheCharterAreInvited) {
  SmallConsortium all({"NORTH", "SOUTH", "WEST", "EAST"});
  all.countersignatures.pop_back();
  put_all(all);
  const Draft d = draft(all);
  EXPECT_EQ(d.proposal.sites.size(), 3u);
  ASSERT_EQ(d.left_out.size(), 2u);  // as a site and as a key holder
  EXPECT_THAT(d.left_out[0], HasSubstr("EAST"));
  expect_error(ExitCode::kConfig, {"EAST", "countersigned"}, [&] {
    draft(all, {.sites = {"NORTH", "SOUTH", "EAST"}});
  });
  expect_error(ExitCode::kConfig, {"no site"}, [&] { draft(all, {.sites = {"TRIAL", "SOUTH", "NORTH"}}); });
  expect_error(ExitCode::kConfig, {"twice"}, [&] { draft(all, {.sites = {"SOUTH", "SOUTH", "NORTH"}}); });
}

TEST_F(ConsortiumFolder, WhatTheTheoremRefusesIsNotProposed) {
  const SmallConsortium all;
  expect_error(ExitCode::kConfig, {"no charter"}, [&] { draft(all); });
  put_all(all);
  expect_error(ExitCode::kConfig, {}, [&] { draft(all, {.least = 1}); });
  expect_error(ExitCode::kConfig, {}, [&] { draft(all, {.expected = 1}); });
  expect_error(ExitCode::kConfig, {}, [&] { draft(all, {.colluding = 3}); });
  expect_error(ExitCode::kConfig, {}, [&] { draft(all, {.colluding_holders = 3}); });
  expect_error(ExitCode::kConfig, {}, [&] { draft(all, {.holders = {"NORTH", "SOUTH"}}); });  // m >= 3
}

/// What a seal has for each contribution grows with the square of the key holders, where some may be missing.
TEST_F(ConsortiumFolder, WhatNobodyCouldSealIsNotProposed) {
  std::vector<std::string> names;
  for (int i = 0; i < 560; ++i) names.push_back("S" + std::to_string(i));
  const SmallConsortium all(names);
  Membership members{all.cards, {}, all.countersignatures, all.round_keys, {}};
  members.charters.emplace_back(all.charter, "charter");
  const std::vector<std::string> ten(names.begin(), names.begin() + 10);
  const std::vector<std::string> few(names.begin(), names.begin() + 400);
  const auto drafted = [&](Wishes wishes) {
    wishes.holders = ten;
    return draft_proposal(SmallConsortium::plan(), members, all.trial.public_key(), {}, wishes).proposal;
  };
  expect_error(ExitCode::kConfig,
               {"could not be sealed", "each of 560 contributions",
                "With 10 key holders, of whom 2 may be missing, 508 sites", "--missing-holders 0"},
               [&] { (void)drafted({.missing_holders = 2}); });
  EXPECT_EQ(drafted({.sites = few, .missing_holders = 2}).sites.size(), 400u);
  EXPECT_EQ(drafted({.missing_holders = 0}).sites.size(), 560u);
}

/// What is reckoned with is what contributions have.
TEST_F(ConsortiumFolder, ASealedHeaderIsNoLargerThanWasReckoned) {
  for (const int missing : {0, 1}) {
    const World world({4, 4, 3, 1, 4, 1, missing});
    const release::ProposedRound round = world.round();
    const release::Message made = release::parse_message(world.contribution(round, 1), "a contribution");
    const std::uint64_t most = release::most_bytes_sealed(round.proposal);
    const std::size_t size = release::header_json(made.header).dump().size();
    EXPECT_LE(size, most);
    EXPECT_GT(size + 256, most) << "and not much more";
  }
}

/// A member whose key was replaced between two rounds of a release finishes it with the old one.
TEST_F(ConsortiumFolder, ALaterRoundGoesOnByACharterThatHasAllItsParties) {
  SmallConsortium all;
  put_all(all);
  std::vector<release::Proposal> earlier{draft(all).proposal};
  const auto next = [&](std::uint64_t version, release::Charter charter) {
    charter.title = "stays";
    charter.version = version;
    charter.previous = read_membership(*exchange).newest(all.trial.public_key())->id;
    put(release::charter_name(version),
        SmallConsortium::said(all.trial, MessageKind::kCharter, body_of(charter)));
  };
  const std::vector<std::size_t> sites{0, 1, 2};
  const auto charter = [&] {
    return charter_of_all(earlier[0], sites, read_membership(*exchange), all.trial.public_key())
        .charter.version;
  };
  EXPECT_EQ(charter(), 1u);
  next(2, {.cards = all.cards});
  EXPECT_EQ(charter(), 2u);
  const auto west = crypto::SiteKey::generate("WEST");
  std::vector<SignedHeader> cards = all.cards;
  cards[3] = SmallConsortium::said(west, MessageKind::kCard,
                                   body_of(release::Card{.name = "WEST", .site = true, .key_holder = true}));
  next(3, {.cards = cards});
  EXPECT_EQ(charter(), 2u);
  next(4, {.cards = cards, .revoked = {all.sites[2].public_key()}});
  expect_error(ExitCode::kConfig, {"charter 4 has revoked the key of 'WEST'"}, [&] { (void)charter(); });
}

TEST_F(ConsortiumFolder, NothingIsProposedThatRefusesFilesForWhatRecordsHold) {
  const SmallConsortium all;
  put_all(all);
  release::ReleasePlan plan = SmallConsortium::plan();
  plan.schema.on_error = schema::OnError::kRejectFile;
  const Wishes wishes{.contribute_until = kThen + 10, .open_until = kThen + 20, .stand_in_until = kThen + 30};
  expect_error(ExitCode::kConfig, {"data.on_error", "clamp"},
               [&] { draft_proposal(plan, read_membership(*exchange), all.trial.public_key(), {}, wishes); });
  plan.schema.on_error = schema::OnError::kClamp;
  EXPECT_NO_THROW(draft_proposal(plan, read_membership(*exchange), all.trial.public_key(), {}, wishes));
}

TEST_F(ConsortiumFolder, TheProposalSaysItsNoiseForEveryNumberOfContributions) {
  const SmallConsortium all;
  const std::string words = proposal_in_words(all.round(all.proposal()));
  EXPECT_THAT(words, HasSubstr("noise if 2 contribute: 1.323 sigma (key holders top it up)\n"));
  EXPECT_THAT(words, HasSubstr("noise if 3 contribute: 1.225 sigma\n"));
  EXPECT_THAT(words, HasSubstr("epsilon 1 at delta 1e-05\n"));
  EXPECT_THAT(
      words,
      HasSubstr("a site that everybody else betrays, and the cryptography: epsilon 1.47 at delta 1e-05"));
  EXPECT_THAT(words, HasSubstr("columns: a, b, c, label\n"));
}

TEST_F(ConsortiumFolder, ARoundIsFoundByItsFirstDigits) {
  const SmallConsortium all;
  expect_error(ExitCode::kUsage, {"no proposal"}, [&] { find_round(*exchange, ""); });
  release::Proposal one = all.proposal(), two = one;
  two.title = "another";
  const release::ProposedRound first = all.round(one), second = all.round(two);
  exchange->put(release::proposal_name(first.id), all.proposed(one));
  EXPECT_EQ(find_round(*exchange, "").id, first.id);
  exchange->put(release::proposal_name(second.id), all.proposed(two));
  expect_error(ExitCode::kUsage, {"several rounds"}, [&] { find_round(*exchange, ""); });
  EXPECT_EQ(find_round(*exchange, to_hex(second.id).substr(0, 10)).id, second.id);
  EXPECT_EQ(find_round(*exchange, to_hex(second.id)).id, second.id);
  for (const char* digits : {"12", "zzzz", "ABCDEF"})
    expect_error(ExitCode::kUsage, {"names no round"}, [&] { find_round(*exchange, digits); });
  std::ofstream(folder.path() / release::proposal_name(first.id)) << "cut off";
  expect_error(ExitCode::kProtocol, {"no proposal that muffle can use"},
               [&] { find_round(*exchange, to_hex(first.id).substr(0, 16)); });
}

TEST_F(ConsortiumFolder, TheStatusSaysWhoHasAnsweredAndWhatWasKeptAside) {
  const SmallConsortium all;
  const release::ProposedRound round = all.round(all.proposal());
  exchange->put(release::proposal_name(round.id), all.proposed(round.proposal));
  const auto decline = [&](const crypto::SiteKey& key, const crypto::SitePublicKey& name) {
    put(release::decline_name(round.id, name), sign(decline_of(round, release::DeclineCode::kBudget), key));
  };
  decline(all.sites[0], all.sites[0].public_key());
  decline(all.sites[0], all.sites[1].public_key());  // in another's name
  exchange->put(release::contribution_name(round.id, all.sites[2].public_key()), "<script>alert(1)</script>");
  exchange->put(release::short_id(round.id) + "-notes.txt", "hello");
  const RoundStatus status = read_status(*exchange, round, kThen);
  EXPECT_EQ(status.sites[0].state, "declined (budget)");
  EXPECT_EQ(status.sites[1].state, "nothing here yet");
  EXPECT_EQ(status.sites[2].state, "nothing here yet");
  EXPECT_EQ(status.set_aside.size(), 3u);
  EXPECT_EQ(status.stage, "waits for sites to contribute.");
  const std::string text = status_text(status);
  EXPECT_THAT(text, HasSubstr("NORTH"));
  EXPECT_THAT(text, HasSubstr("kept aside"));
  EXPECT_EQ(read_status(*exchange, round, round.proposal.contribute_until + 1).stage,
            "ended: too few sites contributed before the deadline.");
}

TEST_F(ConsortiumFolder, ThePageNeedsNothingElseAndObeysNobody) {
  SmallConsortium all;
  release::Proposal p = all.proposal();
  p.title = "<script>alert('x')</script> & \"more\"";
  const release::ProposedRound round = all.round(p);
  const std::string page =
      status_html({read_status(*exchange, round, kThen)}, {{"card-x.mfm", "<img src=x>"}});
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
  for (const char* outside : {"http:", "https:", "url(", "@import", "<link"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_THAT(page, HasSubstr("width=device-width"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
}

}  // namespace
}  // namespace muffle::round
