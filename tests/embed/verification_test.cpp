#include "muffle/embed/verification.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "embed/sample_artifact.hpp"
#include "muffle/core/container.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/privacy/accountant.hpp"
#include "recompute.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::embed {
namespace {

using nlohmann::json;
using testing_artifact::sample_artifact;
using testing_artifact::Settings;

Artifact sample(const Settings& settings = {}) { return sample_artifact(settings); }

std::string bytes_of(const Artifact& artifact) {
  const test::TemporaryFolder folder;
  write_artifact(folder / "release.mfl", artifact);
  return read_file(folder / "release.mfl");
}

/// The release with another header and the checksum that belongs to it.
std::string with_header(const std::string& release, const std::function<void(json&)>& edit) {
  Container container = parse_container(release, "muffle-release", kArtifactVersion, "x");
  edit(container.header);
  return serialize(container);
}

Verification judge(const std::string& release, const std::function<void(Evidence&)>& more = {}) {
  Evidence evidence;
  evidence.name = "release.mfl";
  evidence.release = release;
  if (more) more(evidence);
  return verify_release(evidence);
}

std::vector<std::string> failed(const Verification& v) {
  std::vector<std::string> names;
  for (const Check& c : v.checks) {
    if (c.outcome == Check::Outcome::kFail) names.push_back(c.name);
  }
  return names;
}

Check::Outcome outcome(const Verification& v, const std::string& name) {
  for (const Check& c : v.checks) {
    if (c.name == name) return c.outcome;
  }
  ADD_FAILURE() << "no check '" << name << "'";
  return Check::Outcome::kFail;
}

TEST(Recompute, AgreesWithTheReferenceValues) {
  const double points[][3] = {{1, 1, 0.12693673750664395},
                              {1, 4, 2.9242721048564073e-6},
                              {0.1, 10, 0.008751768145809594},
                              {5, 0.5, 0.032281984750072821},
                              {0.2, 25, 2.3629281167356276e-9}};
  for (const auto& [epsilon, sigma, delta] : points)
    EXPECT_NEAR(static_cast<double>(plain_delta(epsilon, 1 / sigma)) / delta, 1, 1e-12) << epsilon;
  const double sigmas[][2] = {{0.2, 16.3041334209}, {0.5, 7.03182667558}, {1, 3.73063163482},
                              {2, 1.99381244564},   {5, 0.891868264952},  {10, 0.499888619709}};
  for (const auto& [epsilon, sigma] : sigmas)
    EXPECT_NEAR(static_cast<double>(plain_multiplier(epsilon, 1e-5)) / sigma, 1, 1e-11) << epsilon;
}

TEST(Recompute, AgreesWithTheAccountantOverItsDomain) {
  for (const double epsilon : {1e-3, 0.03, 0.7, 8.0, 40.0, 100.0}) {
    for (const double delta : {1e-18, 1e-15, 1e-12, 1e-8, 1e-5, 1e-3, 0.1}) {
      const double exact = privacy::noise_multiplier_for(epsilon, delta);
      EXPECT_NEAR(static_cast<double>(plain_multiplier(epsilon, delta)) / exact, 1, 1e-10)
          << epsilon << " " << delta;
    }
  }
}

TEST(Recompute, AgreesWithTheCombinedSensitivity) {
  for (const auto adjacency : {privacy::Adjacency::kReplaceOne, privacy::Adjacency::kAddRemoveOne}) {
    for (const bool counts : {false, true}) {
      for (const bool nonnegative : {false, true}) {
        const privacy::SensitivityInput input{
            {{1.0, false, ""}, {0.7, nonnegative, ""}}, adjacency, counts, 0.9, 3};
        EXPECT_NEAR(
            static_cast<double>(plain_sensitivity(input)) / privacy::combined_sensitivity(input).value, 1,
            1e-14);
      }
    }
  }
}

TEST(Verification, AGoodReleasePassesEveryCheck) {
  for (const Settings& s :
       {Settings{}, Settings{.counts = true, .records_per_person = 3, .epsilon = 0.2},
        Settings{.adjacency = privacy::Adjacency::kAddRemoveOne, .counts = true},
        Settings{.rff = false, .moments = true}, Settings{.moments = true, .weight = 5, .proxy = true},
        Settings{.counts = true, .moments = true, .weight = 0.3},
        Settings{.adjacency = privacy::Adjacency::kAddRemoveOne, .moments = true}}) {
    const Verification v = judge(bytes_of(sample(s)));
    EXPECT_EQ(v.code(), ExitCode::kDone) << verification_text(v);
    EXPECT_THAT(failed(v), ::testing::IsEmpty());
    for (const char* name : {"file", "fields", "domain", "sensitivity", "noise multiplier", "sigma", "delta",
                             "consistency", "blocks", "feature maps", "secure noise"})
      EXPECT_EQ(outcome(v, name), Check::Outcome::kPass) << name;
    EXPECT_EQ(outcome(v, "signature"), Check::Outcome::kSkipped);
    EXPECT_EQ(outcome(v, "ledger"), Check::Outcome::kSkipped);
  }
}

TEST(Verification, TheCardSaysAllThereIsToKnow) {
  const comm::SiteKey key = comm::SiteKey::generate("clinic-1");
  const std::string release = bytes_of(sample());
  const Verification v = judge(release, [&](Evidence& e) {
    e.signature = sign_release(key, release);
    e.trusted = SignerKey{"clinic-1", key.public_key()};
  });
  const std::string text = verification_text(v);
  for (const char* part : {"verdict: good", "(here: single coordinator). For that the signer vouches",
                           "Unit of privacy: one person", "replace-one adjacency", "epsilon ",
                           "Who is trusted with what", "Public, and not protected", "Signed by: 'clinic-1'"})
    EXPECT_THAT(text, ::testing::HasSubstr(part));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("P R I V A T E")));
  const json j = json::parse(verification_json(v));
  EXPECT_EQ(j["format"], "muffle-verification");
  EXPECT_EQ(j["verdict"], "good");
  EXPECT_EQ(j["signer"]["public_key"], comm::to_hex(key.public_key()));
  EXPECT_EQ(j["statement"]["format"], "muffle-privacy-statement");
  EXPECT_GE(j["statement"]["epsilon_at_delta"].size(), 5u);
}

