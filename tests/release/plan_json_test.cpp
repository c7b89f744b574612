#include "muffle/release/plan_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

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

/// Of a plan with counts.
ReleaseSettings settings_with_counts(const ReleasePlan& plan) {
  ReleaseSettings settings{plan.schema, plan.lattice, plan.maps, {}, true, plan.records};
  settings.privacy.epsilon = plan.noise.epsilon;
  settings.privacy.delta = plan.noise.delta;
  settings.privacy.max_records_per_person = 1;
  return settings;
}

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
  ReleaseSettings settings = settings_with_counts(plan);
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

TEST(PlanJson, SaysWhichMapsAreReleasedAMinibatchAtATime) {
  ReleasePlan plan = sample_plan({.counts = true});
  ReleaseSettings settings = settings_with_counts(plan);
  settings.maps[0].minibatches = {.batches = 6, .epochs = 4, .seed = 9};
  const ReleasePlan whole = std::exchange(plan, make_plan(settings));
  EXPECT_EQ(plan.size(), 24 * whole.features(0) * 3 + 3);
  EXPECT_NEAR(plan.noise.sensitivity.value, 2 * whole.noise.sensitivity.value, 1e-12);
  const ReleasePlan back = parse_plan(plan_text(plan), "x");
  EXPECT_EQ(back.maps[0].minibatches, settings.maps[0].minibatches);
  EXPECT_EQ(back.noise.parts, plan.noise.parts);
  EXPECT_EQ(back.noise.sensitivity.derivation, plan.noise.sensitivity.derivation);
  EXPECT_NE(back.noise.sensitivity.derivation.find("one minibatch of each of 4 epochs"), std::string::npos);
  // Fewer epochs, a map that is whole, none at all: each is another guarantee than the numbers have.
  for (const nlohmann::json& said : {nlohmann::json{{"batches", 6}, {"epochs", 1}, {"seed", 9}},
                                     nlohmann::json{{"batches", 0}, {"epochs", 4}, {"seed", 9}},
                                     {}}) {
    nlohmann::json lie = plan_json(plan);
    lie["maps"][0]["minibatches"] = said;
    if (said.is_null()) lie["maps"][0].erase("minibatches");
    EXPECT_THROW((void)parse_plan(lie.dump(), "x"), ProtocolError) << said;
  }
}

TEST(PlanJson, MinibatchesThatWouldNotBeATheoremAreRefused) {
  const ReleasePlan plan = sample_plan({.counts = true});
  const auto refused = [&](std::initializer_list<std::string> words, const auto& change) {
    ReleaseSettings settings = settings_with_counts(plan);
    settings.maps[0].minibatches = {.batches = 6, .epochs = 4};
    change(settings);
    expect_error(ExitCode::kConfig, words, [&] { (void)make_plan(settings); });
  };
  refused({"map.rff", "replace-one"},
          [](auto& s) { s.privacy.adjacency = privacy::Adjacency::kAddRemoveOne; });
  refused({"map.rff", "proxy"}, [](auto& s) {
    s.maps.push_back(s.maps[0]);
    s.maps[1].name = "z", s.maps[1].minibatches = {};
    s.maps[0].role = features::MapRole::kProxy;
  });
  refused({"map.rff", "more minibatches"}, [](auto& s) { s.records = 5; });
  refused({"map.rff", "too many"},
          [](auto& s) { s.maps[0].minibatches = {.batches = 59'999, .epochs = 1000}; });
  refused({"map.rff", "fewer epochs"}, [](auto& s) { s.records = std::uint64_t{1} << 33; });
  refused({"map.m", "networks"}, [](auto& s) {
    s.maps[0] = test::named("m", std::shared_ptr(test::make_moments({}, s.schema)));
    s.maps[0].minibatches = {.batches = 2};
  });
}

// A plan that the code before Hermite maps had a stretch wrote (commit e03ba38), with the name that it gave
// it.
TEST(PlanJson, OneOfHermiteMapsFromBeforeTheyHadAStretchIsRead) {
  const std::string text =
      R"({"counts":{"released":false,"weight":1.0},"lattice_bits":24,"maps":[)"
      R"({"bound":{"nonnegative_kernel":false,"norm":0.278},"kind":"hermite-product",)"
      R"("map":{"columns":2,"length_scale":0.1,"order":20,"seed":1,"subsets":3},"name":"product",)"
      R"("numbers":[{"count":1323,"sigma_lattice":467361108,"unit":60349697.841726616}],"role":"match",)"
      R"("weight":0.278},{"bound":{"nonnegative_kernel":false,"norm":1.0},"kind":"hermite-sum",)"
      R"("map":{"length_scale":0.1,"order":100},"name":"sum",)"
      R"("numbers":[{"count":404,"sigma_lattice":129926388,"unit":16777216.0}],"role":"match","weight":1.0}],)"
      R"("privacy":{"adjacency":"replace-one","delta":1e-05,"epsilon":1.0,"max_records_per_person":1,)"
      R"("mechanism":"rounded Gaussian on the integer lattice","noise_multiplier":3.7306316348161666,)"
      R"("sensitivity":2.0758458516951594,"sigma":7.744216203335871},"records":60000,)"
      R"("schema":{"classes":3,"hi":255.0,"lo":0.0,"on_error":"clamp","shape":[1,2,2]}})";
  const ReleasePlan plan = parse_plan(text, "x.mfl");
  EXPECT_EQ(plan_text(plan), text);
  EXPECT_EQ(plan_hash(plan), "7199425841a364d0e91ce696a0b1d58cd1f4ad1322b324484f5978258a46b7ae");
  EXPECT_EQ(plan.maps[0].map->hash(), "75f759138ef8190152216a0b9f9508e4abbd5a819ee41b858ba0829a52c269dd");
  EXPECT_EQ(plan.maps[1].map->hash(), "1a0d85b121406d051e393260394dc78300b62575e2db2f8a72774ca91005b1a5");
  Artifact release = testing_artifact::artifact_of(plan);
  const std::string bytes = artifact_bytes(release);
  EXPECT_EQ(artifact_bytes(parse_artifact(bytes, "x.mfl")), bytes);
  nlohmann::json bad = nlohmann::json::parse(text);
  bad["maps"][1]["map"]["stretch"] = 1.0;  // two spellings would be two names
  expect_error(ExitCode::kProtocol, {"x.mfl", "map"}, [&] { (void)parse_plan(bad.dump(), "x.mfl"); });
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
