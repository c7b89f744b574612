// What a job's coordinator proposes: one spelling, one hash, and what a party that would propose something
// else says.
#include "muffle/job/proposal.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "muffle/core/hash.hpp"
#include "round/several_rounds.hpp"
#include "support/expect_error.hpp"

namespace muffle::job {
namespace {

using test::expect_error;

Proposal a_proposal() {
  return {round::plan_of(1000), privacy::DistributedNoise{3, 2, privacy::SignedSites{2, 2}}, 1, "stays"};
}

TEST(JobProposal, HasOneSpellingAndItsHashNamesTheRound) {
  const std::string text = proposal_text(a_proposal());
  const nlohmann::json json = nlohmann::json::parse(text);
  EXPECT_EQ(json.dump(), text);
  EXPECT_EQ(json.at("format"), "muffle-job-proposal");
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("round"), 1);
  EXPECT_EQ(json.at("data_id"), "stays");
  EXPECT_EQ(json.at("aggregation"), nlohmann::json::parse(R"({"mode": "distributed noise", "ranks": 3,
    "colluding_ranks": 2, "sites": {"count": 2, "largest": 2}})"));
  EXPECT_EQ(json.at("plan").at("records"), 1000);
  const ProposedRound round(a_proposal());
  EXPECT_EQ(round.id, sha256(PublicBytes(text)));
  EXPECT_EQ(ProposedRound(a_proposal(), text).id, round.id);
  EXPECT_EQ(round.length, round.summed.size());
  ASSERT_TRUE(round.shares);
  EXPECT_EQ(round.shares->ranks, 3);
}

// Each change makes another round, and a party that would propose it names what differs.
TEST(JobProposal, EveryWordOfItCounts) {
  const ProposedRound coordinators(a_proposal());
  const auto differs = [&](const std::string& what, const std::function<void(Proposal&)>& change) {
    Proposal own = a_proposal();
    change(own);
    EXPECT_NE(ProposedRound(own).id, coordinators.id) << what;
    expect_error(ExitCode::kProtocol, {"another round", what, "Nothing was summed or drawn for it"},
                 [&] { ProposedRound(own, proposal_text(coordinators.proposal)); });
  };
  differs("plan.records (1000 there, 1001 here)", [](Proposal& p) { p.plan.records = 1001; });
  differs("plan.privacy.sigma (", [](Proposal& p) { p.plan.noise.sigma *= 1 + 1e-15; });
  differs("plan.maps.1.numbers.1.sigma_lattice (",
          [](Proposal& p) { ++p.plan.noise.parts.at(0).runs.at(0).sigma_lattice; });
  differs("plan.maps.1.name (\"all\" there, \"most\" here)",
          [](Proposal& p) { p.plan.maps[0].name = "most"; });
  differs("aggregation.mode (\"distributed noise\" there, \"masked\" here)", [](Proposal& p) {
    p.aggregation = privacy::Masked{3, privacy::SignedSites{2, 2}};
  });
  differs("aggregation.colluding_ranks (2 there, nothing here)", [](Proposal& p) {
    p.aggregation = privacy::Masked{3, privacy::SignedSites{2, 2}};
  });
  differs("aggregation.sites (", [](Proposal& p) { p.aggregation = privacy::DistributedNoise{3, 2}; });
}

TEST(JobProposal, OfALaterRoundIsOfItsPartOfThePlanAlone) {
  const release::ReleasePlan plan = round::plan_of_rounds();
  std::vector<crypto::RoundId> ids;
  for (std::uint64_t number = 1; number <= plan.rounds(); ++number) {
    const ProposedRound round(Proposal{plan, privacy::Masked{2}, number, "stays"});
    EXPECT_EQ(round.summed.size(), plan.of_round(number).size());
    EXPECT_EQ(round.length, round.summed.size());
    EXPECT_FALSE(round.shares);
    ids.push_back(round.id);
  }
  ASSERT_GT(ids.size(), 1u);
  EXPECT_NE(ids[0], ids[1]);
}

// The ledger is the coordinator's, and so is its word for the records.
TEST(JobProposal, TakesTheDataIdOverFromTheCoordinator) {
  Proposal own = a_proposal();
  own.data_id = "";
  const ProposedRound round(own, proposal_text(a_proposal()));
  EXPECT_EQ(round.proposal.data_id, "stays");
  EXPECT_EQ(round.id, ProposedRound(a_proposal()).id);
}

TEST(JobProposal, WhatIsNoneIsRefused) {
  const std::string text = proposal_text(a_proposal());
  const auto refused = [](const std::string& said, const std::string& what) {
    expect_error(ExitCode::kProtocol, {what, "Nothing was summed or drawn for it"},
                 [&] { ProposedRound(a_proposal(), said); });
  };
  refused("", "is no JSON object");
  refused(text.substr(0, text.size() - 1), "is no JSON object");
  refused("[]", "is no JSON object");
  refused("{}", "data_id");
  refused(text + " ", "spelled otherwise");
  nlohmann::json more = nlohmann::json::parse(text);
  more["also"] = "\x1b[31m" + std::string(200, 'x');
  refused(more.dump(), "also (\"");
  // A text that is nested so deeply would use up the stack of whoever spells it again.
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  refused(R"({"data_id":"stays","plan":)" + deep + "}", "plan (");
  more["data_id"] = std::string(129, 'x');
  refused(more.dump(), "data_id");
}

TEST(JobProposal, OfAModeThatCannotBeIsRefused) {
  Proposal own = a_proposal();
  own.aggregation = privacy::DistributedNoise{1, 1};
  expect_error(ExitCode::kConfig, {"colluding"}, [&] { ProposedRound{own}; });
}

}  // namespace
}  // namespace muffle::job