TEST(Verification, AnyFlippedByteIsFound) {
  const std::string release = bytes_of(sample());
  const comm::SiteKey key = comm::SiteKey::generate("clinic-1");
  const std::string signature = sign_release(key, release);
  for (std::size_t i = 0; i < release.size(); ++i) {
    std::string damaged = release;
    damaged[i] = static_cast<char>(damaged[i] ^ 1 << i % 8);
    const Verification v = judge(damaged, [&](Evidence& e) { e.signature = signature; });
    ASSERT_EQ(v.code(), ExitCode::kProtocol) << "byte " << i;
    ASSERT_THAT(failed(v), ::testing::IsSupersetOf({"file", "signature"})) << "byte " << i;
    ASSERT_THAT(verification_text(v), ::testing::Not(::testing::HasSubstr("Privacy statement")));
  }
  EXPECT_EQ(judge(release.substr(0, release.size() - 1)).code(), ExitCode::kProtocol);
  EXPECT_EQ(judge(release + "x").code(), ExitCode::kProtocol);
  EXPECT_EQ(judge("").code(), ExitCode::kProtocol);
}

TEST(Verification, ADemandedSignatureMustBeThereAndOfThatKey) {
  const comm::SiteKey ours = comm::SiteKey::generate("clinic-1"), other = comm::SiteKey::generate("clinic-1");
  const std::string release = bytes_of(sample());
  const auto with = [&](const comm::SiteKey* signer) {
    return judge(release, [&](Evidence& e) {
      e.trusted = SignerKey{"clinic-1", ours.public_key()};
      if (signer != nullptr) e.signature = sign_release(*signer, release);
    });
  };
  EXPECT_EQ(with(&ours).code(), ExitCode::kDone);
  EXPECT_THAT(failed(with(nullptr)), ::testing::ElementsAre("signature"));
  EXPECT_EQ(with(nullptr).code(), ExitCode::kProtocol);
  // The same name means nothing.
  EXPECT_THAT(failed(with(&other)), ::testing::ElementsAre("signature"));
  EXPECT_EQ(with(&other).code(), ExitCode::kProtocol);
  EXPECT_FALSE(with(&other).signature.has_value());
  // Without --key a signature that is there must still verify.
  const Verification foreign =
      judge(release, [&](Evidence& e) { e.signature = sign_release(ours, release + " "); });
  EXPECT_EQ(foreign.code(), ExitCode::kProtocol);
  EXPECT_THAT(failed(foreign), ::testing::ElementsAre("signature"));
}

