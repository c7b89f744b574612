// Releases of several rounds: what is kept between two of them, what the plan says of each, and that nothing
// is drawn twice.
#include "muffle/release/rounds.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/release/noisy_tables.hpp"
#include "muffle/release/transaction.hpp"
#include "muffle/release/verification.hpp"
#include "release/sample_artifact.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::release {
namespace {

using test::expect_error;
using testing_artifact::rounds_plan;
using testing_artifact::tables_of_round;

/// Numbers that tell where they came from.
std::vector<std::int64_t> numbers(const ReleasePlan& plan, std::size_t round) {
  std::vector<std::int64_t> out(plan.of_round(round).size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int64_t>(1000 * round + i);
  return out;
}

ReleasePlan chosen_plan() {
  ReleasePlan plan = rounds_plan();
  plan.count_in(1, tables_of_round(2));
  plan.count_in(2, tables_of_round(3));
  return plan;
}

TEST(Rounds, ThePlanOfARoundHasItsMapsAndTheWholesNoise) {
  const ReleasePlan plan = chosen_plan();
  EXPECT_EQ(plan.rounds(), 3u);
  const ReleasePlan first = plan.of_round(1), second = plan.of_round(2);
  EXPECT_TRUE(first.counts);
  EXPECT_FALSE(second.counts);
  ASSERT_EQ(second.maps.size(), 1u);
  EXPECT_EQ(second.size(), 2u * (2 * 4 + 4 * 2));
  EXPECT_EQ(first.size(), 2u * (3 + 4 + 2) + 2);
  EXPECT_EQ(second.noise.parts, std::vector{plan.noise.parts[1]});
  EXPECT_EQ(first.noise.parts.back(), plan.noise.parts.back());
  EXPECT_EQ(first.size() + second.size() + plan.of_round(3).size(), plan.size());
}

// The rounds' mu: each costs its share, and together they cost what the whole is charged.
TEST(Rounds, WhatIsChosenChangesNoNoiseAndRoundsCostWhatTheWholeCosts) {
  const ReleasePlan before = rounds_plan(), after = chosen_plan();
  EXPECT_EQ(before.noise.sigma, after.noise.sigma);
  EXPECT_EQ(privacy::mu_of(before.noise), privacy::mu_of(after.noise));
  for (std::size_t b = 0; b < 3; ++b)
    EXPECT_EQ(before.noise.parts[b].runs.front().sigma_lattice,
              after.noise.parts[b].runs.front().sigma_lattice);
  double squares = 0;
  for (std::size_t round = 1; round <= 3; ++round) {
    const ReleasePlan own = after.of_round(round);
    double mu = 0;  // by what is drawn
    for (const privacy::NoisePart& part : own.noise.parts) {
      for (const privacy::NoiseRun& run : part.runs)
        mu = std::max(mu, privacy::combined_sensitivity(own.sensitivity_input()).value * run.unit /
                              static_cast<double>(run.sigma_lattice));
    }
    squares += mu * mu;
  }
  const double whole = privacy::mu_of(after.noise);
  EXPECT_LE(squares, whole * whole * (1 + 1e-9));
  EXPECT_GE(squares, whole * whole * (1 - 1e-6)) << "no budget is wasted";
}

TEST(Rounds, TheWholeVectorIsThatOfTheMapsInTheirOrder) {
  const ReleasePlan plan = chosen_plan();
  const std::vector<std::vector<std::int64_t>> rounds{numbers(plan, 1), numbers(plan, 2), numbers(plan, 3)};
  const std::vector<std::int64_t> whole = joined(plan, rounds);
  ASSERT_EQ(whole.size(), plan.size());
  EXPECT_EQ(whole[plan.offset(0)], 1000);
  EXPECT_EQ(whole[plan.offset(1)], 2000);
  EXPECT_EQ(whole[plan.offset(2)], 3000);
  EXPECT_EQ(whole[plan.offset(3)], 1000 + 18) << "counts are of the first round";
  EXPECT_THROW(joined(plan, {rounds[0], rounds[1]}), InvariantError);
  EXPECT_THROW(joined(plan, {rounds[0], rounds[2], rounds[1]}), InvariantError);
}

TEST(Rounds, WhatWasReleasedSoFarIsReadAsTables) {
  ReleasePlan plan = rounds_plan();
  plan.count_in(1, tables_of_round(2));
  const privacy::AggregationMode alone;
  const NoisyTables first = make_noisy_tables(released_so_far(plan, alone, {numbers(plan, 1)}));
  EXPECT_EQ(first.tables.size(), 3u);
  const NoisyTables two =
      make_noisy_tables(released_so_far(plan, alone, {numbers(plan, 1), numbers(plan, 2)}));
  ASSERT_EQ(two.tables.size(), 5u);
  EXPECT_EQ(two.tables[3].columns.size() + two.tables[4].columns.size(), 4u);
  std::size_t grouped = 0;
  for (const NoisyTable& table : two.tables) grouped += table.groups.empty() ? 0 : table.cells();
  EXPECT_EQ(grouped, 2u * 4);
}

TEST(Rounds, TheFilesBytesThereAndBackAndNoOthers) {
  const ReleasePlan plan = chosen_plan();
  const KeptRounds kept{std::string(32, 'a'), "00c0ffee",        true,
                        tables_text(plan, 2), "masked, ranks 3", {numbers(plan, 1), numbers(plan, 2)}};
  const std::string bytes = rounds_bytes(kept);
  EXPECT_EQ(parse_rounds(bytes, "x.rounds"), kept);
  for (std::size_t n = 0; n < bytes.size(); n += 7)
    EXPECT_THROW(parse_rounds(bytes.substr(0, n), "x.rounds"), ProtocolError);
  std::string changed = bytes;
  changed[bytes.size() / 2] ^= 1;
  EXPECT_THROW(parse_rounds(changed, "x.rounds"), ProtocolError);
}

TEST(Rounds, OtherSitesCountWhatTheCoordinatorSays) {
  const ReleasePlan told = chosen_plan();
  ReleasePlan plan = rounds_plan();
  read_tables(plan, tables_text(told, 2), "message");
  EXPECT_EQ(plan.maps[1].map->to_json(), told.maps[1].map->to_json());
  EXPECT_NE(plan.maps[2].map->to_json(), told.maps[2].map->to_json()) << "of a round that is not there yet";
  read_tables(plan, tables_text(told, 3), "message");
  EXPECT_EQ(plan.noise.parts, told.noise.parts);

  const nlohmann::json good = nlohmann::json::parse(tables_text(told, 3));
  const auto refused = [&](const char* where, const nlohmann::json& lie) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(where)] = lie;
    ReleasePlan own = rounds_plan();
    EXPECT_THROW(read_tables(own, bad.dump(), "message"), ProtocolError) << where << " " << lie;
  };
  refused("/maps/1/name", "other");
  refused("/maps/1/kind", "rff");
  refused("/maps/1/weight", 0.75);
  refused("/maps/1/map/codes", {3, 4, 3});
  refused("/maps/1/map/tables/0/columns", {0, 9});
  refused("/maps/1/map/tables/0/weight", -1);
  refused("/maps", 3);
  for (const char* text : {"", "{", "[]", "{}", "null"}) {
    ReleasePlan own = rounds_plan();
    EXPECT_THROW(read_tables(own, text, "message"), ProtocolError) << text;
  }
}

