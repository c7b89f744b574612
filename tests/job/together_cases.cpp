#include "job/together_cases.hpp"

#include <gtest/gtest.h>

#include "job/job_setup.hpp"
#include "support/expect_error.hpp"

namespace muffle::test {
namespace {

using job::Contributor;
using job::Together;
using Vector = std::vector<std::uint64_t>;

// A failed check never skips a message: the other parties would wait for this one until the deadline.

std::string message_of(int party) {
  return std::string(static_cast<std::size_t>(party) * 3, 'a') + std::string(1, '\0');
}

void knows_its_place(Together& t) {
  ASSERT_GE(t.party(), 0);
  ASSERT_LT(t.party(), t.parties());
  EXPECT_EQ(t.coordinates(), t.party() == 0);
}

void carries_messages(Together& t) {
  for (const bool empty : {false, true}) {
    const std::string mine = empty ? "" : message_of(t.party());
    std::vector<std::string> all;
    for (int s = 0; s < t.parties(); ++s) all.push_back(empty ? "" : message_of(s));
    EXPECT_EQ(t.to_all(mine), all);
    EXPECT_EQ(t.to_coordinator(mine), t.coordinates() ? all : std::vector<std::string>());
    EXPECT_EQ(t.from_coordinator(mine), all[0]);
  }
  for (const bool yes : {false, true}) EXPECT_EQ(t.coordinator_says(t.coordinates() ? yes : !yes), yes);
}

void sums_modulo_2_64(Together& t) {
  for (const std::size_t n : {0, 1, 1000}) {
    Vector expected(n, 0), mine = contribution(t.party(), n);
    for (int s = 0; s < t.parties(); ++s) add_to(expected, contribution(s, n));
    EXPECT_EQ(t.sum_to_coordinator(std::move(mine)), t.coordinates() ? expected : Vector());
    EXPECT_EQ(std::count(mine.begin(), mine.end(), 0u),
              std::ssize(mine));  // NOLINT(bugprone-use-after-move): wiped
  }
}

void a_step_that_fails_at_one_party_fails_at_all(Together& t) {
  for (int bad = 0; bad < t.parties(); ++bad) {
    expect_error(ExitCode::kData, {"cut off"}, [&] {
      t.agree("reading", true, [&] {
        if (t.party() == bad) throw DataError("the file is cut off");
      });
    });
    EXPECT_NO_THROW(t.agree("reading", true, [] {}));
  }
}

void a_round_releases_the_noisy_sum(Together& t) {
  for (const bool masked : {false, true}) {
    const job::ProposedRound round = round_of(t.parties(), masked);
    const privacy::NoisySum noisy = run_round(t, round);
    EXPECT_EQ(noisy.values,
              t.coordinates() ? expected_release(t.parties(), round) : std::vector<std::int64_t>());
    EXPECT_EQ(noisy.is_private, !t.coordinates()) << "seeded noise";
  }
}

void every_partys_share_is_in_the_release(Together& t) {
  for (int colluding = 0; colluding < t.parties(); ++colluding) {
    const job::ProposedRound round = round_of(t.parties(), true, true, colluding);
    const privacy::NoisySum noisy = run_round(t, round);
    EXPECT_EQ(noisy.values,
              t.coordinates() ? expected_release(t.parties(), round) : std::vector<std::int64_t>());
    EXPECT_EQ(noisy.is_private, !t.coordinates()) << "seeded noise";
  }
}

void what_leaves_a_party_is_masked(Together& inner) {
  MeddledTogether t(inner);
  run_round(t, round_of(t.parties(), true));
  ASSERT_EQ(t.sent.size(), 1u);
  for (std::size_t i = 0; i < kNumbers; ++i)
    EXPECT_EQ(t.sent[0][i] == contribution(t.party(), kNumbers)[i], t.parties() == 1);
}

void all_take_part_in_the_coordinators_proposal(Together& t) {
  job::Proposal own = proposal_of(noise_of(), mode_of(t.parties(), true));
  const job::ProposedRound expected(own);
  if (!t.coordinates()) own.data_id = "a party's own word for it";
  const job::ProposedRound round = job::agree_on_round(own, t);
  EXPECT_EQ(round.id, expected.id);
  EXPECT_EQ(round.proposal.data_id, "records");
}

void a_party_with_another_proposal_ends_the_round(Together& t) {
  for (int other = 1; other < t.parties(); ++other) {
    job::Proposal own = proposal_of(noise_of(), mode_of(t.parties(), true));
    own.plan.records = t.party() == other ? 12 : 11;
    expect_error(ExitCode::kProtocol,
                 {"another round", "plan.records (11 there, 12 here)", "Nothing was summed"},
                 [&] { job::agree_on_round(own, t); });
  }
}

void parties_of_different_rounds_do_not_sum(Together& inner) {
  MeddledTogether t(inner);
  job::Proposal proposal = proposal_of(noise_of(), mode_of(t.parties(), true));
  if (t.party() == t.parties() - 1) proposal.data_id = "others";
  Contributor own(job::ProposedRound(proposal), t.party());
  const auto agree = [&] { job::agree_on_keys(own, t, nullptr); };
  if (t.parties() == 1) return agree();
  expect_error(ExitCode::kProtocol, {"another proposal", "Nothing was revealed"}, agree);
  EXPECT_THROW(own.embed(embed::TestAccess::make(contribution(t.party(), kNumbers))), InvariantError);
  EXPECT_TRUE(t.sent.empty());
  a_round_releases_the_noisy_sum(t);  // nothing is broken
}

}  // namespace

const std::vector<TogetherCase>& together_cases() {
  static const std::vector<TogetherCase> cases{
      {"KnowsItsPlace", knows_its_place},
      {"CarriesMessages", carries_messages},
      {"SumsModulo2To64", sums_modulo_2_64},
      {"AStepThatFailsAtOnePartyFailsAtAll", a_step_that_fails_at_one_party_fails_at_all},
      {"ARoundReleasesTheNoisySum", a_round_releases_the_noisy_sum},
      {"EveryPartysShareIsInTheRelease", every_partys_share_is_in_the_release},
      {"WhatLeavesAPartyIsMasked", what_leaves_a_party_is_masked},
      {"AllTakePartInTheCoordinatorsProposal", all_take_part_in_the_coordinators_proposal},
      {"APartyWithAnotherProposalEndsTheRound", a_party_with_another_proposal_ends_the_round},
      {"PartiesOfDifferentRoundsDoNotSum", parties_of_different_rounds_do_not_sum},
  };
  return cases;
}

void expect_kept(const TogetherCase& promise, comm::HostComm& job) {
  bool served = false;
  for (const job::TogetherKind& kind : job::together_kinds()) {
    if (!kind.serves(job)) continue;
    SCOPED_TRACE(kind.name);
    promise.body(*kind.make(job));
    served = true;
  }
  EXPECT_TRUE(served);
}

}  // namespace muffle::test
