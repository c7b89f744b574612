#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/ledger.hpp"
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
  a.without_noise = true;
  EXPECT_EQ(
      json::parse(privacy_statement_json(a))["verdict"].get<std::string>().rfind("NOT PRIVATE: no noise", 0),
      0u);
  EXPECT_NE(privacy_statement_text(a).find("exact sums of private records"), std::string::npos);
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

/// The page's first part, each run of blanks one blank.
std::string opening(const Artifact& a, const privacy::LedgerState* ledger = nullptr) {
  const std::string text = privacy_statement_text(a, ledger);
  std::istringstream words(text.substr(0, text.find("The formulas\n")));
  std::string out;
  for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

privacy::LedgerState ledger_of(const Artifact& a, const std::vector<double>& mus) {
  privacy::LedgerState state;
  state.data_id = "stays-2026";
  for (std::size_t i = 0; i < mus.size(); ++i) {
    privacy::ChargeRecord charge;
    charge.id = i + 1 < mus.size() ? "another" : a.ledger_charge;
    charge.terms.mu = mus[i];
    state.spent_squares += mus[i] * mus[i];
    state.charges.push_back(charge);
  }
  return state;
}

TEST(PrivacyStatement, BeginsWithHalfAPageWithoutFormulas) {
  const std::string text = privacy_statement_text(sample_artifact());
  const std::string page = text.substr(0, text.find("The formulas\n"));
  EXPECT_LE(std::count(page.begin(), page.end(), '\n'), 35) << page;
  for (const char* formula : {"sigma", " mu ", "sqrt", "phi"})
    EXPECT_EQ(page.find(formula), std::string::npos) << formula;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  for (const char* part : {"Who is protected.", "What epsilon says.", "What was spent.", "What to remember:"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
}

// e = 2.7183: odds of 1 to 1 become e to 1, of 1 to 99 e to 99. Phi(1 / (2 x 3.7306)) = 0.55331.
TEST(PrivacyStatement, SaysTheOddsThatEpsilonAllows) {
  const std::string page = opening(sample_artifact());
  for (const char* part :
       {"a chance of 1e-05 (1 in 100000), delta,", "at most 2.72,", "to 2.72 to 1, or 73.2% instead of 50%",
        "begins at 1% ends at 2.68% at most", "in 55.4% of all cases"})
    EXPECT_NE(page.find(part), std::string::npos) << part << " not in:\n" << page;
}

// 1 / (1 + e^-10) = 0.99995460: nobody is told that it is certain. e^60 = 1.1420e26.
TEST(PrivacyStatement, NeverSaysThatAGuessIsCertain) {
  EXPECT_NE(opening(sample_artifact({.epsilon = 10.0})).find("99.9955% instead of 50%"), std::string::npos);
  EXPECT_NE(opening(sample_artifact({.epsilon = 60.0})).find("1.15e+26 to 1, or 100% (nearly)"),
            std::string::npos);
}

// Another's odds are never said to be smaller than they may be, at the ends of the accountant's domain
// either.
TEST(PrivacyStatement, RoundsOddsAgainstThePromise) {
  for (const double epsilon : {0.001, 0.1, 1.0, 5.0, 40.0}) {
    const std::string page = opening(sample_artifact({.epsilon = epsilon}));
    const std::string before = "moves these odds by a factor of at most ", share = " to 1, or ";
    const double factor = std::stod(page.substr(page.find(before) + before.size()));
    EXPECT_GE(factor, std::exp(epsilon) * (1 - 1e-12));
    EXPECT_LE(factor, std::exp(epsilon) * 1.01);
    const double percent = std::stod(page.substr(page.find(share) + share.size()));
    EXPECT_GE(percent, 100 / (1 + std::exp(-epsilon)) * (1 - 1e-12));
    EXPECT_LE(percent, 100.0);
  }
}

TEST(PrivacyStatement, SaysWhoIsProtectedAgainstWhom) {
  using privacy::Adjacency;
  EXPECT_NE(opening(sample_artifact()).find("been any others"), std::string::npos);
  const std::string hidden = opening(
      sample_artifact({.adjacency = Adjacency::kAddRemoveOne, .counts = true, .records_per_person = 3}));
  EXPECT_NE(hidden.find("records not been there"), std::string::npos);
  EXPECT_NE(hidden.find("owns more than 3 records"), std::string::npos);
  EXPECT_EQ(hidden.find("is public"), std::string::npos);
}

TEST(PrivacyStatement, AddsUpWhatTheLedgerHas) {
  Artifact a = sample_artifact();
  a.ledger_charge = "0123456789abcdef0123456789abcdef";
  a.data_id = "stays-2026";
  const double mu = 1 / a.noise.noise_multiplier;
  EXPECT_NE(opening(a).find("the ledger of data set 'stays-2026' has the sum"), std::string::npos);
  const privacy::LedgerState alone = ledger_of(a, {mu});
  EXPECT_NE(opening(a, &alone).find("has no other charge."), std::string::npos);
  // Four of them have twice the mu of one.
  privacy::LedgerState four = ledger_of(a, {mu, mu, mu, mu});
  const std::string page = opening(a, &four);
  EXPECT_NE(page.find("this release and 3 other charges, comes to epsilon 2.155 at delta 1e-05"),
            std::string::npos)
      << page << privacy::epsilon_for(1e-5, 2 * mu);
  four.budget = privacy::Budget::from_epsilon(3.0, 1e-6);
  EXPECT_NE(opening(a, &four).find("The budget is epsilon 3 at delta 1e-06."), std::string::npos)
      << opening(a, &four);
  four.insecure = 1;
  EXPECT_NE(opening(a, &four).find("all of it together promises nothing"), std::string::npos);
}

}  // namespace
}  // namespace muffle::release
