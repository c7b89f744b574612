// Rounds between institutions, step by step, over a folder: what each party does, in which order, and what it
// refuses.
#include <fstream>
#include <functional>
#include <new>

#include "muffle/privacy/ledger.hpp"
#include "muffle/release/contribution_book.hpp"
#include "muffle/release/journal.hpp"
#include "muffle/release/round_release.hpp"
#include "muffle/round/status.hpp"
#include "muffle/round/step.hpp"
#include "round/whole_round.hpp"
#include "support/expect_error.hpp"

namespace muffle::round {
namespace {

using namespace release;
using test::expect_error;
namespace fs = std::filesystem;

std::string all_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}
#define EXPECT_SAYS(lines, part) EXPECT_NE(all_of(lines).find(part), std::string::npos) << all_of(lines)

TEST(Steps, ARoundOverAFolderIsOneExactSumUnderTheNoiseOfThoseWhoCame) {
  ConsortiumOfFolders c;
  for (std::size_t i = 0; i < 4; ++i) {
    const StepReport report = c.site(i, c.before());
    EXPECT_SAYS(report.done, "contributed, for charge");
    EXPECT_SAYS(report.waits, "seal");
    EXPECT_SAYS(c.coordinator(c.before()).done, i < 3 ? "" : "sealed 4 of 4");
  }
  for (std::size_t h = 0; h < 3; ++h) EXPECT_SAYS(c.holder(h, c.before()).done, "opened the sum of 4");
  EXPECT_EQ(c.erased.size(), 3u);
  EXPECT_SAYS(c.coordinator(c.before()).done, "released");
  const Artifact a = c.released();
  const std::vector<std::size_t> all{0, 1, 2, 3};
  std::vector<std::uint64_t> expected(c.round.length, 0);
  for (const std::size_t i : all) test::add_to(expected, World::sums_of(c.round, i));
  EXPECT_EQ(without_noise({a.values, a.is_private}, c.round, all, 3), expected);
  EXPECT_EQ(a.aggregation, privacy::AggregationMode(privacy::Apart{c.round.proposal.parties, 4}));
  EXPECT_FALSE(a.is_private) << "the tests' noise has a seed, and every message says so";
  // Everybody takes note, once.
  for (std::size_t i = 0; i < 4; ++i) EXPECT_SAYS(c.site(i, c.after()).done, "the round is released");
  for (std::size_t h = 0; h < 3; ++h) EXPECT_SAYS(c.holder(h, c.after()).done, "sent a receipt");
  const privacy::LedgerState ledger = privacy::read_ledger(c.ledger(2));
  ASSERT_EQ(ledger.charges.size(), 1u);
  EXPECT_EQ(ledger.charges[0].id, a.round->sites[2].charge);
  EXPECT_EQ(ledger.data_id, a.round->sites[2].data_id);
  EXPECT_EQ(ledger.charges[0].terms.run, charged_as(c.round.id));
  EXPECT_TRUE(ledger.charges[0].released);
  EXPECT_GT(ledger.charges[0].terms.alone_mu, 1.7 * ledger.charges[0].terms.mu) << "sqrt(N - t)";
  EXPECT_LT(ledger.charges[0].terms.alone_mu, 1.74 * ledger.charges[0].terms.mu);
}

TEST(Steps, AStepThatIsTakenAgainChangesNothing) {
  ConsortiumOfFolders c;
  const auto twice = [&](const auto& step) {
    step();
    const auto before = c.everything();
    const int draws = c.draws;
    step();
    EXPECT_EQ(c.everything(), before);
    EXPECT_EQ(c.draws, draws);
  };
  for (std::size_t i = 0; i < 4; ++i) twice([&] { c.site(i, c.before()); });
  twice([&] { c.coordinator(c.before()); });
  for (std::size_t h = 0; h < 3; ++h) twice([&] { c.holder(h, c.before()); });
  twice([&] { c.coordinator(c.before()); });
  for (std::size_t i = 0; i < 4; ++i) twice([&] { c.site(i, c.before()); });
  for (std::size_t h = 0; h < 3; ++h) twice([&] { c.holder(h, c.before()); });
  EXPECT_EQ(privacy::read_ledger(c.ledger(0)).charges.size(), 1u);
  EXPECT_EQ(c.draws, 4 + 3);
}

TEST(Steps, NobodyIsLeftOutBeforeTheDeadlineButByItsOwnWord) {
  ConsortiumOfFolders c;
  for (const std::size_t i : {0u, 1u, 3u}) c.site(i, c.before());
  StepReport report = c.coordinator(c.before());
  EXPECT_SAYS(report.waits, "site2");
  EXPECT_FALSE(c.is_in_exchange(seal_name(c.round.id)));
  c.decline(2);
  EXPECT_SAYS(c.site(2, c.before()).done, "has declined");
  EXPECT_SAYS(c.coordinator(c.before()).done, "sealed 3 of 4 contributions, without site2");
  EXPECT_SAYS(c.holder(0, c.before()).done, "opened the sum of 3");
  // A seal of fewer, of a coordinator that will not wait.
  ConsortiumOfFolders two;
  for (const std::size_t i : {0u, 1u, 3u}) two.site(i, two.before());
  two.coordinator(two.after());
  ASSERT_TRUE(two.is_in_exchange(seal_name(two.round.id)));
  report = two.holder(0, two.before());
  EXPECT_SAYS(report.waits, "site2, whom the seal leaves out");
  EXPECT_FALSE(two.is_in_exchange(two.opening_of(0)));
  EXPECT_TRUE(two.erased.empty());
  EXPECT_SAYS(two.holder(0, two.after()).done, "opened the sum of 3");
  EXPECT_SAYS(two.site(2, two.before()).done, "sealed without this site");
  EXPECT_FALSE(fs::exists(two.ledger(2)) && !privacy::read_ledger(two.ledger(2)).charges.empty());
}

TEST(Steps, TooFewMakeNoReleaseAndTheRoundSaysSo) {
  ConsortiumOfFolders c;
  c.site(0, c.before());
  c.site(1, c.before());
  EXPECT_FALSE(c.coordinator(c.before()).lost);
  const StepReport report = c.coordinator(c.after());
  EXPECT_TRUE(report.lost);
  EXPECT_SAYS(report.done, "abandoned: 2 contributions came, and 3 are needed; silent: site2, site3");
  EXPECT_TRUE(c.site(2, c.after()).lost) << "by its own clock it is too late";
  EXPECT_FALSE(c.is_in_exchange(seal_name(c.round.id)));
  // A key holder's key is erased after the last date, unasked, also if it never hears of that.
  fs::remove(c.folder / "exchange" / abandonment_name(c.round.id));
  EXPECT_FALSE(c.holder(0, c.after()).lost);
  EXPECT_TRUE(c.erased.empty());
  EXPECT_TRUE(c.holder(0, c.round.proposal.open_until + 1).lost);
  EXPECT_EQ(c.erased, std::set<std::size_t>{0});
}

TEST(Steps, PolicyAndBudgetComeBeforeRecords) {
  ConsortiumOfFolders c;
  c.verdict = {SiteVerdict::Answer::kWait, "an approval of one more person"};
  EXPECT_SAYS(c.site(0, c.before()).waits, "approval");
  c.verdict = {SiteVerdict::Answer::kNo, "declined: policy"};
  EXPECT_SAYS(c.site(0, c.before()).done, "declined: policy");
  c.verdict = {SiteVerdict::Answer::kYes, ""};
  c.budget = privacy::Budget{1e-3, 1e-5, {}};
  expect_error(ExitCode::kBudget, {"budget refuses", "No record was read"}, [&] { c.site(0, c.before()); });
  EXPECT_EQ(c.draws, 0);
  EXPECT_FALSE(c.is_in_exchange(c.contribution_of(0)));
}

TEST(Steps, UnderReplaceOneRecordsAreCountedAndBounded) {
  ConsortiumOfFolders c({4, 4, 3, 1, 3, 1, 0}, 1'000'000);
  c.records_of_a_site = 200'000;
  run_round(c, {0, 1, 2}, c.before());
  c.coordinator(c.after());
  for (std::size_t h = 0; h < 3; ++h) c.holder(h, c.after());
  c.coordinator(c.after());
  EXPECT_EQ(c.released().records, 600'000u);
  ConsortiumOfFolders more({4, 4, 3, 1, 3, 1, 0}, 1000);
  more.records_of_a_site = 1001;
  expect_error(ExitCode::kData, {"more records", "Nothing was charged"},
               [&] { more.site(0, more.before()); });
}

/// An active coordinator's question for nothing: does a site have a record that this schema lacks? Its step
/// would fail, and nobody be charged.
TEST(Steps, AProposalThatRefusesFilesForWhatRecordsHoldIsNone) {
  ReleasePlan plan = plan_of(0);
  plan.schema.on_error = schema::OnError::kRejectFile;
  expect_error(ExitCode::kProtocol, {"refuses files for what their records hold", "free of charge"}, [&] {
    ConsortiumOfFolders c({4, 4, 3, 1, 3, 1, 0}, plan);
  });
}

/// What is left to ask so: whether files keep to their format. Each such answer takes a person's act.
TEST(Steps, RecordsThatCannotBeSummedStopASiteInAllOtherRoundsUntilSomebodyHasLooked) {
  ConsortiumOfFolders c;
  const auto step = [&](const ProposedRound& round, const char* problem) {
    ContributorJob job = c.job_of(0, c.before());
    job.sum_records = [&, problem](const ProposedRound& asked) {
      if (problem != nullptr) throw DataError(problem);
      return OwnSums{embed::TestAccess::make(World::sums_of(asked, 0)), 0};
    };
    return contributor_step(round, *c.exchange, job);
  };
  // The same parties, asked another question.
  Proposal question = c.round.proposal;
  question.title = "another";
  SignedHeader header{.kind = MessageKind::kProposal};
  header.body = body_of(question);
  const ProposedRound other(
      parse_message(message_bytes(sign(std::move(header), c.world.coordinator)), "other"), "other");
  expect_error(ExitCode::kData, {"a bare quote"}, [&] { step(c.round, "a bare quote"); });
  for (const char* problem : {static_cast<const char*>(nullptr), "another column"})
    expect_error(ExitCode::kData,
                 {"could not be summed for the round " + short_id(c.round.id), "No record was read"},
                 [&] { step(other, problem); });
  expect_error(ExitCode::kData, {"a bare quote"}, [&] { step(c.round, "a bare quote"); });
  // A person mends the files, or takes the note away.
  const fs::path note = c.of(c.world.sites[0]) / "records-refused";
  ASSERT_TRUE(fs::exists(note));
  EXPECT_EQ(c.draws, 0);
  EXPECT_SAYS(step(c.round, nullptr).done, "contributed, for charge");
  EXPECT_FALSE(fs::exists(note));
  EXPECT_SAYS(step(other, nullptr).done, "contributed, for charge");
  // What settings or a person end is no answer; whatever else ends it may be.
  const auto noted_after = [](const std::function<OwnSums()>& fail) {
    ConsortiumOfFolders d;
    ContributorJob job = d.job_of(0, d.before());
    bool noted_before = false;
    job.sum_records = [&](const ProposedRound&) -> OwnSums {
      noted_before = fs::exists(d.of(d.world.sites[0]) / "records-refused");
      return fail();
    };
    EXPECT_ANY_THROW(contributor_step(d.round, *d.exchange, job));
    EXPECT_TRUE(noted_before);  // a kill would leave it
    return fs::exists(d.of(d.world.sites[0]) / "records-refused");
  };
  EXPECT_FALSE(noted_after([]() -> OwnSums { throw ConfigError("a setting"); }));
  EXPECT_FALSE(noted_after([]() -> OwnSums { throw ErrorOf<ExitCode::kStopped>("told to stop"); }));
  EXPECT_TRUE(noted_after([]() -> OwnSums { throw CommError("a rank is gone"); }));
  EXPECT_TRUE(noted_after([]() -> OwnSums { throw std::bad_alloc(); }));
}

/// Summing takes hours. What is decided meanwhile counts: nothing is charged or drawn.
TEST(Steps, ConsentAndTheDayAreAskedAgainOnceRecordsAreSummed) {
  const auto after_summing = [](const char* says, const auto& meanwhile) {
    SCOPED_TRACE(says);
    ConsortiumOfFolders c;
    for (const std::size_t i : {1u, 2u, 3u}) c.site(i, c.before());
    const int draws = c.draws;
    std::uint64_t now = c.before();
    ContributorJob job = c.job_of(0, now);
    job.clock.now = [&] { return now; };
    job.sum_records = [&](const ProposedRound& asked) {
      meanwhile(c, now);
      return OwnSums{embed::TestAccess::make(World::sums_of(asked, 0)), 0};
    };
    const StepReport report = contributor_step(c.round, *c.exchange, job);
    EXPECT_SAYS(report.done, says);
    EXPECT_TRUE(report.waits.empty()) << all_of(report.waits);
    EXPECT_EQ(c.draws, draws);
    EXPECT_FALSE(c.is_in_exchange(c.contribution_of(0)));
    EXPECT_TRUE(privacy::read_ledger(c.ledger(0)).charges.empty());
  };
  after_summing("this site has declined", [](ConsortiumOfFolders& c, std::uint64_t&) { c.decline(0); });
  after_summing("has abandoned the round", [](ConsortiumOfFolders& c, std::uint64_t&) {
    const CoordinatorJob job{c.world.coordinator, c.of(c.world.coordinator), c.clock(c.before()), "1.2.3"};
    abandon_round(c.round, *c.exchange, job, AbandonCode::kPerson);
  });
  after_summing("sealed without this site",
                [](ConsortiumOfFolders& c, std::uint64_t&) { c.coordinator(c.after()); });
  after_summing("contributions were wanted until", [](ConsortiumOfFolders& c, std::uint64_t& now) {
    now = c.round.proposal.contribute_until + 1;
  });
  after_summing("a limit was lowered", [](ConsortiumOfFolders& c, std::uint64_t&) {
    c.verdict = {SiteVerdict::Answer::kNo, "a limit was lowered"};
  });
}

// The one call after another that a crash may fall between.
TEST(Steps, AChargeWithoutAContributionIsSpentAndNothingIsDrawnAgain) {
  ConsortiumOfFolders c;
  {
    ChargedDocument document({c.ledger(0), "site0", {}, std::chrono::milliseconds(1000)});
    EXPECT_ANY_THROW(document.begin(contribution_terms(c.round, false),
                                    [](const Charge&) { throw InvariantError("a crash"); }));
  }
  for (int again = 0; again < 2; ++again) {
    const StepReport report = c.site(0, c.before());
    EXPECT_TRUE(report.lost);
    EXPECT_SAYS(report.done, "no second contribution is drawn");
  }
  EXPECT_EQ(c.draws, 0);
  EXPECT_EQ(privacy::read_ledger(c.ledger(0)).charges.size(), 1u);
}

TEST(Steps, ARestoredLedgerStopsASite) {
  ConsortiumOfFolders c;
  EXPECT_TRUE(ledger_knows(c.round, *c.exchange, c.job_of(0, c.before()))) << "of nothing";
  c.site(0, c.before());
  EXPECT_TRUE(ledger_knows(c.round, *c.exchange, c.job_of(0, c.before())));
  const auto keep = c.folder / "kept";
  fs::copy(c.of(c.world.sites[0]), keep, fs::copy_options::recursive);
  fs::remove_all(c.of(c.world.sites[0]));
  fs::create_directory(c.of(c.world.sites[0]));
  expect_error(ExitCode::kProtocol, {"ledger does not know", "restored from an older copy"},
               [&] { c.site(0, c.before()); });
  EXPECT_EQ(c.draws, 1);
  // Nor may it contribute to any other round.
  EXPECT_FALSE(ledger_knows(c.round, *c.exchange, c.job_of(0, c.before())));
  EXPECT_TRUE(ledger_knows(c.round, *c.exchange, c.job_of(1, c.before()))) << "another site's";
  // With the ledger alone the bytes come back from the exchange.
  fs::copy_file(keep / "ledger.mfl", c.ledger(0), fs::copy_options::overwrite_existing);
  EXPECT_NO_THROW(c.site(0, c.before()));
  EXPECT_EQ(read_file(outbox(c.of(c.world.sites[0])) / c.contribution_of(0)),
            c.in_exchange(c.contribution_of(0)));
  // And with the outbox alone the exchange gets them again, the same.
  const std::string bytes = c.in_exchange(c.contribution_of(0));
  fs::remove(c.folder / "exchange" / c.contribution_of(0));
  c.site(0, c.before());
  EXPECT_EQ(c.in_exchange(c.contribution_of(0)), bytes);
}

TEST(Steps, ARestoredJournalStopsAKeyHolder) {
  ConsortiumOfFolders c;
  for (std::size_t i = 0; i < 4; ++i) c.site(i, c.before());
  c.coordinator(c.before());
  c.holder(0, c.before());
  const std::string opening = c.in_exchange(c.opening_of(0));
  fs::remove_all(c.of(c.world.holders[0]));
  fs::create_directory(c.of(c.world.holders[0]));
  c.erased.clear();  // and its keys, which should not have been in the copy
  expect_error(ExitCode::kProtocol, {"journal does not know it", "restored"},
               [&] { c.holder(0, c.before()); });
  EXPECT_EQ(c.draws, 4 + 1);
  EXPECT_EQ(c.in_exchange(c.opening_of(0)), opening);
  // Without its key it counts as missing.
  fs::remove(c.folder / "exchange" / c.opening_of(0));
  c.erased.insert(0);
  expect_error(ExitCode::kConfig, {"counts as missing", "Nothing was opened"},
               [&] { c.holder(0, c.before()); });
}

TEST(Steps, ASecondSealForARoundKeyIsRefusedAndNamed) {
  ConsortiumOfFolders c;
  for (std::size_t i = 0; i < 4; ++i) c.site(i, c.before());
  c.coordinator(c.before());
  c.holder(0, c.before());
  const std::string first = c.in_exchange(seal_name(c.round.id));
  // Another list of the same round, which a two-faced coordinator shows this holder later.
  std::vector<SignedHeader> fewer;
  for (const std::size_t i : {0u, 1u, 2u})
    fewer.push_back(parse_message(c.in_exchange(c.contribution_of(i)), "c").header);
  fs::create_directory(c.folder / "two-faced");
  const auto lies = make_exchange((c.folder / "two-faced").string());
  lies->put(seal_name(c.round.id), make_seal(c.round, c.world.coordinator, fewer));
  expect_error(ExitCode::kProtocol,
               {"two seals for round key 0", to_hex(parse_message(first, "s").header.id())},
               [&] { c.holder(0, c.after(), *lies); });
  EXPECT_EQ(c.draws, 4 + 1);
  if (fs::exists(c.folder / "two-faced" / c.opening_of(0))) {
    EXPECT_EQ(read_file(c.folder / "two-faced" / c.opening_of(0)), c.in_exchange(c.opening_of(0)))
        << "nothing but what it has said already";
  }
  // A seal that was written down, and not opened yet, binds as well.
  ConsortiumOfFolders d;
  for (std::size_t i = 0; i < 4; ++i) d.site(i, d.before());
  d.coordinator(d.before());
  Journal(d.of(d.world.holders[0]) / "journal.mfj", d.world.holders[0].public_key(),
          std::chrono::milliseconds(1000))
      .add({JournalEntry::Kind::kSeal, d.round.id, d.round.proposal.holders[0].point, MessageKind::kSeal,
            Sha256Digest{1}});
  expect_error(ExitCode::kProtocol, {"two seals"}, [&] { d.holder(0, d.before()); });
  EXPECT_TRUE(d.erased.empty());
}

TEST(Steps, ATwoFacedCoordinatorCannotSealWhatSitesSaidOfTwoProposals) {
  ConsortiumOfFolders c, other;
  c.site(0, c.before());
  // Another proposal is another round: its contributions are foreign here.
  EXPECT_NE(to_hex(c.round.id), to_hex(other.round.id));
  for (const std::size_t i : {1u, 2u, 3u}) c.site(i, c.before());
  fs::remove(c.folder / "exchange" / c.contribution_of(1));
  other.site(1, other.before());
  c.exchange->put(c.contribution_of(1), other.in_exchange(other.contribution_of(1)));
  const StepReport report = c.coordinator(c.before());
  EXPECT_SAYS(report.aside, "of another round");
  EXPECT_SAYS(report.waits, "site1");
  // The site itself sees that somebody has put something in its place.
  expect_error(ExitCode::kProtocol, {"not signed by it"}, [&] { c.site(1, c.before()); });
}

TEST(Steps, WhatIsNoneOfTheRoundsMessagesIsKeptAsideWithAReason) {
  ConsortiumOfFolders c;
  c.site(0, c.before());
  c.site(2, c.before());
  c.site(3, c.before());
  const std::string good = c.in_exchange(c.contribution_of(0));
  const auto put_instead = [&](const std::string& name, const std::string& bytes) {
    fs::remove(c.folder / "exchange" / name);
    std::ofstream(c.folder / "exchange" / name, std::ios::binary) << bytes;
  };
  const auto aside = [&](const char* part) { EXPECT_SAYS(c.coordinator(c.before()).aside, part); };
  put_instead(c.contribution_of(1), good);
  aside("another site's contribution");  // copied
  std::string forged = good;
  forged[forged.size() / 2] = static_cast<char>(forged[forged.size() / 2] ^ 1);
  put_instead(c.contribution_of(1), forged);
  aside(c.contribution_of(1).c_str());
  put_instead(c.contribution_of(1), good + std::string(std::size_t{1} << 17, 'x'));
  aside("bytes");  // oversized
  put_instead(c.contribution_of(1), good.substr(0, good.size() - 9));
  aside(c.contribution_of(1).c_str());
  put_instead(c.contribution_of(1), "<html>Your access was blocked by policy</html>");
  aside(c.contribution_of(1).c_str());
  put_instead(short_id(c.round.id) + "-contribution-0123456789abcdef.mfm", good);
  aside("of nobody who takes part");
  fs::remove(c.folder / "exchange" / c.contribution_of(1));
  // Late: after the seal.
  c.coordinator(c.after());
  c.site(1, c.before());  // whose clock is slow, and who sees no seal
  put_instead(c.contribution_of(1), good);
  EXPECT_FALSE(c.coordinator(c.after()).aside.empty());
}

TEST(Steps, ALateContributionIsNamedAndDoesNotCount) {
  ConsortiumOfFolders c;
  fs::create_directory(c.folder / "elsewhere");
  const auto elsewhere = make_exchange((c.folder / "elsewhere").string());
  c.site(1, c.before(), *elsewhere);  // on a courier's way
  for (const std::size_t i : {0u, 2u, 3u}) c.site(i, c.before());
  c.coordinator(c.after());
  c.exchange->put(c.contribution_of(1), *elsewhere->get(c.contribution_of(1), 1 << 20));
  EXPECT_SAYS(c.coordinator(c.after()).aside, "came after the seal");
  const StepReport report = c.site(1, c.after());
  EXPECT_TRUE(report.lost);
  EXPECT_SAYS(report.done, "sealed the round without this site; its charge stays spent");
}

TEST(Steps, AWrongMacIsAnObjectionAndTheSumIsNoRelease) {
  ConsortiumOfFolders c;
  for (const std::size_t i : {0u, 2u, 3u}) c.site(i, c.before());
  Message m = parse_message(c.world.contribution(c.round, 1), "c");
  m.header.body["point"] = to_hex(crypto::ExchangeKey::generate().point());
  m.header = sign(std::move(m.header), c.world.sites[1], m.numbers);
  c.exchange->put(c.contribution_of(1), message_bytes(m.header, m.numbers));
  c.coordinator(c.before());
  for (std::size_t h = 0; h < 3; ++h) EXPECT_SAYS(c.holder(h, c.before()).done, "objects to some");
  expect_error(ExitCode::kProtocol, {"key holders object to site1", "no release"},
               [&] { c.coordinator(c.before()); });
  EXPECT_FALSE(c.is_in_exchange(release_name(c.round.id)));
}

/// A key holder that lies of a site's MAC: the sum shows it, where it has numbers enough.
TEST(Steps, AnObjectionAloneEndsNoRound) {
  ConsortiumOfFolders c({4, 4, 3, 1, 3, 1, 0}, 0, {9, 9, 9});
  ASSERT_GE(c.round.length, 64u);
  for (std::size_t i = 0; i < 4; ++i) c.site(i, c.before());
  c.coordinator(c.before());
  for (std::size_t h = 0; h < 3; ++h) c.holder(h, c.before());
  Message m = parse_message(c.in_exchange(c.opening_of(1)), "o");
  m.header.body["objections"] = {to_hex(c.world.sites[2].public_key())};
  m.header = sign(std::move(m.header), c.world.holders[1], m.numbers);
  fs::remove(c.folder / "exchange" / c.opening_of(1));
  c.exchange->put(c.opening_of(1), message_bytes(m.header, m.numbers));
  const RoundStatus before = read_status(*c.exchange, c.round, c.before());
  EXPECT_EQ(before.holders[1].state, "opened, and objects to some contributions");
  const StepReport report = c.coordinator(c.before());
  EXPECT_SAYS(report.done, "released");
  EXPECT_SAYS(report.aside, "contributions of site2");
  const Verification v = verified(c, c.in_exchange(release_name(c.round.id)), c.world.coordinator);
  EXPECT_EQ(v.code(), ExitCode::kBudget) << "but for the tests' seeded noise it is right";
}

/// A release is what its coordinator has stated; a receipt, an opening, what it says.
TEST(Steps, TheStatusBelievesNoName) {
  ConsortiumOfFolders c;
  const auto put = [&](const std::string& name, const std::string& bytes) { c.exchange->put(name, bytes); };
  put(release_name(c.round.id), "released!");
  RoundStatus status = read_status(*c.exchange, c.round, c.before());
  EXPECT_FALSE(status.released);
  EXPECT_EQ(status.stage, "waits for sites to contribute.");
  EXPECT_EQ(status.set_aside.size(), 1u);
  fs::remove(c.folder / "exchange" / release_name(c.round.id));
  run_round(c, {0, 1, 2, 3}, c.before());
  status = read_status(*c.exchange, c.round, c.before());
  EXPECT_TRUE(status.released);
  EXPECT_TRUE(status.set_aside.empty());
  SignedHeader receipt{.kind = MessageKind::kReceipt, .round = c.round.id, .answers = Sha256Digest{1}};
  receipt.body = {{"round_key_erased", true}, {"sum", "verified"}};
  put(receipt_name(c.round.id, c.world.sites[0].public_key()),
      message_bytes(sign(std::move(receipt), c.world.sites[0])));
  status = read_status(*c.exchange, c.round, c.before());
  ASSERT_EQ(status.set_aside.size(), 1u);
  EXPECT_NE(status.set_aside[0].why.find("of another release or abandonment"), std::string::npos)
      << status.set_aside[0].why;
}

/// The coordinator gives a round up: it says so once, and everybody obeys.
TEST(Steps, AnAbandonedRoundIsContributedSealedAndOpenedNoMore) {
  ConsortiumOfFolders c;
  for (const std::size_t i : {0u, 1u, 2u}) c.site(i, c.before());
  const CoordinatorJob job{c.world.coordinator, c.of(c.world.coordinator), c.clock(c.before()), "1.2.3"};
  // Whoever else puts a file there has given up nothing.
  SignedHeader forged = abandonment_of(c.round, AbandonCode::kPerson);
  c.exchange->put(abandonment_name(c.round.id), message_bytes(sign(std::move(forged), c.world.sites[0])));
  EXPECT_FALSE(c.site(0, c.before()).lost);
  EXPECT_FALSE(read_status(*c.exchange, c.round, c.before()).abandoned);
  fs::remove(c.folder / "exchange" / abandonment_name(c.round.id));
  EXPECT_SAYS(abandon_round(c.round, *c.exchange, job, AbandonCode::kPerson).done, "abandoned");
  const RoundStatus status = read_status(*c.exchange, c.round, c.before());
  EXPECT_TRUE(status.abandoned);
  EXPECT_EQ(status.sites[3].state, "not asked any more");
  EXPECT_EQ(status.stage.find("abandoned by the coordinator (person)"), 0u) << status.stage;
  // A site that has contributed waits no more; another contributes no more, and is charged nothing.
  for (const std::size_t i : {0u, 3u}) {
    const StepReport report = c.site(i, c.before());
    EXPECT_TRUE(report.lost && report.waits.empty());
    EXPECT_SAYS(report.done, "has abandoned the round (person)");
  }
  EXPECT_EQ(privacy::read_ledger(c.ledger(0)).charges.size(), 1u) << "what is charged stays charged";
  EXPECT_TRUE(privacy::read_ledger(c.ledger(3)).charges.empty());
  EXPECT_EQ(c.draws, 3);
  // Nothing is sealed; a key holder erases its key, and says so.
  for (const std::uint64_t now : {c.before(), c.after()}) {
    const StepReport report = c.coordinator(now);
    EXPECT_TRUE(report.lost);
    EXPECT_SAYS(report.done, "is abandoned (person)");
  }
  EXPECT_FALSE(c.is_in_exchange(seal_name(c.round.id)));
  EXPECT_SAYS(c.holder(1, c.before()).done, "nothing is opened");
  EXPECT_TRUE(c.erased.contains(1));
  EXPECT_TRUE(c.is_in_exchange(receipt_name(c.round.id, c.world.holders[1].public_key())));
  EXPECT_TRUE(read_status(*c.exchange, c.round, c.before()).set_aside.empty());
  // A two-faced coordinator that seals it all the same finds no key, and its own journal refuses.
  std::vector<SignedHeader> three;
  for (const std::size_t i : {0u, 1u, 2u})
    three.push_back(parse_message(c.in_exchange(c.contribution_of(i)), "c").header);
  c.exchange->put(seal_name(c.round.id), make_seal(c.round, c.world.coordinator, three));
  fs::remove(c.folder / "exchange" / abandonment_name(c.round.id));
  const StepReport over = c.holder(1, c.after());
  EXPECT_TRUE(over.lost);
  EXPECT_SAYS(over.done, "it opens nothing more");
  EXPECT_FALSE(c.is_in_exchange(c.opening_of(1)));
  Journal journal(c.of(c.world.coordinator) / "journal.mfj", c.world.coordinator.public_key(),
                  std::chrono::milliseconds(1000));
  expect_error(ExitCode::kInvariant, {"bind itself to two messages"}, [&] {
    journal.add({JournalEntry::Kind::kPending, c.round.id, {}, MessageKind::kSeal, Sha256Digest{1}});
  });
}

/// The disk or the network fails, or the machine, once a message is bound and before it has left.
class NothingLeaves final : public Exchange {
 public:
  explicit NothingLeaves(Exchange& inside) : inside_(inside) {}
  void put(const std::string&, std::string_view) override { throw IoError("nothing leaves"); }
  std::vector<std::string> list() override { return inside_.list(); }
  std::optional<std::string> get(const std::string& name, std::uint64_t most) override {
    return inside_.get(name, most);
  }

 private:
  Exchange& inside_;
};

TEST(Steps, WhatIsBoundAndHasNotLeftStaysOnceTheRoundIsAbandoned) {
  ConsortiumOfFolders c;
  NothingLeaves nothing(*c.exchange);
  for (const std::size_t i : {0u, 1u, 2u}) c.site(i, c.before());
  EXPECT_ANY_THROW(c.site(3, c.before(), nothing));
  c.coordinator(c.after());
  c.holder(1, c.after());
  EXPECT_ANY_THROW(c.holder(0, c.after(), nothing));
  EXPECT_EQ(c.draws, 6) << "both are drawn and bound";
  const CoordinatorJob job{c.world.coordinator, c.of(c.world.coordinator), c.clock(c.after()), "1.2.3"};
  abandon_round(c.round, *c.exchange, job, AbandonCode::kPerson);
  const auto hidden = c.in_exchange(abandonment_name(c.round.id));
  for (const char* exchange : {"shows it", "hides it"}) {
    SCOPED_TRACE(exchange);
    for (const StepReport& report : {c.site(3, c.before()), c.holder(0, c.after())}) {
      EXPECT_TRUE(report.lost);
      EXPECT_TRUE(report.waits.empty());
    }
    EXPECT_FALSE(c.is_in_exchange(c.contribution_of(3)));
    EXPECT_FALSE(c.is_in_exchange(c.opening_of(0)));
    EXPECT_TRUE(c.erased.contains(0));
    fs::remove(c.folder / "exchange" / abandonment_name(c.round.id));
    fs::remove(c.folder / "exchange" / receipt_name(c.round.id, c.world.holders[0].public_key()));
  }
  EXPECT_EQ(c.draws, 6);
  EXPECT_EQ(privacy::read_ledger(c.ledger(3)).charges.size(), 1u) << "what is charged stays charged";
  // Who has opened before can only say so.
  c.exchange->put(abandonment_name(c.round.id), hidden);
  EXPECT_SAYS(c.holder(1, c.after()).done, "has abandoned the round (person), after this opening");
}

/// Until it is bound, a message is its owner's alone: after a crash its noise is drawn anew.
TEST(Steps, DraftsAreTheirOwnersAloneAndGoOnceTheyAreBound) {
  ConsortiumOfFolders c;
  for (std::size_t i = 0; i < 3; ++i) c.site(i, c.before());
  c.coordinator(c.after());
  const fs::path party = c.of(c.world.holders[0]), draft = drafts(party) / c.opening_of(0);
  fs::create_directories(drafts(party));
  write_file_atomically(draft, std::string(100, 'x'));  // of a step that was killed
  NothingLeaves nothing(*c.exchange);
  EXPECT_ANY_THROW(c.holder(0, c.after(), nothing));
  EXPECT_TRUE(fs::is_empty(drafts(party))) << "bound, kept, and not sent yet";
  const std::string bound = read_file(outbox(party) / c.opening_of(0));
  // Cut off before it was kept: it comes back from its draft.
  fs::rename(outbox(party) / c.opening_of(0), draft);
  EXPECT_ANY_THROW(c.holder(0, c.after(), nothing));
  EXPECT_EQ(read_file(outbox(party) / c.opening_of(0)), bound);
  EXPECT_TRUE(fs::is_empty(drafts(party)));
  EXPECT_EQ(drafts(party).parent_path(), party / "keys");
  c.holder(0, c.after());
  EXPECT_EQ(c.in_exchange(c.opening_of(0)), bound);
  EXPECT_EQ(fs::status(drafts(c.of(c.world.holders[1]))).type(), fs::file_type::not_found);
  c.holder(1, c.after());
  EXPECT_EQ(fs::status(drafts(c.of(c.world.holders[1]))).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(fs::is_empty(drafts(c.of(c.world.sites[0]))));
  EXPECT_EQ(fs::status(drafts(c.of(c.world.sites[0]))).permissions(), fs::perms::owner_all);
  // Nobody opens any more: what a crash has left goes.
  fs::create_directories(drafts(c.of(c.world.holders[2])));
  write_file_atomically(drafts(c.of(c.world.holders[2])) / c.opening_of(2), std::string(100, 'x'));
  EXPECT_TRUE(c.holder(2, c.round.proposal.open_until + 1).lost);
  EXPECT_TRUE(fs::is_empty(drafts(c.of(c.world.holders[2]))));
}

/// A crash between PENDING and the outbox costs nothing: the same bytes go out.
TEST(Steps, AContributionThatWasBoundComesBackFromItsDraft) {
  ConsortiumOfFolders c;
  c.site(0, c.before());
  const fs::path party = c.of(c.world.sites[0]), kept = outbox(party) / c.contribution_of(0);
  const std::string bytes = read_file(kept);
  fs::rename(kept, drafts(party) / c.contribution_of(0));
  fs::remove(c.folder / "exchange" / c.contribution_of(0));
  EXPECT_SAYS(c.site(0, c.before()).done, "contributed, for charge");
  EXPECT_EQ(c.in_exchange(c.contribution_of(0)), bytes);
  EXPECT_EQ(read_file(kept), bytes);
  EXPECT_TRUE(fs::is_empty(drafts(party)));
  EXPECT_EQ(c.draws, 1);
  // Not what was never bound.
  fs::remove(kept);
  fs::remove(c.folder / "exchange" / c.contribution_of(0));
  write_file_atomically(drafts(party) / c.contribution_of(0), bytes + "x");
  EXPECT_SAYS(c.site(0, c.before()).done, "no second contribution is drawn");
  EXPECT_FALSE(c.is_in_exchange(c.contribution_of(0)));
  EXPECT_TRUE(fs::is_empty(drafts(party)));
}

TEST(Steps, TooFewContributionsAreAnAbandonmentAndAReleaseIsNone) {
  ConsortiumOfFolders c;
  for (const std::size_t i : {0u, 1u}) c.site(i, c.before());
  EXPECT_SAYS(c.coordinator(c.after()).done, "2 contributions came, and 3 are needed");
  const auto message = parse_message(c.in_exchange(abandonment_name(c.round.id)), "a");
  EXPECT_EQ(check_abandonment(c.round, message.header), AbandonCode::kTooFew);
  c.site(2, c.before());  // whose clock is slow
  EXPECT_SAYS(c.coordinator(c.after()).done, "is abandoned (too-few)") << "it is said once";
  EXPECT_FALSE(c.is_in_exchange(c.contribution_of(2)));
  ConsortiumOfFolders d;
  run_round(d, {0, 1, 2, 3}, d.before());
  const CoordinatorJob job{d.world.coordinator, d.of(d.world.coordinator), d.clock(d.before()), "1.2.3"};
  expect_error(ExitCode::kConfig, {"is released"},
               [&] { abandon_round(d.round, *d.exchange, job, AbandonCode::kPerson); });
}

/// Nobody waits beyond a round's last day, by its own clock.
TEST(Steps, WhatDoesNotComeIsNotWaitedForBeyondTheLastDay) {
  ConsortiumOfFolders c;
  const std::uint64_t over = c.round.proposal.open_until + 1;
  c.site(0, c.before());
  EXPECT_SAYS(c.site(0, c.before()).waits, "the round ends");
  StepReport report = c.site(0, over);
  EXPECT_TRUE(report.waits.empty());
  EXPECT_TRUE(report.lost);
  EXPECT_SAYS(report.done, "seal did not come");
  for (const std::size_t i : {1u, 2u, 3u}) c.site(i, c.before());
  c.coordinator(c.before());
  c.holder(0, c.before());
  EXPECT_SAYS(c.holder(0, c.before()).waits, "the round ends");
  for (const StepReport& late : {c.site(1, over), c.holder(0, over)}) {
    EXPECT_TRUE(late.waits.empty()) << all_of(late.waits);
    EXPECT_TRUE(late.lost);
  }
  // A key is erased then, whatever somebody has put in the seal's place.
  c.exchange->put("x", "x");
  fs::remove(c.folder / "exchange" / seal_name(c.round.id));
  c.exchange->put(seal_name(c.round.id), "no seal");
  EXPECT_TRUE(c.holder(2, over).lost);
  EXPECT_TRUE(c.erased.contains(2));
}

}  // namespace
}  // namespace muffle::round
