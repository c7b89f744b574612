// Releases of several rounds between institutions: one charge, one exact sum in each round, and nothing of a
// later round that does not follow from the one before.
#include "round/several_rounds.hpp"

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/privacy/ledger.hpp"
#include "muffle/release/contribution_book.hpp"
#include "muffle/release/round_release.hpp"
#include "muffle/release/rounds.hpp"
#include "muffle/release/verification.hpp"
#include "muffle/round/status.hpp"
#include "support/expect_error.hpp"

namespace muffle::round {
namespace {

using namespace release;
using test::expect_error;
namespace fs = std::filesystem;

std::string said(const StepReport& report) {
  std::string out;
  for (const auto* lines : {&report.done, &report.waits, &report.aside}) {
    for (const std::string& line : *lines) out += line + "\n";
  }
  return out;
}
#define EXPECT_SAID(report, part)                          \
  do {                                                     \
    const std::string text = said(report);                 \
    EXPECT_NE(text.find(part), std::string::npos) << text; \
  } while (false)

Verification verified(SeveralRounds& s, const std::string& release) {
  Evidence evidence;
  evidence.name = "release.mfl";
  evidence.release = release;
  evidence.messages = s.reader();
  evidence.trusted = crypto::SignerKey{s.c.world.coordinator.name(), s.c.world.coordinator.public_key()};
  evidence.ledger = {"ledger", read_file(s.c.ledger(1))};
  return verify_release(evidence);
}

std::string failures(const Verification& v) {
  std::string out;
  for (const Check& check : v.checks) {
    if (check.outcome == Check::Outcome::kFail) out += check.name + ": " + check.detail + "\n";
  }
  return out;
}

TEST(SeveralRounds, AreOneChargeAndOneExactSumInEach) {
  SeveralRounds s;
  for (std::size_t r = 0; r < 3; ++r) {
    if (r > 0) s.propose();
    s.run(r);
    const auto everything = s.c.everything();
    const int draws = s.c.draws;
    s.run(r);  // again: nothing more
    EXPECT_EQ(s.c.draws, draws);
    for (const auto& [name, bytes] : everything) EXPECT_EQ(s.c.in_exchange(name), bytes) << name;
  }
  EXPECT_EQ(s.c.draws, 3 * (4 + 3));
  EXPECT_EQ(s.erased.size(), 9u);

  const std::string name = release_name(s.rounds[2].id), bytes = s.c.in_exchange(name);
  const Artifact a = parse_artifact(bytes, name);
  const std::vector<std::size_t> all{0, 1, 2, 3};
  std::vector<std::vector<std::int64_t>> sums;
  for (const ProposedRound& round : s.rounds) {
    std::vector<std::uint64_t> expected(round.length, 0);
    for (const std::size_t i : all) test::add_to(expected, World::sums_of(round, i));
    const std::size_t r = sums.size();
    std::vector<std::int64_t>& noisy = sums.emplace_back();
    if (r < 2) {
      const Message sum = parse_message(s.c.in_exchange(sum_name(round.id)), "sum");
      noisy.assign(sum.numbers.begin(), sum.numbers.end());
    } else {
      const std::size_t b = 2;
      noisy.assign(a.values.begin() + static_cast<std::ptrdiff_t>(a.offset(b)),
                   a.values.begin() + static_cast<std::ptrdiff_t>(a.offset(b + 1)));
    }
    EXPECT_EQ(without_noise({noisy, false}, round, all, 3), expected) << "round " << r + 1;
  }
  EXPECT_EQ(a.values, joined(a, sums));
  ASSERT_EQ(a.rounds_before.size(), 2u);
  EXPECT_EQ(a.rounds_before[0].id, to_hex(s.rounds[0].id));

  const privacy::LedgerState ledger = privacy::read_ledger(s.c.ledger(2));
  ASSERT_EQ(ledger.charges.size(), 1u) << "one for all rounds";
  EXPECT_EQ(ledger.charges[0].terms.run, charged_as(s.rounds[0].id));
  EXPECT_EQ(ledger.charges[0].rounds_drawn, 3u);
  EXPECT_EQ(ledger.charges[0].terms.mu, privacy::mu_of(a.noise));
  for (const RoundRecord& r : a.rounds_before) EXPECT_EQ(r.sites[2].charge, ledger.charges[0].id);

  const Verification v = verified(s, bytes);
  std::vector<std::string> failed, passed;
  for (const Check& check : v.checks) {
    if (check.outcome == Check::Outcome::kFail) failed.push_back(check.name);
    if (check.outcome == Check::Outcome::kPass) passed.push_back(check.name);
  }
  EXPECT_EQ(failed, std::vector<std::string>{"secure noise"})
      << "the tests' noise has a seed: " << failures(v);
  for (const char* check : {"round: earlier rounds", "round: sum", "round: coordinator's word", "ledger"})
    EXPECT_EQ(std::ranges::count(passed, check), 1) << check;
  const RoundStatus first = read_status(*s.c.exchange, s.rounds[0], s.c.before());
  EXPECT_NE(status_text(first).find("(round 1 of 3)"), std::string::npos) << status_text(first);
  EXPECT_TRUE(first.set_aside.empty());
  EXPECT_NE(first.stage.find("next round"), std::string::npos) << first.stage;
}

// Nobody waits for ever for a round that nobody proposes, the coordinator included.
TEST(SeveralRounds, TheNextRoundIsWaitedForAMonth) {
  SeveralRounds s;
  s.run(0);
  const std::uint64_t until = s.rounds[0].proposal.last_day() + kNextRoundWithin;
  for (const std::uint64_t now : {until, until + 1}) {
    ContributorJob job = s.job_of(0);
    job.clock = s.c.clock(now);
    for (const StepReport& report :
         {contributor_step(s.rounds[0], *s.c.exchange, job), s.holder(0, 0, now), s.coordinator(0, now)}) {
      EXPECT_EQ(report.waits.empty(), now > until) << said(report);
      EXPECT_EQ(report.lost, now > until) << said(report);
      EXPECT_SAID(report, now > until ? "no next round was proposed" : "the next round");
    }
  }
  EXPECT_SAID(s.coordinator(0, until), "coordinator propose --after");
  s.propose();
  EXPECT_TRUE(s.coordinator(0, until + 1).done.empty()) << "what is there is not waited for";
}

// Shown two proposals for one round, a site contributes to one of them.
TEST(SeveralRounds, ARoundIsDrawnOnceWhateverProposalsThereAre) {
  SeveralRounds s;
  s.run(0);
  const Proposal one = s.next();
  Proposal other = one;
  other.contribute_until -= 7;
  const ProposedRound a = s.proposed(one), b = s.proposed(other);
  EXPECT_SAID(s.site(a, 0), "contributed");
  const int draws = s.c.draws;
  const StepReport second = s.site(b, 0);
  EXPECT_TRUE(second.lost);
  EXPECT_SAID(second, "made it under another proposal");
  EXPECT_EQ(s.c.draws, draws);
  EXPECT_FALSE(s.c.is_in_exchange(contribution_name(b.id, s.c.world.sites[0].public_key())));
}

// Also where its whole folder is an older copy: what it has sent before is a trace that stops it everywhere.
TEST(SeveralRounds, ARestoredSiteDrawsNoRoundTwice) {
  SeveralRounds s;
  s.run(0);
  const std::string ledger = read_file(s.c.ledger(0));
  const Proposal one = s.next();
  Proposal other = one;
  other.contribute_until -= 7;
  const ProposedRound a = s.proposed(one), b = s.proposed(other);
  s.site(a, 0);
  const ContributorJob job = s.c.job_of(0, s.c.before());
  EXPECT_TRUE(ledger_knows(a, *s.c.exchange, job));
  EXPECT_TRUE(ledger_knows(s.rounds[0], *s.c.exchange, job));
  write_file_atomically(s.c.ledger(0), ledger);
  EXPECT_FALSE(ledger_knows(a, *s.c.exchange, job)) << "by its copy in the outbox";
  const std::string name = contribution_name(a.id, s.c.world.sites[0].public_key());
  fs::remove(outbox(s.c.of(s.c.world.sites[0])) / name);
  EXPECT_FALSE(ledger_knows(a, *s.c.exchange, job)) << "by the one in the exchange";
  // Only a seal shows it.
  for (const std::size_t i : {1u, 2u, 3u}) s.site(a, i);
  coordinator_step(a, *s.c.exchange,
                   {s.c.world.coordinator, s.c.of(s.c.world.coordinator), s.c.clock(s.c.before()), "1.2.3"});
  ASSERT_TRUE(s.c.is_in_exchange(seal_name(a.id)));
  fs::remove(s.c.folder / "exchange" / name);
  EXPECT_FALSE(ledger_knows(a, *s.c.exchange, job)) << "by the seal";
  EXPECT_TRUE(ledger_knows(b, *s.c.exchange, job));
}

// The second wall: an honest key holder opens one seal for a round of a release, under whichever proposal.
TEST(SeveralRounds, AKeyHolderOpensARoundOnceWhateverProposalsThereAre) {
  SeveralRounds s;
  s.run(0);
  Proposal other = s.next();
  s.propose();
  for (std::size_t i = 0; i < 4; ++i) s.site(1, i);
  s.coordinator(1);
  s.holder(1, 0);
  // The same round again, with other keys; its contributions and seal are copies under its name.
  other.contribute_until -= 7;
  for (std::size_t h = 0; h < 3; ++h) {
    other.holders[h].number = 50 + h;
    other.holders[h].point = round_key_of(50 + h).point();
  }
  const ProposedRound again = s.proposed(other);
  std::vector<SignedHeader> contributions;
  for (std::size_t i = 0; i < 4; ++i)
    contributions.push_back(parse_message(s.c.world.contribution(again, i), "contribution").header);
  s.c.exchange->put(seal_name(again.id), make_seal(again, s.c.world.coordinator, contributions));
  s.rounds.push_back(again);
  expect_error(ExitCode::kProtocol, {"two seals for round 2 of one release"}, [&] { s.holder(2, 0); });
  EXPECT_FALSE(s.erased.contains(50));
}

TEST(SeveralRounds, WhoIsInTheFirstSealIsInAll) {
  SeveralRounds s;
  for (const std::size_t i : {0u, 1u, 3u}) s.site(0, i);
  s.coordinator(0, s.c.after());
  // The deadline has passed for everybody.
  const auto late = [&](std::size_t h) {
    const ProposedRound& round = s.rounds[0];
    return holder_step(round, *s.c.exchange,
                       {s.c.world.holders[h],
                        s.c.of(s.c.world.holders[h]),
                        s.c.clock(s.c.after()),
                        [](std::uint64_t) { return true; },
                        [](std::uint64_t n) { return round_key_of(n); },
                        [](const HolderKey&) {},
                        s.c.shares_of(h),
                        {}});
  };
  for (std::size_t h = 0; h < 3; ++h) late(h);
  EXPECT_SAID(s.coordinator(0, s.c.after()), "published the noisy sum of round 1 of 3");
  s.propose();
  const StepReport left_out = s.site(1, 2);
  EXPECT_TRUE(left_out.lost);
  EXPECT_SAID(left_out, "no part in this one");
  s.site(1, 0);
  s.site(1, 1);
  EXPECT_SAID(s.coordinator(1), "contributions of site3");
  EXPECT_SAID(s.coordinator(1, s.c.after()),
              "abandoned: 2 contributions came, and 3 are needed; silent: site3");
}

/// A site that had no part in the first round is not asked in the others: its silence holds nobody up.
TEST(SeveralRounds, WhoIsNotInTheFirstSealIsNotWaitedForInLaterOnes) {
  SeveralRounds s;
  s.c.decline(3);
  for (std::size_t i = 0; i < 3; ++i) s.site(0, i);
  s.coordinator(0);
  for (std::size_t h = 0; h < 3; ++h) s.holder(0, h);
  s.coordinator(0);
  s.propose();
  for (std::size_t i = 0; i < 3; ++i) s.site(1, i);
  s.coordinator(1);
  // Whose seal the first one was, the key holder's own journal says.
  const auto file = s.c.folder / "exchange" / release::seal_name(s.c.round.id);
  const std::string seal = read_file(file);
  std::filesystem::remove(file);
  StepReport report = s.holder(1, 0);
  ASSERT_EQ(report.waits.size(), 1u);
  EXPECT_EQ(report.waits[0].find("site3, whom the seal leaves out"), 0u) << report.waits[0];
  write_file_atomically(file, seal);
  for (std::size_t h = 0; h < 3; ++h) {
    report = s.holder(1, h);
    ASSERT_FALSE(report.done.empty());
    EXPECT_EQ(report.done[0].find("opened the sum of 3"), 0u) << report.done[0];
  }
}

TEST(SeveralRounds, TheRecordsStayTheSame) {
  SeveralRounds s(1000);
  s.c.records_of_a_site = 200;
  s.run(0);
  s.propose();
  s.c.records_of_a_site = 201;
  const int draws = s.c.draws;
  expect_error(ExitCode::kData, {"another number of records", "Nothing was drawn"}, [&] { s.site(1, 0); });
  EXPECT_EQ(s.c.draws, draws);
  s.c.records_of_a_site = 200;
  EXPECT_SAID(s.site(1, 0), "contributed");
}

TEST(SeveralRounds, AProposalThatDoesNotFollowDrawsNothing) {
  SeveralRounds s;
  s.run(0);
  const Proposal good = s.next();
  const auto refused = [&](const char* why, const auto& change) {
    Proposal p = good;
    change(p);
    const int draws = s.c.draws;
    expect_error(ExitCode::kProtocol, {why}, [&] { s.site(s.proposed(p), 0); });
    EXPECT_EQ(s.c.draws, draws) << why;
  };
  refused("does not go on", [](Proposal& p) { p.later->sum[3] ^= 1; });
  refused("another title", [](Proposal& p) { p.title += "."; });
  refused("another release", [](Proposal& p) {
    privacy::PrivacySpec spec;
    spec.epsilon = 2.0;
    spec.max_records_per_person = 1;
    spec.adjacency = privacy::Adjacency::kAddRemoveOne;
    p.plan = chosen(make_plan({p.plan.schema, p.plan.lattice, p.plan.maps, spec, true, 0}), 2);
  });
  refused("another release", [](Proposal& p) { p.plan.count_in(0, {{{0, 1}}, {{2}}}); });
  refused("other parties", [](Proposal& p) { std::swap(p.sites[0], p.sites[1]); });
  refused("other parties", [](Proposal& p) { p.parties.expected = 3; });
  refused("round key that was used", [&](Proposal& p) { p.holders[1] = s.rounds[0].proposal.holders[1]; });
  // The second round's sum is not there yet: the third cannot follow.
  s.propose();
  for (std::size_t i = 0; i < 4; ++i) s.site(1, i);
  Proposal third = good;
  third.later = {3, s.rounds[0].id, s.rounds[1].id, {}};
  third.plan = chosen(good.plan, 3);
  for (std::size_t h = 0; h < 3; ++h) {
    third.holders[h].number = 90 + h;
    third.holders[h].point = round_key_of(90 + h).point();
  }
  const ProposedRound early = s.proposed(third);
  EXPECT_SAID(s.site(early, 0), "which this round goes on from");
  // Nor do its key holders' keys of the first round open a third one.
  s.run(1);
  Proposal used = s.next();
  used.holders[0] = s.rounds[0].proposal.holders[0];
  expect_error(ExitCode::kProtocol, {"round key that was used"}, [&] { s.site(s.proposed(used), 0); });
}

TEST(SeveralRounds, ALedgerOfAnEarlierDayIsFoundOut) {
  SeveralRounds s;
  const auto names = [&](std::size_t r) {
    return contribution_name(s.rounds[r].id, s.c.world.sites[0].public_key());
  };
  s.run(0);
  const std::string ledger = read_file(s.c.ledger(0));
  s.propose();
  s.site(1, 0);
  write_file_atomically(s.c.ledger(0), ledger);
  expect_error(ExitCode::kProtocol, {"restored from an older copy"}, [&] { s.site(1, 0); });
  // Nor is anything drawn without any ledger: the first seal counts this site.
  fs::remove(s.c.ledger(0));
  fs::remove(s.c.folder / "exchange" / names(1));
  fs::remove(outbox(s.c.of(s.c.world.sites[0])) / names(1));
  expect_error(ExitCode::kProtocol, {"was not charged for", "restored from an older copy"},
               [&] { s.site(1, 0); });
}

TEST(SeveralRounds, ASitesLedgerVouchesForEveryRound) {
  SeveralRounds s;
  std::string first;
  for (std::size_t r = 0; r < 3; ++r) {
    if (r > 0) s.propose();
    s.run(r);
    if (r == 0) first = read_file(s.c.ledger(1));
  }
  const std::string release = s.c.in_exchange(release_name(s.rounds[2].id));
  // Round 1's contribution is replaced by another one of the same site: the release is of the first.
  const std::string name = contribution_name(s.rounds[0].id, s.c.world.sites[1].public_key());
  Message other = parse_message(s.c.in_exchange(name), name);
  other.numbers[0] += 1;
  const std::string forged =
      message_bytes(sign(other.header, s.c.world.sites[1], other.numbers), other.numbers);
  Evidence evidence;
  evidence.name = "release.mfl";
  evidence.release = release;
  evidence.messages = [&](const std::string& which, std::uint64_t most) -> std::optional<std::string> {
    return which == name ? forged : s.c.exchange->get(which, most);
  };
  evidence.ledger = {"ledger", read_file(s.c.ledger(1))};
  EXPECT_NE(failures(verify_release(evidence)).find("charged for another contribution than '" + name),
            std::string::npos);
  evidence.messages = s.reader();
  EXPECT_EQ(failures(verify_release(evidence)).find("ledger"), std::string::npos);
  evidence.ledger = {"ledger", first};  // of a day on which only the first round was there
  EXPECT_NE(
      failures(verify_release(evidence)).find("has no charge for a contribution to this round that counts"),
      std::string::npos);
}

/// Of four key holders one may be missing; another one in each round, and who was missing is back in the
/// next.
constexpr privacy::RoundParties kOneMayBeMissing{4, 4, 3, 1, 4, 1, 1};

/// Three rounds without the last site, in which the key holders 3, 0 and 3 are missing.
struct WithoutSomebody : SeveralRounds {
  WithoutSomebody() : SeveralRounds(0, kOneMayBeMissing) {
    for (std::size_t r = 0; r < 3; ++r) {
      if (r > 0) propose();
      run_without(r, gone[r]);
    }
  }
  std::string release() const { return c.in_exchange(release_name(rounds[2].id)); }
  std::size_t gone[3] = {3, 0, 3};
};

TEST(SeveralRounds, InEachAKeyHolderMayBeMissing) {
  WithoutSomebody s;
  EXPECT_EQ(s.c.draws, 3 * (3 + 3)) << "whoever was missing draws nothing";
  const Artifact a = parse_artifact(s.release(), "release");
  const privacy::Apart mode = std::get<privacy::Apart>(a.aggregation);
  EXPECT_EQ(mode.stood_in, 1);
  EXPECT_EQ(mode.stood_in_before, (std::vector<int>{1, 1}));
  for (std::size_t r = 0; r < 3; ++r) {
    SCOPED_TRACE(r);
    const ProposedRound& round = s.rounds[r];
    std::vector<std::uint64_t> expected(round.length, 0);
    for (std::size_t i = 0; i < 3; ++i) test::add_to(expected, World::sums_of(round, i));
    std::vector<std::int64_t> noisy(a.values.begin() + static_cast<std::ptrdiff_t>(a.offset(2)),
                                    a.values.begin() + static_cast<std::ptrdiff_t>(a.offset(3)));
    if (r < 2) {
      const Message sum = parse_message(s.c.in_exchange(sum_name(round.id)), "sum");
      noisy.assign(sum.numbers.begin(), sum.numbers.end());
    }
    std::vector<std::size_t> there{0, 1, 2, 3};
    std::erase(there, s.gone[r]);
    EXPECT_GT(round.noise.top_ups(3).at(0).runs.at(0).sigma_lattice, 0u) << "who opens adds noise";
    EXPECT_EQ(without_noise({noisy, false}, round, {0, 1, 2}, there), expected);
    const RoundRecord& record = r < 2 ? a.rounds_before.at(r) : *a.round;
    for (std::size_t h = 0; h < 4; ++h) {
      EXPECT_EQ(record.holders[h].opening.empty(), h == s.gone[r]);
      EXPECT_EQ(record.holders[h].stand_ins.size(), h == s.gone[r] ? 3u : 0u);
    }
  }
  EXPECT_EQ(failures(verified(s, s.release())).find("secure noise"), 0u)
      << failures(verified(s, s.release()));
  bool told = false;
  for (const Check& check : verified(s, s.release()).checks)
    told = told || (check.name == "round: earlier rounds" &&
                    check.detail.find("of 2 key holders who were missing") != std::string::npos);
  EXPECT_TRUE(told);
  const std::string text = privacy_statement_text(a);
  for (const char* part : {"1 of them in round 1, 1 of them in round 2, 1 of them in round 3 were missing",
                           "holder0 (missing in round 2: others", "holder3 (missing in rounds 1, 3: others"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

/// Each round by itself: what one round's key holder has not opened, it opens in no later one.
TEST(SeveralRounds, WhoWasMissingIsBackInTheNextRoundAndOpensTheEarlierOneNoMore) {
  SeveralRounds s(0, kOneMayBeMissing);
  s.run_without(0, 3);
  // By its own clock it is not late yet; but others were asked.
  const StepReport early = s.holder(0, 3, s.c.after());
  EXPECT_SAID(early, "has asked others to stand in for this key holder");
  EXPECT_TRUE(s.erased.contains(3));
  EXPECT_FALSE(s.c.is_in_exchange(opening_name(s.rounds[0].id, s.c.world.holders[3].public_key())));
  EXPECT_FALSE(early.lost) << "the release comes all the same";
  EXPECT_FALSE(s.holder(0, 3, s.rounds[0].proposal.open_until + 1).lost);
  // Nor with the request hidden: its key is gone.
  const std::string request = stand_in_request_name(s.rounds[0].id);
  const std::string bytes = s.c.in_exchange(request);
  fs::remove(s.c.folder / "exchange" / request);
  expect_error(ExitCode::kConfig, {"it is not there", "others may stand in"},
               [&] { s.holder(0, 3, s.c.after()); });
  s.c.exchange->put(request, bytes);
  s.propose();
  for (std::size_t i = 0; i < 3; ++i) s.site(1, i);
  s.coordinator(1);
  // It has not opened the first seal, so that it takes nobody's word on who was in that: it waits for all.
  EXPECT_SAID(s.holder(1, 3, s.c.before()), "site3, whom the seal leaves out");
  EXPECT_SAID(s.holder(1, 2, s.c.before()), "opened the sum of 3");
  EXPECT_SAID(s.holder(1, 3, s.c.after()), "opened the sum of 3");
}

TEST(SeveralRounds, WhatStandInsGaveInAnEarlierRoundIsVerified) {
  WithoutSomebody s;
  const std::string release = s.release();
  const auto refused = [&](const std::string& bytes, const char* part) {
    EXPECT_NE(failures(verified(s, bytes)).find(part), std::string::npos) << failures(verified(s, bytes));
  };
  for (std::size_t r = 0; r < 3; ++r) {
    const std::string giver = stand_in_name(s.rounds[r].id, s.c.world.holders[1].public_key());
    for (const std::string& name : {giver, stand_in_request_name(s.rounds[r].id)}) {
      const fs::path file = s.c.folder / "exchange" / name;
      const std::string kept = read_file(file);
      fs::remove(file);
      refused(release, r < 2 ? "round: earlier rounds" : "round: sum");
      // Another answer of the same key holder, well signed, with one share changed.
      SignedHeader other = parse_message(kept, name).header;
      if (name == giver) {
        auto& share = other.body["missing"][0]["shares"][0];
        share = std::string(64, share.get<std::string>()[0] == 'a' ? 'b' : 'a');
        write_file_atomically(file, message_bytes(sign(std::move(other), s.c.world.holders[1])));
        refused(release, r < 2 ? "round: earlier rounds" : "round: sum");
      }
      write_file_atomically(file, kept);
    }
  }
  EXPECT_EQ(failures(verified(s, release)).find("secure noise"), 0u) << "all is as it was";
  // What the release says of it.
  Artifact a = parse_artifact(release, "release");
  std::swap(a.rounds_before[1].holders[0].stand_ins[0], a.rounds_before[1].holders[0].stand_ins[1]);
  refused(artifact_bytes(a), "names other messages, keys or charges");
  a = parse_artifact(release, "release");
  std::get<privacy::Apart>(a.aggregation).stood_in_before = {1, 0};
  EXPECT_THROW((void)artifact_bytes(a), Error) << "not what its rounds say";
  std::get<privacy::Apart>(a.aggregation).stood_in_before = {};
  EXPECT_THROW((void)artifact_bytes(a), Error);
}

TEST(SeveralRounds, AKeyHolderObjectsToASumOfOtherStandIns) {
  SeveralRounds s(0, kOneMayBeMissing);
  s.run_without(0, 3);
  const std::string name = sum_name(s.rounds[0].id);
  const Message sum = parse_message(s.c.in_exchange(name), name);
  EXPECT_EQ(sum_in(s.rounds[0], sum.header).opened.at(3).stand_ins.size(), 3u);
  const std::uint64_t late = s.rounds[0].proposal.open_until + 1;
  EXPECT_SAID(s.holder(0, 0, late), "contributions and openings add up to it");
  EXPECT_FALSE(fs::exists(s.shares_of(0, 0))) << "the round has its sum";
  // Numbers that no stand-ins make, signed by the coordinator.
  Message forged = sum;
  forged.numbers[1] += 1;
  fs::remove(s.c.folder / "exchange" / name);
  s.c.exchange->put(
      name, message_bytes(sign(forged.header, s.c.world.coordinator, forged.numbers), forged.numbers));
  expect_error(ExitCode::kProtocol, {"is not what its contributions and openings add up to"},
               [&] { s.holder(0, 1, late); });
  // What a sum may say of who was missing.
  const auto refused = [&](const char* part, const auto& change) {
    SignedHeader header = sum.header;
    change(header.body);
    expect_error(ExitCode::kProtocol, {part}, [&] { (void)sum_in(s.rounds[0], header); });
  };
  const std::string none(64, '0');
  refused("openings", [&](auto& body) { body["openings"][1] = none; });
  refused("stand_ins", [](auto& body) { body.erase("stand_ins"); });
  refused("stand_ins", [](auto& body) { body["stand_ins"].push_back(body["stand_ins"][0]); });
  refused("stand_ins", [](auto& body) { body["stand_ins"][0].erase(0); });
  refused("stand_ins", [](auto& body) { body["stand_ins"][0][0] = "ab"; });
  refused("stand_ins", [](auto& body) { body["stand_ins"] = "ab"; });
  refused("are for sums of which", [](auto& body) { body["openings"][3] = body["openings"][0]; });
  SeveralRounds whole;
  whole.run(0);
  const SignedHeader all = parse_message(whole.c.in_exchange(sum_name(whole.rounds[0].id)), "sum").header;
  EXPECT_FALSE(all.body.contains("stand_ins"));
  SignedHeader lacks = all;
  lacks.body["openings"][1] = none;
  expect_error(ExitCode::kProtocol, {"lack 1, and 0 may be missing"},
               [&] { (void)sum_in(whole.rounds[0], lacks); });
}

TEST(SeveralRounds, VerifyNoticesASumThatIsNone) {
  SeveralRounds s;
  s.run(0);
  // The coordinator signs another sum, and goes on from that.
  const std::string name = sum_name(s.rounds[0].id);
  Message sum = parse_message(s.c.in_exchange(name), name);
  sum.numbers[0] += 5;
  const std::string forged = message_bytes(sign(sum.header, s.c.world.coordinator, sum.numbers), sum.numbers);
  fs::remove(s.c.folder / "exchange" / name);
  s.c.exchange->put(name, forged);
  expect_error(ExitCode::kProtocol, {"is not what its contributions and openings add up to"},
               [&] { s.holder(0, 1); });
  for (std::size_t r = 1; r < 3; ++r) {
    s.propose();
    s.run(r);
  }
  const Verification v = verified(s, s.c.in_exchange(release_name(s.rounds[2].id)));
  EXPECT_EQ(v.code(), ExitCode::kProtocol);
  EXPECT_NE(failures(v).find("the sum of round 1 is not what contributions and openings add up to"),
            std::string::npos)
      << failures(v);
}

}  // namespace
}  // namespace muffle::round
