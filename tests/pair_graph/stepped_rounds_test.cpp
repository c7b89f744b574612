// Maps that go on step by step: their rounds in a plan cost what one would, what each sums follows from the
// noisy numbers before it and can be worked out again, and whatever was made otherwise is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "muffle/features/decoder_step.hpp"
#include "muffle/release/noisy_moments.hpp"
#include "pair_graph/stepped_release.hpp"
#include "release/judged_release.hpp"
#include "support/expect_error.hpp"

namespace muffle::pair_graph {
namespace {

using features::SteppedFeatures;
using release::Artifact;
using release::Check;
using test::decoder_release;
using Outcome = release::Check::Outcome;

release::Verification judged(const Artifact& a) {
  return release::testing_artifact::judge(artifact_bytes(a), [](release::Evidence& e) {
    e.repeat_choices = repeat_choices;
    e.may_be_unsigned = true;
  });
}
std::optional<Check> rounds_of(const Artifact& a) { return repeat_choices(a); }

std::size_t place_of(const release::ReleasePlan& plan, const std::string& name) {
  for (std::size_t b = 0; b < plan.maps.size(); ++b) {
    if (plan.maps[b].name == name) return b;
  }
  throw std::logic_error("no map " + name);
}

TEST(SteppedRounds, TogetherTheyCostWhatTheOneMapWouldInBothAdjacencies) {
  for (const auto adjacency : {privacy::Adjacency::kReplaceOne, privacy::Adjacency::kAddRemoveOne}) {
    test::SteppedRelease release = decoder_release();
    release.adjacency = adjacency;
    release.counts = true;
    const release::ReleasePlan plan = release.plan();
    EXPECT_EQ(plan.rounds(), 4u);
    EXPECT_EQ(plan.maps.size(), 5u);
    release::ReleaseSettings one{
        release.schema, {},
        release.maps,   release::testing_artifact::privacy_of({.epsilon = release.epsilon}),
        true,           release.records};
    one.privacy.adjacency = adjacency;
    const release::ReleasePlan whole = release::make_plan(one);
    EXPECT_NEAR(plan.noise.sigma, whole.noise.sigma, 1e-12 * whole.noise.sigma);
    // sqrt(T) Delta / sigma, of what is drawn for the steps.
    double squares = 0;
    for (const std::string name : {"decoder-1", "decoder-2", "decoder-3", "decoder-4"}) {
      const std::size_t b = place_of(plan, name);
      EXPECT_FALSE(plan.maps[b].labelled);
      const privacy::NoiseRun& run = plan.noise.parts[b].runs.front();
      const double moved = (adjacency == privacy::Adjacency::kReplaceOne ? 2 : 1) * plan.maps[b].bound().norm;
      squares += std::pow(moved * run.unit / static_cast<double>(run.sigma_lattice), 2);
    }
    const double own = (adjacency == privacy::Adjacency::kReplaceOne ? 2 : 1) * 0.5 / whole.noise.sigma;
    EXPECT_NEAR(std::sqrt(squares), own, 1e-6 * own);
  }
}

TEST(SteppedRounds, EachSumsWhatFollowsFromTheNoisyNumbersBeforeIt) {
  const Artifact a = decoder_release().whole();
  EXPECT_EQ(artifact_bytes(release::parse_artifact(artifact_bytes(a), "x.mfl")), artifact_bytes(a));
  // By hand: the state after two rounds.
  std::vector<std::vector<double>> means;
  for (const std::string name : {"decoder-1", "decoder-2"}) {
    const std::size_t b = place_of(a, name);
    auto& mean = means.emplace_back();
    for (std::size_t i = 0; i < a.features(b); ++i)
      mean.push_back(static_cast<double>(a.values[a.offset(b) + i]) /
                     (static_cast<double>(a.lattice.scale()) * 90.0));
  }
  const features::FeatureMap& third = *a.maps[place_of(a, "decoder-3")].map;
  EXPECT_EQ(a.maps[place_of(a, "decoder-1")].map->steps()->after({nullptr, means})->to_json(),
            third.to_json());
  EXPECT_NE(a.maps[place_of(a, "decoder-2")].map->to_json(), third.to_json());
  const release::Verification v = judged(a);
  for (const Check& check : v.checks)
    EXPECT_NE(check.outcome, Outcome::kFail) << check.name << ": " << check.detail;
  EXPECT_EQ(rounds_of(a)->outcome, Outcome::kPass);
  EXPECT_THAT(rounds_of(a)->detail, testing::HasSubstr("each of 4 rounds"));
}

// Where codes lie along principal components, the moments are released first, and the decoder's rounds
// follow.
TEST(SteppedRounds, ComponentsAreOfTheNoisyMomentsOfTheRoundBefore) {
  const test::SteppedRelease release = test::components_release();
  EXPECT_EQ(release.plan().rounds(), 5u);
  EXPECT_NEAR(release.plan().noise.sigma, decoder_release().plan().noise.sigma, 1e-12)
      << "a round of its own costs nothing";
  const testing::Matcher<double> quarter = testing::DoubleNear(0.2 / 4, 1e-12);
  EXPECT_THAT(shares_of_rounds(release.plan()),
              testing::ElementsAre(testing::DoubleNear(0.8, 1e-12), quarter, quarter, quarter, quarter));
  const Artifact a = release.whole();
  EXPECT_EQ(artifact_bytes(release::parse_artifact(artifact_bytes(a), "x.mfl")), artifact_bytes(a));
  EXPECT_EQ(a.maps[place_of(a, "moments")].round, 1u);
  for (std::size_t step = 1; step <= 4; ++step)
    EXPECT_EQ(a.maps[place_of(a, "decoder-" + std::to_string(step))].round, step + 1);
  const release::Verification v = judged(a);
  for (const Check& check : v.checks)
    EXPECT_NE(check.outcome, Outcome::kFail) << check.name << ": " << check.detail;
  EXPECT_EQ(rounds_of(a)->outcome, Outcome::kPass) << rounds_of(a)->detail;

  const std::shared_ptr<const features::FeatureMap> last = last_step(a);
  const features::Decoder decoder = dynamic_cast<const features::DecoderStepMap&>(*last).decoder();
  ASSERT_TRUE(decoder.axes);
  const auto moments = a.maps[place_of(a, "moments")].map->second_moments()->moments();
  const release::NoisyMoments noisy = release::make_noisy_moments(a);
  std::vector<double> all(moments.order() * moments.order());
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += noisy.of_class(c)[i];
  }
  const auto expected = features::PrincipalAxes::of(moments, all, 4);
  EXPECT_TRUE(std::ranges::equal(decoder.axes->numbers(), expected.numbers()));
}

TEST(SteppedRounds, ComponentsOfOtherMomentsAreFound) {
  const Artifact honest = test::components_release().whole();
  const auto detail_of = [](const Artifact& forged) {
    const std::optional<Check> check = rounds_of(forged);
    return check && check->outcome == Outcome::kFail ? check->detail : "";
  };
  Artifact a = honest;
  a.values[a.offset(place_of(a, "moments")) + 1] += std::int64_t{1} << 34;
  EXPECT_THAT(detail_of(a), testing::HasSubstr("round 2 sums something else"));
  a = honest;
  std::erase_if(a.maps, [](const features::NamedMap& map) { return map.name == "moments"; });
  EXPECT_NE(detail_of(a), "");
  a = honest;
  a.maps[place_of(a, "decoder-1")].round = 1;
  EXPECT_NE(detail_of(a), "");
  EXPECT_THROW(release::parse_artifact(artifact_bytes(a), "x.mfl"), Error) << "nothing is before round 1";
}

TEST(SteppedRounds, WithoutSuchMomentsNothingIsReleased) {
  test::SteppedRelease release = test::components_release();
  const auto refused = [&](std::initializer_list<std::string> says) {
    test::expect_error(ExitCode::kConfig, says, [&] { (void)release.plan(); });
  };
  release = test::components_release("10");
  refused({"components = 10", "of 9 coefficients"});
  release = test::components_release();
  release.maps[1] = test::named(
      "moments", test::make_map("moments", {{"lift", "hermite"}, {"coefficients", "3"}}, release.schema));
  refused({"lead back to records", "map.moments", "image"});
  release.maps.pop_back();
  refused({"map.decoder", "add a map with kind = \"moments\""});
}

TEST(SteppedRounds, PartiesGoOnWithTheAxesThatTheCoordinatorTells) {
  const test::SteppedRelease release = test::components_release();
  const test::Stepped two = release.first_rounds(2);
  release::ReleasePlan plan = release.plan();
  release::read_tables(plan, release::tables_text(two.plan, 2), "message");
  release::take_states(plan, 2, release::states_of(two.plan, 2));
  EXPECT_EQ(release.released(plan.of_round(2), 2), two.values[1]);
  EXPECT_TRUE(release::states_of(two.plan, 1).empty()) << "moments go by nothing";
}

TEST(SteppedRounds, WherePrivateTheNumberOfRecordsIsThatOfTheNoisyCounts) {
  test::SteppedRelease release = decoder_release();
  release.adjacency = privacy::Adjacency::kAddRemoveOne;
  release.counts = true;
  const Artifact a = release.whole();
  EXPECT_EQ(rounds_of(a)->outcome, Outcome::kPass) << rounds_of(a)->detail;
  Artifact other = a;
  other.values.back() += static_cast<std::int64_t>(a.counts_units()) * 20;
  EXPECT_EQ(rounds_of(other)->outcome, Outcome::kFail) << "another count is another step";
}

TEST(SteppedRounds, MoreThanAReleaseHoldsAreRefusedBeforeAnythingIsSummed) {
  test::SteppedRelease release = decoder_release(test::schema_of({1, 8, 12}, 3), "100");
  EXPECT_EQ(release.plan().maps.size(), 101u);
  release.maps.insert(release.maps.begin() + 1, release.maps.front());
  release.maps[1].name = "decoder-b";
  test::expect_error(ExitCode::kConfig, {"201 feature maps", "fewer maps or rounds"},
                     [&] { (void)release.plan(); });
}

TEST(SteppedRounds, WhoTrainsOnAReleaseThatLacksARoundIsToldSo) {
  Artifact a = decoder_release().whole();
  EXPECT_TRUE(last_step(a));
  std::erase_if(a.maps, [](const features::NamedMap& map) { return map.name == "decoder-3"; });
  test::expect_error(ExitCode::kProtocol, {"no map decoder-3", "not whole"}, [&] { (void)last_step(a); });
}

TEST(SteppedRounds, WhatWasMadeOtherwiseIsFound) {
  const Artifact honest = decoder_release().whole();
  const auto fails = [&](const std::string& says, const std::function<void(Artifact&)>& forge) {
    Artifact forged = honest;
    forge(forged);
    const std::optional<Check> check = rounds_of(forged);
    ASSERT_TRUE(check) << says;
    EXPECT_EQ(check->outcome, Outcome::kFail) << says;
    EXPECT_THAT(check->detail, testing::HasSubstr(says));
  };
  const auto map = [](Artifact& a, const std::string& name) -> features::NamedMap& {
    return a.maps[place_of(a, name)];
  };
  for (const std::string name : {"decoder-1", "decoder-2", "decoder-3"}) {
    fails("sums something else", [&](Artifact& a) {
      a.values[a.offset(place_of(a, name)) + 3] += std::int64_t{1} << 30;  // tampered afterwards
    });
  }
  Artifact last = honest;
  last.values[last.offset(place_of(last, "decoder-4"))] += std::int64_t{1} << 30;
  EXPECT_EQ(rounds_of(last)->outcome, Outcome::kPass)
      << "nothing follows from the last: hash and signature tell";
  fails("round 3 sums", [&](Artifact& a) { map(a, "decoder-3").map = map(a, "decoder-2").map; });
  fails("round 1 sums", [&](Artifact& a) { map(a, "decoder-1").map = map(a, "decoder-2").map; });
  fails("weights", [&](Artifact& a) { map(a, "decoder-2").weight *= 2; });
  fails("no map decoder-2", [&](Artifact& a) { map(a, "decoder-2").name = "decoder-x"; });
  fails("not the rounds", [&](Artifact& a) { map(a, "decoder-2").round = 1; });
  fails("another name", [&](Artifact& a) { map(a, "decoder-1").name = "first"; });
}

TEST(SteppedRounds, AHeaderThatHoldsThemForMapsOfEachClassIsRefused) {
  Artifact a = decoder_release().whole();
  a.maps[0].labelled = true;
  EXPECT_THROW(artifact_bytes(a), InvariantError);
  const test::SteppedRelease release = decoder_release();
  features::NamedMap map = release.maps[0];
  map.labelled = true;
  test::expect_error(ExitCode::kConfig, {"decoder", "all classes together"}, [&] {
    release::make_plan({release.schema, {}, {map}, release::testing_artifact::privacy_of({}), false, 90});
  });
  map.labelled = false;
  map.name = std::string(31, 'd');
  test::expect_error(ExitCode::kConfig, {"28 letters"}, [&] {
    in_rounds({release.schema, {}, {map}, {}, false, 90});
  });
}

// What the coordinator tells the other parties, and what it keeps between two rounds.
TEST(SteppedRounds, PartiesGoOnWithTheStateThatTheCoordinatorTells) {
  const test::SteppedRelease release = decoder_release();
  const test::Stepped two = release.first_rounds(2), three = release.first_rounds(3);
  release::ReleasePlan plan = release.plan();
  const std::string text = release::tables_text(three.plan, 3);
  const std::vector<std::string> states = release::states_of(three.plan, 3);
  ASSERT_EQ(states.size(), 1u);
  release::read_tables(plan, text, "message");
  const std::size_t b = place_of(plan, "decoder-3");
  EXPECT_EQ(plan.maps[b].map->to_json(), three.plan.maps[b].map->to_json());
  EXPECT_THROW(plan.maps[b].map->make_block(plan.lattice), InvariantError) << "its state was not told yet";
  test::expect_error(ExitCode::kConfig, {"another than the one that is stated"},
                     [&] { release::take_states(plan, 3, release::states_of(two.plan, 2)); });
  release::take_states(plan, 3, states);
  EXPECT_EQ(release.released(plan.of_round(3), 3), three.values[2]);
  EXPECT_EQ(plan.noise.parts, three.plan.noise.parts);

  const nlohmann::json good = nlohmann::json::parse(text);
  const auto refused = [&](const char* where, const nlohmann::json& lie) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(where)] = lie;
    release::ReleasePlan own = release.plan();
    EXPECT_THROW(release::read_tables(own, bad.dump(), "message"), ProtocolError) << where;
  };
  refused("/maps/0/name", "moments");
  refused("/maps/0/map/rate", 7.0);
  refused("/maps/0/map/hidden", 3);
  refused("/maps/0/map/state", "00");
  refused("/maps/0/weight", 2.0);
}

}  // namespace
}  // namespace muffle::pair_graph
