#include "muffle/release/verification.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "muffle/core/round_up.hpp"
#include "release/judged_release.hpp"
#include "support/expect_error.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using namespace testing_artifact;

TEST(Verification, AGoodReleasePassesEveryCheck) {
  for (const Settings& s :
       {Settings{}, Settings{.counts = true, .records_per_person = 3, .epsilon = 0.2},
        Settings{.adjacency = privacy::Adjacency::kAddRemoveOne, .counts = true},
        Settings{.rff = false, .moments = true}, Settings{.moments = true, .proxy = true, .weight = 5},
        Settings{.counts = true, .coarse = true, .minibatches = {.batches = 6, .epochs = 3}},
        Settings{.counts = true, .coarse = true}, Settings{.counts = true, .moments = true, .weight = 0.3},
        Settings{.adjacency = privacy::Adjacency::kAddRemoveOne, .moments = true}}) {
    const Verification v = judge(artifact_bytes(sample_artifact(s)));
    EXPECT_EQ(v.code(), ExitCode::kUnvouched) << verification_text(v);
    EXPECT_THAT(failed(v), IsEmpty());
    for (const char* name : {"file", "fields", "domain", "sensitivity", "noise multiplier", "sigma", "delta",
                             "consistency", "maps", "feature maps", "secure noise"})
      EXPECT_EQ(outcome(v, name), Check::Outcome::kPass) << name;
    EXPECT_EQ(outcome(v, "signature"), Check::Outcome::kSkipped);
    EXPECT_EQ(outcome(v, "ledger"), Check::Outcome::kSkipped);
  }
}

TEST(Verification, TheCardSaysAllThereIsToKnow) {
  const crypto::SiteKey key = crypto::SiteKey::generate("clinic-1");
  const std::string release = artifact_bytes(sample_artifact());
  const Verification v = judge(release, [&](Evidence& e) {
    e.signature = crypto::sign_release(key, release);
    e.trusted = crypto::SignerKey{"clinic-1", key.public_key()};
  });
  const std::string text = verification_text(v);
  for (const char* part : {"verdict: good", "(here: single coordinator). For that the signer vouches",
                           "Unit of privacy: one person", "replace-one adjacency", "epsilon ",
                           "Who is trusted with what", "Public, and not protected", "Signed by: 'clinic-1'"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("P R I V A T E")));
  const json j = json::parse(verification_json(v));
  EXPECT_EQ(j["format"], "muffle-verification");
  EXPECT_EQ(j["verdict"], "good");
  EXPECT_EQ(j["signer"]["public_key"], crypto::to_hex(key.public_key()));
  EXPECT_EQ(j["statement"]["format"], "muffle-privacy-statement");
  EXPECT_GE(j["statement"]["epsilon_at_delta"].size(), 5u);
}

TEST(Verification, AnyFlippedByteIsFound) {
  const std::string release = artifact_bytes(sample_artifact());
  const crypto::SiteKey key = crypto::SiteKey::generate("clinic-1");
  const std::string signature = crypto::sign_release(key, release);
  for (std::size_t i = 0; i < release.size(); ++i) {
    std::string damaged = release;
    damaged[i] = static_cast<char>(damaged[i] ^ 1 << i % 8);
    const Verification v = judge(damaged, [&](Evidence& e) { e.signature = signature; });
    ASSERT_EQ(v.code(), ExitCode::kProtocol) << "byte " << i;
    ASSERT_THAT(failed(v), IsSupersetOf({"file", "signature"})) << "byte " << i;
    ASSERT_THAT(verification_text(v), Not(HasSubstr("Privacy statement")));
  }
  EXPECT_EQ(judge(release.substr(0, release.size() - 1)).code(), ExitCode::kProtocol);
  EXPECT_EQ(judge(release + "x").code(), ExitCode::kProtocol);
  EXPECT_EQ(judge("").code(), ExitCode::kProtocol);
}

