// The roles of rounds between institutions without any exchange: messages go in, whichever way they come, and
// those to send come out.
#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "muffle/core/hash.hpp"
#include "muffle/privacy/ledger.hpp"
#include "muffle/release/journal.hpp"
#include "muffle/release/membership.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/round_release.hpp"
#include "muffle/round/status.hpp"
#include "round/several_rounds.hpp"
#include "support/expect_error.hpp"

namespace muffle::round {
namespace {

using namespace release;
using test::expect_error;

/// What was sent so far, by name.
using Post = std::map<std::string, std::string>;

Received find(const Post& post, const std::string& name) {
  Received out{name};
  if (const auto found = post.find(name); found != post.end()) out.bytes = found->second;
  for (const auto& [other, bytes] : post) {
    if (name.empty()) out.names.push_back(other);
  }
  return out;
}

bool is_wanted(const Role& role, const std::string& name) {
  const std::vector<Wanted> wants = role.wants();
  return std::ranges::count(wants, name, &Wanted::name) > 0;
}

/// Hands a message over that the role does not want now.
void expect_ignored(Role& role, Received&& message) {
  const std::string state(role.state());
  const std::size_t wants = role.wants().size();
  EXPECT_TRUE(role.receive(std::move(message)).empty());
  EXPECT_EQ(role.state(), state);
  EXPECT_EQ(role.wants().size(), wants);
}

/// Makes an act: what is wanted is handed over in any order, some of it twice, with all sorts of other
/// messages in between.
StepReport act(Role& role, Post& post, std::mt19937_64& random) {
  std::string last;
  for (std::vector<Wanted> wants = role.wants(); !wants.empty(); wants = role.wants()) {
    if (!is_wanted(role, last)) expect_ignored(role, find(post, last));
    const auto any = std::next(post.begin(), static_cast<std::ptrdiff_t>(random() % post.size()));
    if (!is_wanted(role, any->first)) expect_ignored(role, {any->first, any->second});
    expect_ignored(role, {"0123456789abcdef-seal.mfm", any->second});
    last = wants[random() % wants.size()].name;
    for (Letter& letter : role.receive(find(post, last))) {
      const auto [at, is_new] = post.emplace(letter.name, letter.bytes);
      EXPECT_TRUE(is_new || at->second == letter.bytes) << letter.name;
    }
  }
  EXPECT_EQ(role.state(), "through");
  expect_ignored(role, find(post, last));
  return role.report();
}

/// A round over no exchange: its parties and what they have sent.
struct RoundByHand {
  explicit RoundByHand(std::uint64_t seed = 1, privacy::RoundParties parties = {4, 4, 3, 1, 3, 1, 0})
      : c(parties), random(seed) {
    post[proposal_name(c.round.id)] = c.world.proposed;
  }
  StepReport site(std::size_t i, std::uint64_t now) {
    const ContributorJob job = c.job_of(i, now);
    return act(*make_contributor(c.round, job), post, random);
  }
  StepReport holder(std::size_t h, std::uint64_t now) {
    const HolderJob job = c.job_of_holder(h, now);
    return act(*make_holder(c.round, job), post, random);
  }
  StepReport coordinator(std::uint64_t now) {
    const CoordinatorJob job = c.job_of_coordinator(now);
    return act(*make_coordinator(c.round, job), post, random);
  }
  Artifact released() const {
    const std::string name = release_name(c.round.id);
    return parse_artifact(post.at(name), name);
  }