Artifact release_in_rounds() {
  const ReleasePlan plan = chosen_plan();
  Artifact a = testing_artifact::artifact_of(plan);
  a.values = joined(plan, {numbers(plan, 1), numbers(plan, 2), numbers(plan, 3)});
  return a;
}

TEST(Rounds, AReleaseSaysWhichRoundEachMapIsOfAndVerifies) {
  const std::string bytes = artifact_bytes(release_in_rounds());
  const Artifact read = parse_artifact(bytes, "x.mfl");
  EXPECT_EQ(read.rounds(), 3u);
  EXPECT_EQ(artifact_bytes(read), bytes);
  const std::string text = privacy_statement_text(read);
  EXPECT_NE(text.find("in 3 rounds"), std::string::npos);
  EXPECT_NE(text.find("Block 3: by the theorem of block 1"), std::string::npos)
      << "a bound is proved once, not once a round";
  const std::string theorem = "a record adds one number to one cell of every table";
  EXPECT_EQ(text.find(theorem), text.rfind(theorem));
  Evidence evidence;
  evidence.release = bytes;
  evidence.name = "x.mfl";
  evidence.may_be_unsigned = true;
  const Verification verified = verify_release(evidence);
  for (const Check& check : verified.checks)
    EXPECT_NE(check.outcome, Check::Outcome::kFail) << check.name << ": " << check.detail;
  EXPECT_EQ(verified.code(), ExitCode::kUnvouched) << "nobody was there to choose its rounds' tables again";
}

TEST(Rounds, AReleaseWithoutTheRoundsBeforeOneIsRefused) {
  Artifact a = release_in_rounds();
  a.maps[1].round = 3;
  EXPECT_THROW(artifact_bytes(a), InvariantError);
}

class KeptRoundsTest : public ::testing::Test {
 protected:
  KeptRoundsTest() {
    order_.file = folder_.path() / "release.mfl";
    order_.statement_json = folder_.path() / "privacy.json";
    order_.statement_text = folder_.path() / "privacy.txt";
    order_.ledger = folder_.path() / "ledger.jsonl";
    order_.config_hash = "00c0ffee";
    order_.data_id = "patients-2024";
    order_.lock_deadline = std::chrono::seconds(5);
  }