TEST(Verification, ADemandedSignatureMustBeThereAndOfThatKey) {
  const crypto::SiteKey ours = crypto::SiteKey::generate("clinic-1"),
                        other = crypto::SiteKey::generate("clinic-1");
  const std::string release = artifact_bytes(sample_artifact());
  const auto with = [&](const crypto::SiteKey* signer) {
    return judge(release, [&](Evidence& e) {
      e.trusted = crypto::SignerKey{"clinic-1", ours.public_key()};
      if (signer != nullptr) e.signature = crypto::sign_release(*signer, release);
    });
  };
  EXPECT_EQ(with(&ours).code(), ExitCode::kDone);
  EXPECT_THAT(failed(with(nullptr)), ElementsAre("signature"));
  EXPECT_EQ(with(nullptr).code(), ExitCode::kProtocol);
  // The same name means nothing.
  EXPECT_THAT(failed(with(&other)), ElementsAre("signature"));
  EXPECT_EQ(with(&other).code(), ExitCode::kProtocol);
  EXPECT_FALSE(with(&other).signature.has_value());
  // Without --require-signature a signature that is there must still verify.
  const Verification foreign =
      judge(release, [&](Evidence& e) { e.signature = crypto::sign_release(ours, release + " "); });
  EXPECT_EQ(foreign.code(), ExitCode::kProtocol);
  EXPECT_THAT(failed(foreign), ElementsAre("signature"));
}

struct LyingHeader {
  const char* what;
  const char* check;  // that must find it
  std::function<void(json&)> tell;
};

void expect_found(const std::string& release, const std::vector<LyingHeader>& lies) {
  for (const LyingHeader& lie : lies) {
    const Verification v = judge(with_header(release, lie.tell));
    EXPECT_EQ(v.code(), ExitCode::kProtocol) << lie.what;
    EXPECT_EQ(outcome(v, lie.check), Check::Outcome::kFail) << lie.what << "\n" << verification_text(v);
    EXPECT_EQ(outcome(v, "file"), Check::Outcome::kPass) << lie.what;
  }
}

/// Of a run of map 0's noise.
std::function<void(json&)> drawn(std::size_t run, const std::function<std::uint64_t(std::uint64_t)>& change) {
  return [=](json& h) {
    json& sigma = h["maps"][0]["numbers"][run]["sigma_lattice"];
    sigma = change(sigma.get<std::uint64_t>());
  };
}
const auto one_less = [](std::uint64_t sigma) { return sigma - 1; };

TEST(Verification, AHeaderThatLiesWithAGoodChecksumIsRefused) {
  const std::string release = artifact_bytes(sample_artifact({.records_per_person = 2}));
  const auto scale = [](const char* key, double factor) {
    return [=](json& h) { h["privacy"][key] = h["privacy"][key].get<double>() * factor; };
  };
  // Everything that follows from the noise multiplier or the sensitivity is moved along.
  const auto consistent_sigma = [](json& h) {
    json& p = h["privacy"];
    const double sigma = multiply_up(p["noise_multiplier"], p["sensitivity"]);
    p["sigma"] = sigma;
    for (json& map : h["maps"]) {
      for (json& run : map["numbers"])
        run["sigma_lattice"] = static_cast<std::uint64_t>(privacy::lattice_sigma(sigma, run["unit"]));
    }
  };
  const auto spelt_out = [&](const std::function<void(json&)>& tell) {
    return [=](json& h) {
      tell(h);
      consistent_sigma(h);
    };
  };
  const std::vector<LyingHeader> lies = {
      {"sigma too small", "sigma", scale("sigma", 0.999)},
      {"a lattice sigma one too small", "sigma", drawn(0, one_less)},
      {"half the noise, spelt out consistently", "noise multiplier",
       spelt_out(scale("noise_multiplier", 0.5))},
      {"and found from sigma alone", "delta", spelt_out(scale("noise_multiplier", 0.5))},
      {"half the sensitivity, spelt out consistently", "sensitivity", spelt_out(scale("sensitivity", 0.5))},
      {"a smaller epsilon than the noise gives", "noise multiplier", scale("epsilon", 0.9)},
      {"a smaller delta", "delta", scale("delta", 0.5)},
      {"an epsilon of nothing", "domain", [](json& h) { h["privacy"]["epsilon"] = 0.0; }},
      {"fewer records a person", "sensitivity", [](json& h) { h["privacy"]["max_records_per_person"] = 1; }},
      {"another adjacency", "sensitivity", [](json& h) { h["privacy"]["adjacency"] = "add-remove-one"; }},
      {"a norm bound that the feature map does not have", "maps", spelt_out([&](json& h) {
         h["maps"][0]["bound"]["norm"] = 0.5;
         scale("sensitivity", 0.5)(h);
       })},
      {"a sign that the feature map does not have", "maps", spelt_out([](json& h) {
         h["maps"][0]["bound"]["nonnegative_kernel"] = true;
         h["privacy"]["sensitivity"] = 2 * std::sqrt(2.0);
       })},
      {"another lattice", "sigma", [](json& h) { h["lattice_bits"] = 23; }},
      {"frequencies that nobody can rebuild", "feature maps",
       [](json& h) { h["maps"][0]["map"]["seed"] = 7; }},
      {"a weight that the bound does not know", "maps", [](json& h) { h["maps"][0]["weight"] = 0.5; }},
      {"a larger weight's units, and so less noise", "maps", spelt_out([](json& h) {
         json& run = h["maps"][0]["numbers"][0];
         run["unit"] = run["unit"].get<double>() / 2;
       })},
      {"a field that is missing", "fields", [](json& h) { h["privacy"].erase("sigma"); }},
  };
  expect_found(release, lies);
  // The edits themselves are not what is refused.
  EXPECT_THAT(failed(judge(with_header(release, consistent_sigma))), IsEmpty());
}