  ConsortiumOfFolders c;
  Post post;
  std::mt19937_64 random;
};

TEST(Roles, MakeTheSameReleaseInWhateverOrderTheirMessagesCome) {
  ConsortiumOfFolders folder;
  for (const std::size_t i : {0u, 1u, 3u}) folder.site(i, folder.before());
  folder.coordinator(folder.after());
  for (std::size_t h = 0; h < 3; ++h) folder.holder(h, folder.after());
  folder.coordinator(folder.after());
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    RoundByHand r(seed);
    // All act again and again, in any order, at any time of the round.
    for (const std::uint64_t now : {r.c.before(), r.c.after()}) {
      for (int turn = 0; turn < 60; ++turn) {
        const std::size_t who = r.random() % 7;
        if (who < 3) r.site(std::array{0u, 1u, 3u}[who], now);
        if (who >= 3 && who < 6) r.holder(who - 3, now);
        if (who == 6) r.coordinator(now);
      }
    }
    ASSERT_TRUE(r.post.contains(release_name(r.c.round.id)));
    EXPECT_EQ(r.released().values, folder.released().values);
    EXPECT_EQ(r.c.draws, 3 + 3) << "a draw for each site and key holder";
    for (std::size_t h = 0; h < 3; ++h) r.holder(h, r.c.after());
    EXPECT_TRUE(r.post.contains(receipt_name(r.c.round.id, r.c.world.holders[0].public_key())));
    r.site(0, r.c.after());
    EXPECT_TRUE(privacy::read_ledger(r.c.ledger(0)).charges.at(0).released);
  }
}

TEST(Roles, AContributionIsBoundAndKeptBeforeAnybodyIsHandedIt) {
  RoundByHand r;
  const ContributorJob job = r.c.job_of(0, r.c.before());
  std::string sent;
  auto role = make_contributor(r.c.round, job);
  while (!role->wants().empty()) {
    for (const Letter& letter : role->receive(find(r.post, role->wants().front().name))) {
      ASSERT_EQ(letter.name, r.c.contribution_of(0));
      sent = letter.bytes;
      const privacy::LedgerState ledger = privacy::read_ledger(r.c.ledger(0));
      ASSERT_EQ(ledger.charges.size(), 1u);
      EXPECT_EQ(ledger.charges[0].pending, to_hex(sha256(PublicBytes(sent))));
      EXPECT_EQ(read_file(outbox(job.folder) / letter.name), sent);
    }
  }
  ASSERT_FALSE(sent.empty());
  role.reset();
  // It got nowhere: the next act hands the same bytes over, and draws nothing.
  r.site(0, r.c.before());
  EXPECT_EQ(r.post.at(r.c.contribution_of(0)), sent);
  EXPECT_EQ(r.c.draws, 1);
}

TEST(Roles, AnOpeningIsBoundAndItsKeyGoneBeforeAnybodyIsHandedIt) {
  RoundByHand r;
  for (std::size_t i = 0; i < 4; ++i) r.site(i, r.c.before());
  r.coordinator(r.c.before());
  const HolderJob job = r.c.job_of_holder(1, r.c.before());
  std::string sent;
  {
    const auto role = make_holder(r.c.round, job);
    while (!role->wants().empty()) {
      for (const Letter& letter : role->receive(find(r.post, role->wants().front().name))) {
        ASSERT_EQ(letter.name, r.c.opening_of(1));
        sent = letter.bytes;
        const JournalState journal = parse_journal(read_file(job.folder / "journal.mfj"), "the journal");
        EXPECT_EQ(journal.pending(r.c.round.id, MessageKind::kOpening),
                  parse_message(sent, letter.name).header.id());
        EXPECT_TRUE(journal.erased(r.c.round.proposal.holders[1].point));
        EXPECT_TRUE(r.c.erased.contains(1));
        EXPECT_EQ(read_file(outbox(job.folder) / letter.name), sent);
      }
    }
  }
  ASSERT_FALSE(sent.empty());
  const int draws = r.c.draws;
  r.holder(1, r.c.before());
  EXPECT_EQ(r.post.at(r.c.opening_of(1)), sent);
  EXPECT_EQ(r.c.draws, draws);
}

TEST(Roles, TheCoordinatorIsNeverGivenTwoVectorsAtOnce) {
  RoundByHand r;
  for (std::size_t i = 0; i < 4; ++i) r.site(i, r.c.before());
  const auto vectors = [&](const Role& role) {
    const std::vector<Wanted> wants = role.wants();
    return std::ranges::count_if(wants, [](const Wanted& wanted) {
      return wanted.name.find("-contribution-") != std::string::npos ||
             wanted.name.find("-opening-") != std::string::npos;
    });
  };
  int seen = 0;
  const auto step = [&] {
    const CoordinatorJob job = r.c.job_of_coordinator(r.c.before());
    const auto role = make_coordinator(r.c.round, job);
    while (!role->wants().empty()) {
      EXPECT_LE(vectors(*role), 1);
      seen += static_cast<int>(vectors(*role));
      for (Letter& letter : role->receive(find(r.post, role->wants().front().name)))
        r.post[letter.name] = std::move(letter.bytes);
    }
  };
  step();
  for (std::size_t h = 0; h < 3; ++h) r.holder(h, r.c.before());
  step();
  EXPECT_TRUE(r.post.contains(release_name(r.c.round.id)));
  EXPECT_EQ(seen, 4 + 3 + 3 + 4) << "four to seal, openings that are not there, openings, four to add";
}

TEST(Roles, AnActThatFailedHasEnded) {
  RoundByHand r;
  for (std::size_t i = 0; i < 4; ++i) r.site(i, r.c.before());
  r.coordinator(r.c.before());
  const std::string seal = seal_name(r.c.round.id);
  const HolderJob job = r.c.job_of_holder(0, r.c.before());
  const auto role = make_holder(r.c.round, job);
  while (!is_wanted(*role, seal)) {
    ASSERT_FALSE(role->wants().empty());
    EXPECT_TRUE(role->receive(find(r.post, role->wants().front().name)).empty());
  }
  EXPECT_EQ(role->state(), "sealing");
  expect_error(ExitCode::kProtocol, {"larger"}, [&] {
    (void)role->receive({.name = seal, .refused = ProtocolError("it is larger than it may be.")});
  });
  EXPECT_EQ(role->state(), "through");
  EXPECT_TRUE(role->wants().empty());
  expect_ignored(*role, find(r.post, seal));
  EXPECT_FALSE(r.c.erased.contains(0)) << "nothing was opened";
}

TEST(Roles, AKeyThatMustNotBeKeptGoesBeforeAnythingIsReceived) {
  RoundByHand r;
  const HolderJob job = r.c.job_of_holder(2, r.c.round.proposal.open_until + 1);
  const auto role = make_holder(r.c.round, job);
  EXPECT_TRUE(r.c.erased.contains(2));
  EXPECT_EQ(role->state(), "looking");
}

TEST(Roles, AnotherKeyUnderTheSameNumberIsNotErased) {
  RoundByHand r;
  HolderJob job = r.c.job_of_holder(0, r.c.round.proposal.open_until + 1);
  job.round_key = [&](std::uint64_t) { return r.c.world.round_key(1); };
  (void)make_holder(r.c.round, job);
  EXPECT_TRUE(r.c.erased.empty());
  job.round_key = [](std::uint64_t) -> crypto::ExchangeKey { throw ConfigError("it is damaged."); };
  (void)make_holder(r.c.round, job);
  EXPECT_EQ(r.c.erased, std::set<std::size_t>{0}) << "of no use to any round";
}

Receipt receipt_of_holder(const RoundByHand& r, std::size_t h) {
  const std::string name = receipt_name(r.c.round.id, r.c.world.holders[h].public_key());
  const std::string statement = release_statement_name(r.c.round.id);
  return check_receipt(r.c.round, parse_message(r.post.at(statement), statement).header,
                       parse_message(r.post.at(name), name).header);
}

TEST(Roles, AKeyHolderAddsTheRoundUpBeforeItGivesAReceipt) {
  RoundByHand r;
  for (std::size_t i = 0; i < 4; ++i) r.site(i, r.c.before());
  r.coordinator(r.c.before());
  for (std::size_t h = 0; h < 3; ++h) r.holder(h, r.c.before());
  r.coordinator(r.c.before());
  StepReport report = r.holder(0, r.c.before());
  EXPECT_EQ(report.done, std::vector<std::string>{"the round is released; sent a receipt: contributions and "
                                                  "openings add up to it"});
  EXPECT_EQ(receipt_of_holder(r, 0).found, Found::kSame);
  EXPECT_TRUE(r.holder(0, r.c.before()).done.empty()) << "once";
  // One contribution has not come this far, or is damaged: nothing can be told, and it may still come.
  const std::string contribution = r.c.contribution_of(2), kept = r.post.at(contribution);
  r.post.at(contribution).back() ^= 1;
  report = r.holder(1, r.c.before());
  EXPECT_NE(report.waits.at(0).find("to add it up"), std::string::npos) << report.waits.at(0);
  EXPECT_TRUE(report.done.empty());
  report = r.holder(1, r.c.round.proposal.last_day() + 1);
  EXPECT_NE(report.done.at(0).find("unverified"), std::string::npos) << report.done.at(0);
  EXPECT_EQ(report.aside.size(), 1u);
  EXPECT_EQ(receipt_of_holder(r, 1).found, Found::kNotAllThere);
  r.post.at(contribution) = kept;
  // The coordinator signs another release than it has added up.
  const std::string release = release_name(r.c.round.id), statement = release_statement_name(r.c.round.id);
  const SealedRound seal(r.c.round, parse_message(r.post.at(seal_name(r.c.round.id)), "the seal").header);
  Artifact other = r.released();
  other.values[0] += 1;
  r.post[release] = artifact_bytes(other);
  r.post[statement] =
      message_bytes(sign(release_statement_of(r.c.round, seal, r.post[release]), r.c.world.coordinator));
  for (int twice = 0; twice < 2; ++twice)
    expect_error(ExitCode::kProtocol, {"is not what its contributions and openings add up to", "receipt"},
                 [&] { r.holder(2, r.c.before()); });
  EXPECT_EQ(receipt_of_holder(r, 2).found, Found::kOther);
  for (const auto& [name, bytes] : r.post) {
    if (name != proposal_name(r.c.round.id)) r.c.exchange->put(name, bytes);
  }
  const RoundStatus status = read_status(*r.c.exchange, r.c.round, r.c.before());
  EXPECT_TRUE(status.holders[2].state.starts_with("opened; OBJECTS")) << status.holders[2].state;
}

TEST(Roles, AKeyHolderAddsStandInsUpAsWell) {
  RoundByHand r(1, {4, 4, 3, 1, 4, 1, 1});
  for (std::size_t i = 0; i < 4; ++i) r.site(i, r.c.before());
  r.coordinator(r.c.before());
  const std::uint64_t late = r.c.round.proposal.open_until + 1;
  for (std::size_t h = 0; h < 3; ++h) r.holder(h, r.c.before());
  r.coordinator(late);
  for (std::size_t h = 0; h < 3; ++h) r.holder(h, late);
  r.coordinator(late);
  ASSERT_TRUE(r.post.contains(release_name(r.c.round.id)));
  r.holder(0, late);
  EXPECT_EQ(receipt_of_holder(r, 0).found, Found::kSame);
  r.post.erase(stand_in_name(r.c.round.id, r.c.world.holders[1].public_key()));
  r.holder(2, r.c.round.proposal.last_day() + 1);
  EXPECT_EQ(receipt_of_holder(r, 2).found, Found::kNotAllThere);
}

/// Over no exchange, in any order: in the first round one key holder is missing, in the second another.
TEST(Roles, SeveralRoundsHaveAKeyHolderMissingInEach) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    SeveralRounds s(0, {4, 4, 3, 1, 4, 1, 1});
    Post post{{proposal_name(s.c.round.id), s.c.world.proposed}};
    for (std::size_t r = 0; r < 3; ++r) {
      if (r > 0) {
        s.propose();
        const std::string name = proposal_name(s.rounds[r].id);
        post[name] = s.c.in_exchange(name);
      }
      const std::size_t gone = r % 4;
      const ProposedRound& round = s.rounds[r];
      for (const std::uint64_t now : {s.c.before(), s.c.after(), round.proposal.open_until + 1}) {
        for (int turn = 0; turn < 60; ++turn) {
          const std::size_t who = random() % 9;
          if (who < 4 && now == s.c.before()) {
            const ContributorJob job = s.job_of(who);
            act(*make_contributor(round, job), post, random);
          }
          if (who >= 4 && who < 8 && who - 4 != gone) {
            const HolderJob job = s.job_of_holder(r, who - 4, now);
            act(*make_holder(round, job), post, random);
          }
          if (who < 8) continue;
          const CoordinatorJob job = s.c.job_of_coordinator(now);
          act(*make_coordinator(round, job), post, random);
        }
      }
      for (const auto& [name, bytes] : post) s.c.exchange->put(name, bytes);
      ASSERT_TRUE(post.contains(r < 2 ? sum_name(round.id) : release_name(round.id)));
      EXPECT_FALSE(post.contains(opening_name(round.id, s.c.world.holders[gone].public_key())));
    }
    EXPECT_EQ(s.c.draws, 3 * (4 + 3));
    const std::string name = release_name(s.rounds[2].id);
    const Artifact a = parse_artifact(post.at(name), name);
    EXPECT_EQ(std::get<privacy::Apart>(a.aggregation).stood_in_before, (std::vector<int>{1, 1}));
    EXPECT_EQ(a.rounds_before[1].holders[1].stand_ins.size(), 3u);
    // All who are there have added each round up.
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t h = 0; h < 4; ++h) {
        const std::string receipt = receipt_name(s.rounds[r].id, s.c.world.holders[h].public_key());
        const std::string end = r < 2 ? sum_name(s.rounds[r].id) : release_statement_name(s.rounds[r].id);
        if (h == r % 4 || !post.contains(receipt)) continue;
        EXPECT_EQ(check_receipt(s.rounds[r], parse_message(post.at(end), end).header,
                                parse_message(post.at(receipt), receipt).header)
                      .found,
                  Found::kSame);
      }
    }
  }
}