struct Lie {
  const char* what;
  const char* check;  // that must find it
  std::function<void(json&)> tell;
};

TEST(Verification, AHeaderThatLiesWithAGoodChecksumIsRefused) {
  const std::string release = bytes_of(sample({.records_per_person = 2}));
  const auto scale = [](const char* key, double factor) {
    return [=](json& h) { h["privacy"][key] = h["privacy"][key].get<double>() * factor; };
  };
  // Everything that follows from the noise multiplier or the sensitivity is moved along.
  const auto consistent_sigma = [](json& h) {
    json& p = h["privacy"];
    const double sigma = multiply_up(p["noise_multiplier"], p["sensitivity"]);
    p["sigma"] = sigma;
    for (json& block : h["blocks"]) {
      for (json& run : block["numbers"])
        run["sigma_lattice"] = static_cast<std::uint64_t>(privacy::lattice_sigma(sigma, run["unit"]));
    }
  };
  const std::vector<Lie> lies = {
      {"sigma too small", "sigma", scale("sigma", 0.999)},
      {"a lattice sigma one too small", "sigma",
       [](json& h) {
         json& drawn = h["blocks"][0]["numbers"][0]["sigma_lattice"];
         drawn = drawn.get<std::uint64_t>() - 1;
       }},
      {"half the noise, spelt out consistently", "noise multiplier",
       [&](json& h) {
         scale("noise_multiplier", 0.5)(h);
         consistent_sigma(h);
       }},
      {"and found from sigma alone", "delta",
       [&](json& h) {
         scale("noise_multiplier", 0.5)(h);
         consistent_sigma(h);
       }},
      {"half the sensitivity, spelt out consistently", "sensitivity",
       [&](json& h) {
         scale("sensitivity", 0.5)(h);
         consistent_sigma(h);
       }},
      {"a smaller epsilon than the noise gives", "noise multiplier", scale("epsilon", 0.9)},
      {"a smaller delta", "delta", scale("delta", 0.5)},
      {"an epsilon of nothing", "domain", [](json& h) { h["privacy"]["epsilon"] = 0.0; }},
      {"fewer records a person", "sensitivity", [](json& h) { h["privacy"]["max_records_per_person"] = 1; }},
      {"another adjacency", "sensitivity", [](json& h) { h["privacy"]["adjacency"] = "add-remove-one"; }},
      {"a norm bound that the feature map does not have", "blocks",
       [&](json& h) {
         h["blocks"][0]["bound"]["norm"] = 0.5;
         scale("sensitivity", 0.5)(h);
         consistent_sigma(h);
       }},
      {"a sign that the feature map does not have", "blocks",
       [&](json& h) {
         h["blocks"][0]["bound"]["nonnegative_kernel"] = true;
         h["privacy"]["sensitivity"] = 2 * std::sqrt(2.0);
         consistent_sigma(h);
       }},
      {"another lattice", "sigma", [](json& h) { h["lattice_bits"] = 23; }},
      {"frequencies that nobody can rebuild", "feature maps",
       [](json& h) { h["blocks"][0]["map"]["seed"] = 7; }},
      {"a weight that the bound does not know", "blocks", [](json& h) { h["blocks"][0]["weight"] = 0.5; }},
      {"a larger weight's units, and so less noise", "blocks",
       [&](json& h) {
         json& run = h["blocks"][0]["numbers"][0];
         run["unit"] = run["unit"].get<double>() / 2;
         consistent_sigma(h);
       }},
      {"a field that is missing", "fields", [](json& h) { h["privacy"].erase("sigma"); }},
  };
  for (const Lie& lie : lies) {
    const Verification v = judge(with_header(release, lie.tell));
    EXPECT_EQ(v.code(), ExitCode::kProtocol) << lie.what;
    EXPECT_EQ(outcome(v, lie.check), Check::Outcome::kFail) << lie.what << "\n" << verification_text(v);
    EXPECT_EQ(outcome(v, "file"), Check::Outcome::kPass) << lie.what;
  }
  // The edits themselves are not what is refused.
  EXPECT_EQ(judge(with_header(release, consistent_sigma)).code(), ExitCode::kDone);
}