// The same for second moments beside random features.
TEST(Verification, MomentsThatLieAreRefused) {
  const std::string release = artifact_bytes(sample_artifact({.moments = true, .weight = 2}));
  const std::vector<LyingHeader> lies = {
      {"half the noise beside the diagonal", "sigma",
       drawn(1, [](std::uint64_t sigma) { return sigma / 2; })},
      {"one unit less on the diagonal", "sigma", drawn(0, one_less)},
      {"another weight", "maps", [](json& h) { h["maps"][0]["weight"] = 1.0; }},
      {"fewer bits", "maps", [](json& h) { h["maps"][0]["map"]["bits"] = 15; }},
      {"a signed kernel", "maps", [](json& h) { h["maps"][0]["bound"]["nonnegative_kernel"] = false; }},
      {"another blob", "feature maps",
       [](json& h) { h["maps"][0]["map"]["lift_settings"]["blob_height"] = 0.25; }},
      {"more coefficients", "maps",
       [](json& h) { h["maps"][0]["map"]["lift_settings"]["coefficients"] = 1; }},
  };
  expect_found(release, lies);
  EXPECT_THAT(failed(judge(release)), IsEmpty());
}

TEST(Verification, SeededNoiseIsNotPrivateInLoudLetters) {
  Artifact a = sample_artifact();
  a.is_private = false;
  const Verification v = judge(artifact_bytes(a));
  EXPECT_EQ(v.code(), ExitCode::kBudget);
  EXPECT_THAT(failed(v), ElementsAre("secure noise"));
  EXPECT_THAT(verification_text(v),
              AllOf(HasSubstr("verdict: NOT PRIVATE"), HasSubstr("N O T   P R I V A T E")));
  EXPECT_EQ(json::parse(verification_json(v))["verdict"], "not private");
}

TEST(Verification, WithoutAKeyAndALedgerNobodyVouches) {
  const std::string release = artifact_bytes(sample_artifact());
  for (const bool anybody_signed : {false, true}) {
    const Verification v = judge(release, [&](Evidence& e) {
      if (anybody_signed) e.signature = crypto::sign_release(crypto::SiteKey::generate("whoever"), release);
    });
    EXPECT_EQ(v.code(), ExitCode::kUnvouched);
    test::expect_error(ExitCode::kUnvouched, {"nobody vouches", "--require-signature", "--allow-unsigned"},
                       [&] { require_passed(v); });
    EXPECT_THAT(verification_text(v), AllOf(HasSubstr("verdict: consistent, but nobody vouches for it"),
                                            HasSubstr("For that nobody vouches")));
    EXPECT_EQ(json::parse(verification_json(v))["verdict"], "consistent");
  }
}