TEST(Roles, WhatComesWhileRecordsAreSummedIsSeenBeforeTheCharge) {
  RoundByHand r;
  ContributorJob job = r.c.job_of(0, r.c.before());
  const auto sum = job.sum_records;
  job.sum_records = [&](const ProposedRound& round) {
    const CoordinatorJob coordinator = r.c.job_of_coordinator(r.c.before());
    act(*make_coordinator(r.c.round, coordinator, AbandonCode::kPerson), r.post, r.random);
    return sum(round);
  };
  const StepReport report = act(*make_contributor(r.c.round, job), r.post, r.random);
  EXPECT_TRUE(report.lost);
  EXPECT_EQ(r.c.draws, 0);
  EXPECT_FALSE(r.post.contains(r.c.contribution_of(0)));
  EXPECT_TRUE(privacy::read_ledger(r.c.ledger(0)).charges.empty());
}

/// What there is, once the role wants it: in the order in which it does.
Letters give(Role& role, const Post& post) {
  const std::string name = role.wants().front().name;
  return role.receive(find(post, name));
}

TEST(Roles, ALedgerIsLockedUntilTheContributionHasLeft) {
  RoundByHand r;
  const ContributorJob job = r.c.job_of(0, r.c.before());
  std::unique_ptr<Role> role = make_contributor(r.c.round, job);
  Letters letters;
  while (letters.empty()) letters = give(*role, r.post);
  ASSERT_EQ(letters.front().name, r.c.contribution_of(0));
  const auto lock = [&] {
    return privacy::Ledger::open(job.book.ledger, job.book.data_id, job.book.budget,
                                 std::chrono::milliseconds(20));
  };
  EXPECT_THROW(lock(), Error) << "another step could give it up, before whoever drives this one sends it";
  role.reset();
  EXPECT_NO_THROW(lock());
}