// The same for second moments beside random features.
TEST(Verification, MomentsThatLieAreRefused) {
  const std::string release = bytes_of(sample({.moments = true, .weight = 2}));
  const std::vector<Lie> lies = {
      {"half the noise beside the diagonal", "sigma",
       [](json& h) {
         json& drawn = h["blocks"][0]["numbers"][1]["sigma_lattice"];
         drawn = drawn.get<std::uint64_t>() / 2;
       }},
      {"one unit less on the diagonal", "sigma",
       [](json& h) {
         json& drawn = h["blocks"][0]["numbers"][0]["sigma_lattice"];
         drawn = drawn.get<std::uint64_t>() - 1;
       }},
      {"another weight", "blocks", [](json& h) { h["blocks"][0]["weight"] = 1.0; }},
      {"fewer bits", "blocks", [](json& h) { h["blocks"][0]["map"]["bits"] = 15; }},
      {"a signed kernel", "blocks", [](json& h) { h["blocks"][0]["bound"]["nonnegative_kernel"] = false; }},
      {"another blob", "feature maps", [](json& h) { h["blocks"][0]["map"]["blob_height"] = 0.25; }},
      {"more coefficients", "blocks", [](json& h) { h["blocks"][0]["map"]["coefficients"] = 1; }},
  };
  for (const Lie& lie : lies) {
    const Verification v = judge(with_header(release, lie.tell));
    EXPECT_EQ(v.code(), ExitCode::kProtocol) << lie.what;
    EXPECT_EQ(outcome(v, lie.check), Check::Outcome::kFail) << lie.what << "\n" << verification_text(v);
  }
  EXPECT_EQ(judge(release).code(), ExitCode::kDone);
}

TEST(Verification, SeededNoiseIsNotPrivateInLoudLetters) {
  Artifact a = sample();
  a.is_private = false;
  const Verification v = judge(bytes_of(a));
  EXPECT_EQ(v.code(), ExitCode::kBudget);
  EXPECT_THAT(failed(v), ::testing::ElementsAre("secure noise"));
  EXPECT_THAT(verification_text(v), ::testing::AllOf(::testing::HasSubstr("verdict: NOT PRIVATE"),
                                                     ::testing::HasSubstr("N O T   P R I V A T E")));
  EXPECT_EQ(json::parse(verification_json(v))["verdict"], "not private");
}

TEST(Verification, WithoutAKeyAndALedgerNobodyVouches) {
  const std::string release = bytes_of(sample());
  for (const bool anybody_signed : {false, true}) {
    const Verification v = judge(release, [&](Evidence& e) {
      if (anybody_signed) e.signature = sign_release(comm::SiteKey::generate("whoever"), release);
    });
    EXPECT_EQ(v.code(), ExitCode::kDone);
    EXPECT_THAT(verification_text(v),
                ::testing::AllOf(::testing::HasSubstr("verdict: consistent, but nobody vouches for it"),
                                 ::testing::HasSubstr("For that nobody vouches")));
    EXPECT_EQ(json::parse(verification_json(v))["verdict"], "consistent");
  }
}

TEST(Verification, TheVerdictSaysThatFeatureMapsWereNotChecked) {
  const std::string release = bytes_of(sample());
  const std::string skipped =
      "verdict: consistent, but nobody vouches for it: no signature checked, no ledger; its "
      "feature maps are too large";
  EXPECT_THAT(verification_text(judge(release, [](Evidence& e) { e.most_frequencies = 1; })),
              ::testing::HasSubstr(skipped));
  EXPECT_THAT(verification_text(judge(release)), ::testing::Not(::testing::HasSubstr("too large")));
}

TEST(Verification, TheProofIsOursWhateverTheFileSays) {
  const std::string lie = "In truth (0.001, 1e-12)-DP.";
  const std::string release = with_header(bytes_of(sample()), [&](json& h) {
    h["privacy"]["sensitivity_derivation"] = lie;
    h["blocks"][0]["bound"]["theorem"] = lie;
  });
  const Verification v = judge(release);
  EXPECT_EQ(verification_text(v).find(lie), std::string::npos);
  EXPECT_EQ(verification_json(v).find(lie), std::string::npos);
  EXPECT_THAT(verification_text(v), ::testing::HasSubstr("Rahimi"));
}

