// A site's act as a job of several ranks, which are threads here: root's step, the others' help, and errors.
#include "muffle/job/site_ranks.hpp"

#include <atomic>

#include "job/site_ranks_cases.hpp"
#include "round/consortium.hpp"
#include "round/several_rounds.hpp"
#include "support/expect_error.hpp"
#include "support/thread_comm.hpp"

namespace muffle::job {
namespace {

using round::OwnSums;

TEST(SiteRanks, RootContributesTheSameSumsForEveryNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 5})
    test::run_thread_ranks(ranks, [](comm::HostComm& comm) { test::expect_one_contribution(comm); });
}

/// A step of the first site on so many ranks, of which one fails as it sums. @returns what came out on each.
struct Failed {
  std::vector<ExitCode> codes;
  bool charged = false;
  int steps = 0;
};
Failed step_with_error(int ranks, int failing) {
  round::ConsortiumOfFolders c;
  Failed out;
  out.codes.assign(static_cast<std::size_t>(ranks), ExitCode::kDone);
  std::atomic<int> steps = 0;
  test::run_thread_ranks(ranks, [&](comm::HostComm& comm) {
    SiteRanks job(comm, [&](const release::ReleasePlan& plan) {
      comm::agree(comm, "embedding the records", false, [&] {
        if (comm.rank() == failing) throw DataError("a record does not fit");
      });
      return OwnSums{embed::PartialSum(plan.size()), 0};
    });
    try {
      job.run("a step", [&] {
        ++steps;
        const round::ContributorJob own = c.job_of(0, c.before());
        contributor_step(
            c.round, *c.exchange,
            {own.key, own.folder, own.book, own.clock, own.verdict,
             [&](const release::ProposedRound& round) { return job.sum(round.proposal.plan); }, own.entropy});
      });
    } catch (const Error& e) {
      EXPECT_TRUE(e.agreed()) << e.what();
      out.codes[static_cast<std::size_t>(comm.rank())] = e.code();
    }
  });
  out.steps = steps;
  out.charged = !privacy::Ledger::preview(c.ledger(0), c.world.sites[0].name(), {}).charges.empty();
  return out;
}

TEST(SiteRanks, AnErrorOfAnyRankEndsAllWithItsCodeAndCostsNothing) {
  for (const int failing : {0, 1, 2}) {
    const Failed out = step_with_error(3, failing);
    EXPECT_EQ(out.codes, std::vector<ExitCode>(3, ExitCode::kData)) << "rank " << failing;
    EXPECT_FALSE(out.charged);
    EXPECT_EQ(out.steps, 1) << "root alone takes the step";
  }
  const Failed fine = step_with_error(3, -1);
  EXPECT_EQ(fine.codes, std::vector<ExitCode>(3, ExitCode::kDone));
  EXPECT_TRUE(fine.charged);
}

TEST(SiteRanks, AllSumTheRoundThatRootAsksFor) {
  test::run_thread_ranks(3, [&](comm::HostComm& comm) {
    const release::ReleasePlan plan = round::chosen(round::plan_of_rounds(), 2);
    std::vector<std::string> asked;
    SiteRanks job(comm, [&](const release::ReleasePlan& part) {
      asked.push_back(part.maps.at(0).name);
      EXPECT_EQ(part.counts, asked.size() == 1) << "class counts are of the first";
      return OwnSums{embed::PartialSum(part.size()), 0};
    });
    job.run("two rounds", [&] {
      (void)job.sum(plan, 1);
      (void)job.sum(plan, 2);
    });
    EXPECT_EQ(asked, (std::vector<std::string>{"p-1", "p-2"}));
  });
}

TEST(SiteRanks, RootsOwnErrorReachesAllAndTheOthersGoOnToTheNextRoundAfterOneThatFailed) {
  std::vector<std::string> said(3);
  std::atomic<int> asked = 0;
  test::run_thread_ranks(3, [&](comm::HostComm& comm) {
    const release::ReleasePlan plan = round::plan_of(0);
    SiteRanks job(comm, [&](const release::ReleasePlan& p) {
      const int time = comm.is_root() ? asked.fetch_add(1) : 0;
      comm::agree(comm, "embedding", false, [&] {
        if (comm.is_root() && time == 0) throw DataError("the first round's records do not fit");
      });
      return OwnSums{embed::PartialSum(p.size()), 0};
    });
    try {
      job.run("two rounds", [&] {
        test::expect_error(ExitCode::kData, {"the first round"}, [&] { (void)job.sum(plan); });
        (void)job.sum(plan);
        throw PrivacyError("the budget refuses");
      });
    } catch (const Error& e) {
      said[static_cast<std::size_t>(comm.rank())] = e.what();
      EXPECT_EQ(e.code(), ExitCode::kBudget);
    }
  });
  EXPECT_EQ(asked, 2);
  for (const std::string& what : said) EXPECT_NE(what.find("the budget refuses"), std::string::npos) << what;
}

}  // namespace
}  // namespace muffle::job
