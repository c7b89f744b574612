#include "muffle/release/plan_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "release/sample_artifact.hpp"
#include "support/expect_error.hpp"

namespace muffle::release {
namespace {

using test::expect_error;
using testing_artifact::sample_plan;
using testing_artifact::Settings;

const std::vector<Settings> kSettings{{},
                                      {.counts = true, .moments = true, .weight = 0.3},
                                      {.adjacency = privacy::Adjacency::kAddRemoveOne, .counts = true},
                                      {.records_per_person = 4, .epsilon = 0.2, .proxy = true}};

TEST(PlanJson, SaysAllOfAPlan) {
  std::set<std::string> hashes;
  for (const Settings& settings : kSettings) {
    const ReleasePlan plan = sample_plan(settings);
    const ReleasePlan back = parse_plan(plan_text(plan), "x");
    EXPECT_EQ(plan_text(back), plan_text(plan));
    EXPECT_EQ(plan_hash(back), plan_hash(plan));
    EXPECT_EQ(back.noise.sensitivity.derivation, plan.noise.sensitivity.derivation) << "in our own words";
    EXPECT_EQ(back.noise.parts, plan.noise.parts);
    EXPECT_EQ(back.size(), plan.size());
    EXPECT_TRUE(hashes.insert(plan_hash(plan)).second) << "another plan has another name";
  }
}

TEST(PlanJson, SaysWhichMapsAreWithoutLabels) {
  ReleasePlan plan = sample_plan({.counts = true});
  ReleaseSettings settings{plan.schema, plan.lattice, plan.maps, {}, true, plan.records};
  settings.privacy.epsilon = plan.noise.epsilon;
  settings.privacy.delta = plan.noise.delta;
  settings.privacy.max_records_per_person = 1;
  settings.maps[0].labelled = false;
  plan = make_plan(settings);
  EXPECT_EQ(plan.size(), plan.features(0) + plan.classes());
  const ReleasePlan back = parse_plan(plan_text(plan), "x");
  EXPECT_FALSE(back.maps[0].labelled);
  EXPECT_EQ(back.noise.parts, plan.noise.parts);
  EXPECT_EQ(back.noise.sensitivity.derivation, plan.noise.sensitivity.derivation);
  EXPECT_NE(back.noise.sensitivity.derivation.find("without labels"), std::string::npos);
  nlohmann::json lie = plan_json(plan);
  lie["maps"][0].erase("labelled");
  expect_error(ExitCode::kProtocol, {"contradicts itself"}, [&] { (void)parse_plan(lie.dump(), "x"); });
  lie["maps"][0]["labelled"] = true;
  EXPECT_THROW((void)parse_plan(lie.dump(), "x"), ProtocolError);
  settings.maps[0] = test::named("m", std::shared_ptr(test::make_moments({}, plan.schema)));
  settings.maps[0].labelled = false;
  expect_error(ExitCode::kConfig, {"map.m", "labelled"}, [&] { (void)make_plan(settings); });
}

TEST(PlanJson, LiesAreRefused) {
  const nlohmann::json good = plan_json(sample_plan({.counts = true}));
  const auto refused = [&](const std::string& pointer, const nlohmann::json& value, const std::string& part) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    expect_error(ExitCode::kProtocol, {"x.mfl", part}, [&] { (void)parse_plan(bad.dump(), "x.mfl"); });
  };
  refused("/maps/0/name", "Rff", "order of their names");
  refused("/maps/0/name", "", "order of their names");
  refused("/maps/0/weight", 2.0, "norm");
  refused("/maps/0/bound/norm", 0.5, "norm");
  refused("/maps/0/round", 2, "no numbers before it");
  refused("/privacy/epsilon", 0.5, "noise multiplier");
  refused("/privacy/sigma", 5.0, "sigma");
  refused("/counts/numbers/sigma_lattice", 1000, "noise that was drawn");
  refused("/records", 0, "records");
  refused("/schema/classes", 0, "schema.classes");
  refused("/file", "/home/somebody/records.csv", "does not know");
  refused("/privacy/sensitivity_derivation", "trust me", "does not know");
  const std::string text = good.dump();
  for (const std::string& other : {good.dump(1), "{\"records\":1," + text.substr(1), text + "\n"})
    expect_error(ExitCode::kProtocol, {"another spelling"}, [&] { (void)parse_plan(other, "x"); });
  for (const std::string& other : {std::string(), std::string("[]"), text.substr(0, text.size() / 2)})
    EXPECT_THROW((void)parse_plan(other, "x"), ProtocolError);
}

// What a later round counts follows from noisy numbers: the plan that they belong to keeps its name.
TEST(PlanJson, LaterRoundsChooseWithinThePlan) {
  const ReleasePlan planned = testing_artifact::rounds_plan();
  ReleasePlan chosen = planned;
  for (const std::size_t round : {2, 3}) {
    const std::size_t b = testing_artifact::find_map(chosen, "p-" + std::to_string(round));
    chosen.count_in(b, testing_artifact::tables_of_round(round));
  }
  EXPECT_NE(plan_json(chosen), plan_json(planned));
  EXPECT_EQ(plan_hash(chosen), plan_hash(planned));
  ReleasePlan other = planned;
  other.count_in(testing_artifact::find_map(other, "p-1"), {{{0}}, {{1}}});
  EXPECT_NE(plan_hash(other), plan_hash(planned)) << "the first round counts what was planned";
}

}  // namespace
}  // namespace muffle::release