TEST(Verification, UnknownFieldsAreRefused) {
  for (const char* place : {"", "/privacy", "/schema", "/blocks/0", "/blocks/0/map", "/ledger", "/values"}) {
    const std::string release = with_header(bytes_of(sample()), [&](json& h) {
      h[json::json_pointer(std::string(place) + "/audited_by")] = "everybody";
    });
    const Verification v = judge(release);
    EXPECT_EQ(v.code(), ExitCode::kProtocol) << place;
    EXPECT_THROW(parse_artifact(release, "x"), ProtocolError) << place;
  }
}

TEST(Verification, TextsOfTheFileCannotForgeLines) {
  const std::string release = with_header(bytes_of(sample()), [](json& h) {
    h["muffle_version"] =
        "1\n  pass    signature \xc2\x9b"
        "2J";
    h["privacy"]["sensitivity_derivation"] = "trust\x1b[2J me\nSigned by: everybody";
    h["blocks"][0]["bound"]["theorem"] = "so\nSigned by: everybody";
  });
  const Verification v = judge(release);
  const std::string text = verification_text(v);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos) << "CSI in one character";
  EXPECT_EQ(text.find("\nSigned by: everybody"), std::string::npos);
  EXPECT_EQ(text.find("\n  pass    signature"), std::string::npos);
  EXPECT_NE(text.find("Signed by: nobody"), std::string::npos);
}

class VerificationLedger : public ::testing::Test {
 protected:
  /// A ledger with one charge for `a`, which gets its id.
  std::string charge(Artifact& a) {
    auto ledger = open();
    terms_ = {"/runs/a/release.mfl", a.config_hash, privacy::mu_of(a.noise),  a.noise.sensitivity.value,
              a.noise.sigma,         a.is_private,  privacy::unit_of(a.noise)};
    return a.ledger_charge = ledger.begin(terms_);
  }
  privacy::Ledger open() {
    return privacy::Ledger::open(folder_ / "ledger.jsonl", "patients-2024", std::nullopt,
                                 std::chrono::seconds(5));
  }
  void commit(const std::string& id, const std::string& release) {
    auto ledger = open();
    ledger.bind(id, to_hex(sha256(release)));
    ledger.commit(id, to_hex(sha256(release)));
  }
  Verification judge_with_ledger(const std::string& release, bool named = true) {
    return judge(release, [&](Evidence& e) {
      e.ledger = Evidence::LedgerText{"ledger.jsonl", read_file(folder_ / "ledger.jsonl"), named};
    });
  }
  std::string ledger_detail(const Verification& v) {
    for (const Check& c : v.checks) {
      if (c.name == "ledger") return c.detail;
    }
    return {};
  }

  test::TemporaryFolder folder_;
  privacy::ChargeTerms terms_;
};

TEST_F(VerificationLedger, ACommittedReleasePasses) {
  Artifact a = sample();
  const std::string id = charge(a), release = bytes_of(a);
  commit(id, release);
  const Verification v = judge_with_ledger(release);
  EXPECT_EQ(v.code(), ExitCode::kDone) << verification_text(v);
  EXPECT_EQ(outcome(v, "ledger"), Check::Outcome::kPass);
  EXPECT_THAT(verification_text(v),
              ::testing::AllOf(::testing::HasSubstr("all 1 releases of data set 'patients-2024'"),
                               ::testing::HasSubstr("verdict: good"),
                               ::testing::HasSubstr("whoever keeps the ledger vouches")));
}

// Whoever makes up a release can make up a ledger beside it: this test does.
TEST_F(VerificationLedger, ALedgerThatNobodyNamedDoesNotVouchButCanRefuse) {
  Artifact a = sample();
  const std::string id = charge(a), release = bytes_of(a);
  EXPECT_EQ(judge_with_ledger(release, false).code(), ExitCode::kProtocol) << "no COMMIT";
  commit(id, release);
  const Verification v = judge_with_ledger(release, false);
  EXPECT_EQ(v.code(), ExitCode::kDone) << verification_text(v);
  EXPECT_EQ(outcome(v, "ledger"), Check::Outcome::kPass);
  EXPECT_FALSE(v.vouched());
  EXPECT_THAT(verification_text(v),
              ::testing::AllOf(::testing::HasSubstr("verdict: consistent, but nobody vouches for it"),
                               ::testing::HasSubstr("the ledger beside it is unsigned"),
                               ::testing::HasSubstr("For that nobody vouches")));
  EXPECT_EQ(json::parse(verification_json(v))["verdict"], "consistent");
}