  /// Draws round kept.rounds() + 1 and keeps it. @returns what a transaction found before.
  std::optional<KeptRounds> next_round() {
    ReleaseTransaction transaction(order_);
    EXPECT_FALSE(transaction.settle());
    const std::optional<KeptRounds> found = transaction.resume();
    KeptRounds kept = found.value_or(KeptRounds{});
    const std::size_t round = kept.rounds() + 1;
    const auto draw = [&](const Charge&) { ++draws_; };
    round == 1 ? transaction.begin(plan_.noise, true, draw) : transaction.begin_round(round, "", draw);
    kept.config_hash = order_.config_hash;
    kept.tables = tables_text(plan_, round);
    kept.values.push_back(numbers(plan_, round));
    transaction.keep(kept);
    return found;
  }
  std::optional<KeptRounds> found() {
    ReleaseTransaction transaction(order_);
    EXPECT_FALSE(transaction.settle());
    return transaction.resume();
  }
  std::filesystem::path file() const { return rounds_file(order_.file); }

  test::TemporaryFolder folder_;
  ReleaseOrder order_;
  const ReleasePlan plan_ = chosen_plan();
  int draws_ = 0;
};

// Budget was spent on them: other settings are no reason to spend it again unasked.
TEST_F(KeptRoundsTest, OtherSettingsAreRefusedAndNothingIsCharged) {
  EXPECT_FALSE(next_round());
  const auto refused = [&] {
    expect_error(ExitCode::kConfig, {"holds 1 finished rounds", "move that file away", "Nothing was charged"},
                 [&] { (void)found(); });
  };
  order_.config_hash = "another";
  refused();
  order_.config_hash = "00c0ffee";
  order_.secure_noise = false;
  refused();
  EXPECT_EQ(privacy::read_ledger(order_.ledger).charges.size(), 1u);
}

TEST_F(KeptRoundsTest, OneChargePaysForAllRoundsAndTheFileGoesWithTheRelease) {
  EXPECT_FALSE(next_round());
  EXPECT_EQ(next_round()->rounds(), 1u);
  {
    ReleaseTransaction transaction(order_);
    ASSERT_FALSE(transaction.settle());
    const KeptRounds kept = transaction.resume().value();
    ASSERT_EQ(kept.rounds(), 2u);
    transaction.begin_round(3, "", [&](const Charge&) { ++draws_; });
    Artifact artifact = testing_artifact::artifact_of(plan_);
    artifact.values = joined(plan_, {kept.values[0], kept.values[1], numbers(plan_, 3)});
    transaction.finish(std::move(artifact));
  }
  EXPECT_EQ(draws_, 3);
  EXPECT_FALSE(std::filesystem::exists(file()));
  const privacy::LedgerState state = privacy::read_ledger(order_.ledger);
  ASSERT_EQ(state.charges.size(), 1u);
  EXPECT_TRUE(state.charges[0].artifact);
  EXPECT_EQ(state.charges[0].rounds_drawn, 3u);
}

TEST_F(KeptRoundsTest, ARoundWhoseNoiseWasDrawnIsNotDrawnAgainForTheSameCharge) {
  next_round();
  {
    ReleaseTransaction transaction(order_);
    ASSERT_FALSE(transaction.settle());
    ASSERT_TRUE(transaction.resume());
    transaction.begin_round(2, "", [&](const Charge&) { ++draws_; });
  }  // and the job ends
  EXPECT_FALSE(found());
  EXPECT_FALSE(next_round()) << "a new charge";
  EXPECT_EQ(privacy::read_ledger(order_.ledger).charges.size(), 2u);
}

TEST_F(KeptRoundsTest, AFileThatTheLedgerDoesNotKnowIsNotGoneOnWith) {
  next_round();
  const std::string good = read_file(file());
  KeptRounds other = parse_rounds(good, "x");
  other.values[0][0] += 1;
  write_file_atomically(file(), rounds_bytes(other));
  EXPECT_FALSE(found());
  write_file_atomically(file(), "rubbish");
  EXPECT_FALSE(found());
  write_file_atomically(file(), good);
  EXPECT_TRUE(found());
}

TEST_F(KeptRoundsTest, StepsOutOfTurnAreRefused) {
  next_round();
  ReleaseTransaction transaction(order_);
  ASSERT_FALSE(transaction.settle());
  EXPECT_THROW(transaction.begin_round(2, "", {}), InvariantError) << "without a look at what is there";
  ASSERT_TRUE(transaction.resume());
  EXPECT_THROW(transaction.begin(plan_.noise, true, {}), InvariantError) << "that would be a second charge";
  EXPECT_THROW(transaction.begin_round(3, "", {}), InvariantError);
  EXPECT_THROW(transaction.keep({}), InvariantError);
}

}  // namespace
}  // namespace muffle::release