TEST(Roles, WhatHasNotLeftWhenTheRoundIsAbandonedStays) {
  RoundByHand r;
  r.site(0, r.c.before());
  r.post.erase(r.c.contribution_of(0));  // it was cut off before it left
  const ContributorJob job = r.c.job_of(0, r.c.before());
  const std::unique_ptr<Role> role = make_contributor(r.c.round, job);
  while (role->state() == "looking") EXPECT_TRUE(give(*role, r.post).empty());
  EXPECT_EQ(role->state(), "kept");
  const CoordinatorJob coordinator = r.c.job_of_coordinator(r.c.before());
  act(*make_coordinator(r.c.round, coordinator, AbandonCode::kPerson), r.post, r.random);
  EXPECT_TRUE(give(*role, r.post).empty()) << "asked once more before it is sent";
  EXPECT_EQ(role->state(), "through");
  EXPECT_TRUE(role->report().lost);
}

TEST(Roles, ADeclineIsALetter) {
  RoundByHand r;
  const std::string name = decline_name(r.c.round.id, r.c.world.sites[0].public_key());
  const std::string bytes =
      message_bytes(sign(decline_of(r.c.round, DeclineCode::kPolicy), r.c.world.sites[0]));
  r.c.verdict = {SiteVerdict::Answer::kNo, "declined: policy", Letter{name, bytes}};
  r.site(0, r.c.before());
  EXPECT_EQ(r.post.at(name), bytes);
  EXPECT_EQ(r.site(0, r.c.before()).done, std::vector<std::string>{"this site has declined"});
}

}  // namespace
}  // namespace muffle::round
