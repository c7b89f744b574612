#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "muffle/privacy/accountant.hpp"
#include "release/sample_artifact.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;
using testing_artifact::sample_artifact;

TEST(PrivacyStatement, SaysOfWhichRecordsItSpeaks) {
  using privacy::Adjacency;
  for (const Adjacency adjacency : {Adjacency::kReplaceOne, Adjacency::kAddRemoveOne}) {
    Artifact a = sample_artifact({.adjacency = adjacency, .counts = true});
    for (const auto& [on_error, which] : {std::pair{schema::OnError::kClamp, "whatever they hold"},
                                          {schema::OnError::kRejectFile, "that fit the schema"}}) {
      a.schema.on_error = on_error;
      const std::string neighbours = json::parse(privacy_statement_json(a))["neighbours"];
      EXPECT_NE(neighbours.find(which), std::string::npos) << neighbours;
    }
  }
}

TEST(PrivacyStatement, MainJobStatesTheHonestSigma) {
  const Artifact a = sample_artifact();
  const json s = json::parse(privacy_statement_json(a));
  EXPECT_EQ(s["format"], "muffle-privacy-statement");
  EXPECT_EQ(s["version"], 2);
  EXPECT_EQ(s["private"], true);
  EXPECT_EQ(s["epsilon"], 1.0);
  EXPECT_EQ(s["delta"], 1e-5);
  EXPECT_EQ(s["adjacency"], "replace-one");
  EXPECT_EQ(s["records"], 60000);
  EXPECT_NEAR(s["noise_multiplier"].get<double>(), 3.73063163482, 1e-10);
  EXPECT_EQ(s["sensitivity"], 2.0);
  EXPECT_NEAR(s["sigma"].get<double>(), 2 * 3.73063163482, 1e-9);
  EXPECT_EQ(s["maps"][0]["numbers"][0]["sigma_lattice"].get<std::uint64_t>(),
            testing_artifact::sigma_lattice(a));
  EXPECT_NEAR(s["mu"].get<double>(), 1 / 3.73063163482, 1e-10);
  EXPECT_EQ(s["maps"].size(), 1u);
  for (const char* key :
       {"unit_of_privacy", "neighbours", "sensitivity_derivation", "mechanism", "verdict"}) {
    EXPECT_TRUE(s[key].is_string() && !s[key].get<std::string>().empty()) << key;
  }
  for (const char* key : {"public", "trust_model", "warnings"}) EXPECT_GE(s[key].size(), 2u) << key;
  EXPECT_NE(s["trust_model"].dump().find("exact sums"), std::string::npos);

  double last = 0.0;
  for (const json& point : s["epsilon_at_delta"]) {
    const double epsilon = point["epsilon"], delta = point["delta"];
    EXPECT_GT(epsilon, last);
    EXPECT_LE(privacy::delta_for(epsilon, s["mu"]), delta);
    last = epsilon;
  }
  EXPECT_GE(s["epsilon_at_delta"].size(), 6u);
  EXPECT_EQ(s["epsilon_at_delta"].back()["delta"], 1e-18);

  const std::string text = privacy_statement_text(a);
  for (const char* part :
       {"(1, 1e-05)-differentially private", "sigma = 7.461263", "3.7306316", "replace-one", "60000",
        "Rahimi", "L2 sensitivity 2.", "epsilon 1 at 1e-05", "coordinator", "one person"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " not in:\n" << text;
  }
}

TEST(PrivacyStatement, SeededNoiseIsCalledNotPrivateAndPromisesNothing) {
  Artifact a = sample_artifact();
  a.is_private = false;
  const json s = json::parse(privacy_statement_json(a));
  EXPECT_EQ(s["private"], false);
  for (const char* key : {"epsilon", "delta", "mu"}) EXPECT_TRUE(s[key].is_null()) << key;
  EXPECT_TRUE(s["epsilon_at_delta"].empty());
  EXPECT_EQ(s["verdict"].get<std::string>().rfind("NOT PRIVATE", 0), 0u);
  EXPECT_NE(s["warnings"].dump().find("NOT PRIVATE"), std::string::npos);
  const std::string text = privacy_statement_text(a);
  EXPECT_NE(text.find("NOT PRIVATE"), std::string::npos);
  EXPECT_EQ(text.find("differentially private"), std::string::npos);
}

TEST(PrivacyStatement, WarnsOfWeakPromisesAndKeepsPrivateNumbersOut) {
  const Artifact weak = sample_artifact({.records = 200'000, .epsilon = 20.0});
  const std::string warnings = json::parse(privacy_statement_json(weak))["warnings"].dump();
  EXPECT_NE(warnings.find("delta 1e-05 is not below"), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("epsilon 20 is a weak promise"), std::string::npos) << warnings;
  const Artifact hidden = sample_artifact(
      {.adjacency = privacy::Adjacency::kAddRemoveOne, .counts = true, .records_per_person = 3});
  const json s = json::parse(privacy_statement_json(hidden));
  EXPECT_TRUE(s["records"].is_null());
  EXPECT_EQ(s["max_records_per_person"], 3);
  EXPECT_NE(s["neighbours"].get<std::string>().find("is private"), std::string::npos);
  EXPECT_EQ(s["public"].dump().find("number of records ("), std::string::npos);
}

}  // namespace
}  // namespace muffle::release