// The noise of epsilon 1, and a header that says in every field, by every hash, what half of it would have
// taken. No arithmetic can tell, so nobody but a key that is trusted makes it good.
TEST(Verification, AReleaseRewrittenToHalfItsEpsilonIsNotVouchedFor) {
  const crypto::SiteKey ours = crypto::SiteKey::generate("clinic-1"),
                        forger = crypto::SiteKey::generate("clinic-1");
  const std::string honest = artifact_bytes(sample_artifact()),
                    signature = crypto::sign_release(ours, honest);
  const std::string half = artifact_bytes(sample_artifact({.epsilon = 0.5}));
  const std::string forged = with_header(honest, [&](json& h) {
    for (const char* field : {"privacy", "maps"})
      h[field] = parse_container(half, "muffle-release", kArtifactVersion, "x").header[field];
  });
  const auto judged = [&](const std::string& by, bool trusted) {
    return judge(forged, [&](Evidence& e) {
      if (!by.empty()) e.signature = by;
      if (trusted) e.trusted = crypto::SignerKey{"clinic-1", ours.public_key()};
    });
  };
  EXPECT_EQ(parse_artifact(forged, "x").values, parse_artifact(honest, "x").values);
  EXPECT_EQ(json::parse(verification_json(judged("", false)))["statement"]["epsilon"], 0.5);
  const std::string signed_by_forger = crypto::sign_release(forger, forged);
  for (const std::string& by : {std::string(), signed_by_forger}) {
    EXPECT_THAT(failed(judged(by, false)), IsEmpty()) << verification_text(judged(by, false));
    EXPECT_EQ(judged(by, false).code(), ExitCode::kUnvouched);
  }
  for (const std::string& by : {std::string(), signed_by_forger, signature}) {
    EXPECT_EQ(judged(by, true).code(), ExitCode::kProtocol);
    EXPECT_THAT(failed(judged(by, true)), ElementsAre("signature"));
  }
  EXPECT_EQ(judged(signature, false).code(), ExitCode::kProtocol) << "the signature of other bytes";
}

TEST(Verification, TheVerdictSaysThatFeatureMapsWereNotChecked) {
  const std::string release = artifact_bytes(sample_artifact());
  const std::string skipped =
      "verdict: consistent, but nobody vouches for it: no signature checked, no ledger; its feature maps are "
      "too large";
  EXPECT_THAT(verification_text(judge(release, [](Evidence& e) { e.most_frequencies = 1; })),
              HasSubstr(skipped));
  EXPECT_THAT(verification_text(judge(release)), Not(HasSubstr("too large")));
}

TEST(Verification, TheProofIsOursWhateverTheFileSays) {
  EXPECT_THAT(verification_text(judge(artifact_bytes(sample_artifact()))), HasSubstr("Rahimi"));
  for (const char* place : {"/privacy/sensitivity_derivation", "/maps/0/bound/theorem"}) {
    const std::string lie = "In truth (0.001, 1e-12)-DP.";
    const Verification v = judge(
        with_header(artifact_bytes(sample_artifact()), [&](json& h) { h[json::json_pointer(place)] = lie; }));
    EXPECT_EQ(v.code(), ExitCode::kProtocol) << "a release has no proof of its own";
    EXPECT_EQ(verification_text(v).find(lie), std::string::npos);
    EXPECT_EQ(verification_json(v).find(lie), std::string::npos);
  }
}

TEST(Verification, UnknownFieldsAreRefused) {
  for (const char* place : {"", "/privacy", "/schema", "/maps/0", "/maps/0/map", "/ledger", "/values"}) {
    const std::string release = with_header(artifact_bytes(sample_artifact()), [&](json& h) {
      h[json::json_pointer(std::string(place) + "/audited_by")] = "everybody";
    });
    const Verification v = judge(release);
    EXPECT_EQ(v.code(), ExitCode::kProtocol) << place;
    EXPECT_THROW(parse_artifact(release, "x"), ProtocolError) << place;
  }
}

TEST(Verification, TextsOfTheFileCannotForgeLines) {
  const std::string release = with_header(artifact_bytes(sample_artifact()), [](json& h) {
    h["muffle_version"] =
        "1\n  pass    signature \xc2\x9b"
        "2J";
    h["ledger"]["data_id"] = "trust\x1b[2J me\nSigned by: everybody";
  });
  const Verification v = judge(release);
  const std::string text = verification_text(v);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos) << "CSI in one character";
  EXPECT_EQ(text.find("\nSigned by: everybody"), std::string::npos);
  EXPECT_EQ(text.find("\n  pass    signature"), std::string::npos);
  EXPECT_NE(text.find("Signed by: nobody"), std::string::npos);
}

}  // namespace
}  // namespace muffle::release