TEST_F(VerificationLedger, WithoutItsCommitOrWithAnotherFilesItIsRefused) {
  Artifact a = sample();
  const std::string id = charge(a), release = bytes_of(a);
  Verification v = judge_with_ledger(release);
  EXPECT_EQ(v.code(), ExitCode::kProtocol);
  EXPECT_THAT(ledger_detail(v), ::testing::HasSubstr("no COMMIT"));
  commit(id, release + "x");
  v = judge_with_ledger(release);
  EXPECT_EQ(v.code(), ExitCode::kProtocol);
  EXPECT_THAT(ledger_detail(v), ::testing::HasSubstr(to_hex(sha256(release))));
}

TEST_F(VerificationLedger, AChargeItDoesNotKnowIsRefused) {
  Artifact a = sample();
  commit(charge(a), bytes_of(a));
  a.ledger_charge = std::string(32, 'a');
  EXPECT_THAT(ledger_detail(judge_with_ledger(bytes_of(a))), ::testing::HasSubstr("no charge aaaa"));
  a.ledger_charge.clear();
  EXPECT_THAT(ledger_detail(judge_with_ledger(bytes_of(a))), ::testing::HasSubstr("without a ledger"));
  EXPECT_EQ(judge_with_ledger(bytes_of(a)).code(), ExitCode::kProtocol);
}

TEST_F(VerificationLedger, AnotherMuThanTheReleaseStatesIsRefused) {
  Artifact a = sample();
  auto ledger = std::make_unique<privacy::Ledger>(open());
  a.ledger_charge = ledger->begin({"/r", a.config_hash, 0.5 * privacy::mu_of(a.noise), 2, 1, true, {}});
  const std::string release = bytes_of(a);
  ledger->bind(a.ledger_charge, to_hex(sha256(release)));
  ledger->commit(a.ledger_charge, to_hex(sha256(release)));
  ledger.reset();
  const Verification v = judge_with_ledger(release);
  EXPECT_EQ(v.code(), ExitCode::kProtocol);
  EXPECT_THAT(ledger_detail(v), ::testing::HasSubstr("charged mu"));
}

TEST_F(VerificationLedger, AnotherUnitOfPrivacyThanTheReleaseStatesIsRefused) {
  Artifact a = sample();
  {
    auto ledger = open();
    a.ledger_charge = ledger.begin(
        {"/r", a.config_hash, privacy::mu_of(a.noise), 2, 1, true, {privacy::Adjacency::kReplaceOne, 7}});
  }
  const std::string release = bytes_of(a);
  commit(a.ledger_charge, release);
  const Verification v = judge_with_ledger(release);
  EXPECT_EQ(v.code(), ExitCode::kProtocol);
  EXPECT_THAT(ledger_detail(v), ::testing::HasSubstr("at most 7 records a person"));
}

TEST_F(VerificationLedger, AnotherDataSetsOrABrokenOneIsRefused) {
  Artifact a = sample();
  const std::string id = charge(a);
  Artifact other = a;
  other.data_id = "patients-2025";
  EXPECT_THAT(ledger_detail(judge_with_ledger(bytes_of(other))), ::testing::HasSubstr("patients-2025"));
  const std::string release = bytes_of(a);
  commit(id, release);
  std::string text = read_file(folder_ / "ledger.jsonl");
  text[text.find("INTENT") + 20] ^= 1;
  const Verification v = judge(release, [&](Evidence& e) {
    e.ledger = Evidence::LedgerText{"ledger.jsonl", text};
  });
  EXPECT_EQ(v.code(), ExitCode::kProtocol);
  EXPECT_THAT(ledger_detail(v), ::testing::HasSubstr("line 2"));
}

TEST_F(VerificationLedger, AnOverspentBudgetIsNoGuarantee) {
  Artifact a = sample();
  const std::string id = charge(a), release = bytes_of(a);
  commit(id, release);
  open().set_budget(privacy::Budget::from_mu(0.5 * terms_.mu, 1e-5));
  const Verification v = judge_with_ledger(release);
  EXPECT_EQ(v.code(), ExitCode::kBudget);
  EXPECT_THAT(failed(v), ::testing::ElementsAre("budget"));
}

}  // namespace
}  // namespace muffle::embed
