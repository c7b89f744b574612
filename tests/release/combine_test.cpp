// Releases of different sites, added up: what comes out, what it promises, and what is refused.
#include "muffle/release/combine.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/crypto/signature.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/release/noisy_moments.hpp"
#include "muffle/release/verification.hpp"
#include "release/sample_artifact.hpp"
#include "support/expect_error.hpp"

namespace muffle::release {
namespace combine_test {

using test::expect_error;
using testing_artifact::artifact_of;
using testing_artifact::sample_plan;
using testing_artifact::Settings;

/// A site alone, its key, and its release.
struct Alone {
  explicit Alone(const std::string& name, std::int64_t value, const Settings& s = {},
                 std::uint64_t records = 60'000)
      : key(crypto::SiteKey::generate(name)) {
    Settings own = s;
    own.records = records;
    artifact = artifact_of(sample_plan(own));
    artifact.data_id = name;
    artifact.ledger_charge = std::string(32, static_cast<char>('0' + value % 10));
    for (std::size_t i = 0; i < artifact.values.size(); ++i)
      artifact.values[i] = value * (std::int64_t{1} << 20) + static_cast<std::int64_t>(i);
    make();
  }
  void make() {
    bytes = artifact_bytes(artifact);
    signature = crypto::sign_release(key, bytes);
  }
  CombinedFrom from() const { return {key.name(), bytes, signature}; }

  crypto::SiteKey key;
  Artifact artifact;
  std::string bytes, signature;
};

Artifact combined_of(const std::vector<CombinedFrom>& from, bool same_people = false) {
  return combine(from, same_people, "1.2.3");
}

TEST(Combine, MinibatchesOfDifferentSitesAreNotAdded) {
  Alone north("north", 3), south("south", -5);
  for (Alone* site : {&north, &south}) {
    ReleaseSettings settings{site->artifact.schema, {}, site->artifact.maps, {}, false, 60'000};
    settings.privacy = testing_artifact::privacy_of({});
    settings.maps[0].minibatches = {.batches = 4, .epochs = 2};
    static_cast<ReleasePlan&>(site->artifact) = make_plan(settings);
    site->artifact.values.assign(site->artifact.size(), 0);
    site->make();
  }
  expect_error(ExitCode::kConfig, {"'north'", "minibatches = 0"}, [&] {
    (void)combined_of({north.from(), south.from()});
  });
}

TEST(Combine, ValuesAndVariancesAddUp) {
  const Alone north("north", 3), south("south", -5), west("west", 7);
  const Artifact sum = combined_of({north.from(), south.from(), west.from()});
  for (std::size_t i = 0; i < sum.values.size(); ++i)
    EXPECT_EQ(sum.values[i], 5 * (std::int64_t{1} << 20) + 3 * static_cast<std::int64_t>(i));
  const double one = carried_sigma(north.artifact, north.artifact.aggregation, 0, 0);
  EXPECT_NEAR(carried_sigma(sum, sum.aggregation, 0, 0), std::sqrt(3.0) * one, 1e-9 * one);
  EXPECT_EQ(sum.records, 180'000u);
  EXPECT_TRUE(sum.is_private);
  EXPECT_EQ(sum.ledger_charge, "");
  // There and back, and by any order of steps the same numbers.
  const std::string bytes = artifact_bytes(sum);
  EXPECT_EQ(artifact_bytes(parse_artifact(bytes, "sum")), bytes);
  const std::string two = artifact_bytes(combined_of({north.from(), south.from()}));
  const Artifact again = combined_of({{"two", two, {}}, west.from()});
  EXPECT_EQ(again.values, sum.values);
  EXPECT_EQ(again.parts, sum.parts);
  EXPECT_EQ(artifact_bytes(again), bytes);
}

TEST(Combine, ThePromiseIsTheLargestOrTheRootOfTheSquares) {
  const Alone north("north", 3), south("south", 5);
  const privacy::Guarantee one = promise_of(north.artifact).value();
  EXPECT_EQ(promise_of(combined_of({north.from(), south.from()}))->epsilon, one.epsilon);
  const Artifact shared = combined_of({north.from(), south.from()}, true);
  const privacy::Guarantee both = promise_of(shared).value();
  const double mu = std::sqrt(2.0) / one.noise_multiplier;
  EXPECT_NEAR(1 / both.noise_multiplier, mu, 1e-12 * mu);
  EXPECT_LE(both.noise_multiplier * std::sqrt(2.0), one.noise_multiplier) << "rounded against the promise";
  EXPECT_NEAR(both.epsilon, privacy::epsilon_to_tell(mu, one.delta).value(), 1e-9);
  EXPECT_GT(both.epsilon, 1.4 * one.epsilon);
  // Every number that people and programs read says the larger one.
  const auto told = nlohmann::json::parse(privacy_statement_json(shared));
  EXPECT_EQ(told.at("epsilon"), both.epsilon);
  EXPECT_NEAR(told.at("mu").get<double>(), mu, 1e-9);
  EXPECT_EQ(told.at("aggregation").at("mode"), "combined");
  EXPECT_EQ(told.at("aggregation").at("same_people"), true);
  const std::string text = privacy_statement_text(shared);
  EXPECT_NE(text.find("the squares of their mu add up"), std::string::npos) << text;
  EXPECT_EQ(text.find(fmt::format("This release is ({}, ", one.epsilon)), std::string::npos) << text;
  const std::string apart = privacy_statement_text(combined_of({north.from(), south.from()}));
  EXPECT_NE(apart.find("nobody's records are in two"), std::string::npos) << apart;
  EXPECT_NE(apart.find("Of release 2: A single coordinator"), std::string::npos) << apart;
  // Once a person may be in two of several, what is added later does not take that back.
  const Alone west("west", 7);
  const std::string bytes = artifact_bytes(shared);
  const Artifact three = combined_of({{"shared", bytes, {}}, west.from()});
  EXPECT_NEAR(1 / promise_of(three)->noise_multiplier, std::sqrt(3.0) / one.noise_multiplier, 1e-9);
  // Beyond the accountant's domain nothing is promised, so nothing is made.
  const Settings large{.epsilon = 90};
  const Alone a("a", 3, large), b("b", 5, large);
  expect_error(ExitCode::kConfig, {"above 100"}, [&] { (void)combined_of({a.from(), b.from()}, true); });
  EXPECT_NO_THROW((void)combined_of({a.from(), b.from()}));
}

TEST(Combine, NoSiteIsInTwice) {
  const Alone north("north", 3), south("south", 5);
  const auto refused = [&](const char* part, const std::vector<CombinedFrom>& from) {
    expect_error(ExitCode::kConfig, {part}, [&] { (void)combined_of(from); });
  };
  refused("fewer than two", {north.from()});
  refused("added to itself", {north.from(), north.from()});
  Alone again("north", 4);
  again.key = crypto::SiteKey::generate("other");
  Alone same("south", 6);
  CombinedFrom disguised = same.from();
  const std::string by_north = crypto::sign_release(north.key, same.bytes);
  disguised.signature = by_north;
  refused("is in two of these releases", {north.from(), disguised});
  CombinedFrom unsigned_one = south.from();
  unsigned_one.signature.reset();
  refused("nobody has signed it", {north.from(), unsigned_one});
  same.artifact.ledger_charge = north.artifact.ledger_charge;
  same.make();
  refused("paid for two", {north.from(), same.from()});
  // Also through a combination of both.
  const std::string both = artifact_bytes(combined_of({north.from(), south.from()}));
  refused("added to itself", {{"both", both, {}}, south.from()});
}

TEST(Combine, OnlyOnePlansNumbersAddUp) {
  const Alone north("north", 3), other("south", 5, {.epsilon = 2.0}), more("west", 7, {.features = 10});
  for (const Alone* stranger : {&other, &more})
    expect_error(ExitCode::kConfig, {"another plan", "word for word"}, [&] {
      (void)combined_of({north.from(), stranger->from()});
    });
  // How many records there are may differ, and adds up.
  EXPECT_EQ(combined_of({north.from(), Alone("east", 9, {}, 1000).from()}).records, 61'000u);
}

TEST(Combine, DamagedAndForeignFilesAreRefused) {
  const Alone north("north", 3), south("south", 5);
  CombinedFrom bad = south.from();
  std::string flipped = south.bytes;
  flipped[flipped.size() - 40] = static_cast<char>(flipped[flipped.size() - 40] ^ 1);
  bad.release = flipped;
  expect_error(ExitCode::kProtocol, {"south"}, [&] { (void)combined_of({north.from(), bad}); });
  bad = south.from();
  bad.signature = north.signature;
  expect_error(ExitCode::kProtocol, {"south"}, [&] { (void)combined_of({north.from(), bad}); });
  // Seeded noise in one part is no privacy of the whole.
  Alone seeded("west", 7);
  seeded.artifact.is_private = false;
  seeded.make();
  const Artifact sum = combined_of({north.from(), seeded.from()});
  EXPECT_FALSE(sum.is_private);
  EXPECT_NE(privacy_statement_text(sum).find("NOT PRIVATE"), std::string::npos);
}

TEST(Combine, HeadersThatContradictThemselvesAreNone) {
  const Alone north("north", 3), south("south", 5);
  const std::string good = artifact_bytes(combined_of({north.from(), south.from()}));
  const auto refused = [&](const std::function<void(nlohmann::json&)>& change) {
    Container container = parse_container(good, "muffle-release", kArtifactVersion, "r");
    change(container.header);
    const std::string bytes = serialize(container);
    expect_error(ExitCode::kProtocol, {}, [&] { (void)parse_artifact(bytes, "r"); });
  };
  refused([](auto& h) { h.erase("parts"); });
  refused([](auto& h) { h["parts"].erase(0); });
  refused([](auto& h) { h["parts"][0]["private"] = false; });
  refused([](auto& h) { h["parts"][0]["records"] = 1u; });
  refused([](auto& h) { h["parts"][0]["signer"] = "me"; });
  refused([](auto& h) { h["aggregation"]["parts"].erase(0); });
  refused([](auto& h) { h["aggregation"]["parts"][0] = h["aggregation"]; });
  refused([](auto& h) { h["aggregation"]["parts"][0]["ranks"] = 0u; });
  refused([](auto& h) { h["ledger"]["charge"] = std::string(32, 'a'); });
  refused([](auto& h) { h["aggregation"].erase("same_people"); });
  refused([](auto& h) { h["parts"][0]["more"] = 1u; });
}

TEST(Combine, IsVerifiedFromItsParts) {
  const Alone north("north", 3), south("south", 5);
  const std::string good = artifact_bytes(combined_of({north.from(), south.from()}));
  const auto judged = [&](const std::string& release, const std::vector<CombinedFrom>& parts) {
    Evidence evidence;
    evidence.name = "sum.mfl";
    evidence.release = release;
    evidence.parts = parts;
    evidence.may_be_unsigned = true;
    return verify_release(evidence);
  };
  const auto outcome = [](const Verification& v, std::string_view name) {
    for (const Check& check : v.checks) {
      if (check.name == name) return check.outcome;
    }
    return Check::Outcome::kFail;
  };
  const Verification whole = judged(good, {north.from(), south.from()});
  EXPECT_EQ(whole.code(), ExitCode::kDone) << verification_text(whole);
  EXPECT_EQ(outcome(whole, "parts"), Check::Outcome::kPass);
  EXPECT_EQ(outcome(judged(good, {}), "parts"), Check::Outcome::kSkipped);
  const auto refused = [&](const std::string& release, const std::vector<CombinedFrom>& parts) {
    EXPECT_EQ(judged(release, parts).code(), ExitCode::kProtocol);
  };
  refused(good, {north.from(), Alone("west", 5).from()});
  refused(good, {south.from(), north.from()});
  refused(north.bytes, {north.from(), south.from()});
  Artifact lie = parse_artifact(good, "sum");
  ++lie.values[2];
  refused(artifact_bytes(lie), {north.from(), south.from()});
  lie = parse_artifact(good, "sum");
  lie.parts[1].data_id = "another";
  refused(artifact_bytes(lie), {north.from(), south.from()});
}

// What models are made of says the noise of the sum.
TEST(Combine, ReadersSeeTheNoiseOfTheSum) {
  const Settings counted{.counts = true};
  const Alone north("north", 3, counted), south("south", 5, counted);
  const Artifact sum = combined_of({north.from(), south.from()});
  EXPECT_NEAR(noisy_counts(sum)->sigma, std::sqrt(2.0) * noisy_counts(north.artifact)->sigma, 1e-9);
}

}  // namespace combine_test
}  // namespace muffle::release
