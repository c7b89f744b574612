// A release held against the ledger that paid for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/release/rounds.hpp"
#include "release/judged_release.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing_artifact;

class VerificationLedger : public ::testing::Test {
 protected:
  /// What a release of `a` is charged.
  static privacy::ChargeTerms terms_of(const Artifact& a) {
    return {"/runs/a/release.mfl", a.config_hash, privacy::mu_of(a.noise),  a.noise.sensitivity.value,
            a.noise.sigma,         a.is_private,  privacy::unit_of(a.noise)};
  }
  /// A ledger with one charge for `a`, which gets its id.
  std::string charge(Artifact& a, const privacy::ChargeTerms& terms) {
    return a.ledger_charge = open().begin(terms);
  }
  std::string charge(Artifact& a) { return charge(a, terms_of(a)); }
  void expect_refused(const std::string& release, const std::string& why) {
    const Verification v = judge_with_ledger(release);
    EXPECT_EQ(v.code(), ExitCode::kProtocol);
    EXPECT_THAT(ledger_detail(v), HasSubstr(why));
  }
  privacy::Ledger open() {
    return privacy::Ledger::open(folder_ / "ledger.jsonl", "patients-2024", std::nullopt,
                                 std::chrono::seconds(5));
  }
  void commit(const std::string& id, const std::string& release) {
    auto ledger = open();
    ledger.bind(id, to_hex(sha256(PublicBytes(release))));
    ledger.commit(id, to_hex(sha256(PublicBytes(release))));
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
};

TEST_F(VerificationLedger, ACommittedReleasePasses) {
  Artifact a = sample_artifact();
  const std::string id = charge(a), release = artifact_bytes(a);
  commit(id, release);
  const Verification v = judge_with_ledger(release);
  EXPECT_EQ(v.code(), ExitCode::kDone) << verification_text(v);
  EXPECT_EQ(outcome(v, "ledger"), Check::Outcome::kPass);
  EXPECT_THAT(verification_text(v),
              AllOf(HasSubstr("the one release of data set 'patients-2024': mu"), HasSubstr("verdict: good"),
                    HasSubstr("whoever keeps the ledger vouches")));
}

// Whoever makes up a release can make up a ledger beside it: this test does.
TEST_F(VerificationLedger, ALedgerThatNobodyNamedDoesNotVouchButCanRefuse) {
  Artifact a = sample_artifact();
  const std::string id = charge(a), release = artifact_bytes(a);
  EXPECT_EQ(judge_with_ledger(release, false).code(), ExitCode::kProtocol) << "no COMMIT";
  commit(id, release);
  const Verification v = judge_with_ledger(release, false);
  EXPECT_EQ(v.code(), ExitCode::kUnvouched) << verification_text(v);
  EXPECT_EQ(outcome(v, "ledger"), Check::Outcome::kPass);
  EXPECT_FALSE(v.vouched());
  EXPECT_THAT(verification_text(v),
              AllOf(HasSubstr("verdict: consistent, but nobody vouches for it"),
                    HasSubstr("the ledger beside it is unsigned"), HasSubstr("For that nobody vouches")));
  EXPECT_EQ(json::parse(verification_json(v))["verdict"], "consistent");
}

TEST_F(VerificationLedger, WithoutItsCommitOrWithAnotherFilesItIsRefused) {
  Artifact a = sample_artifact();
  const std::string id = charge(a), release = artifact_bytes(a);
  expect_refused(release, "no COMMIT");
  commit(id, release + "x");
  expect_refused(release, to_hex(sha256(PublicBytes(release))));
}

TEST_F(VerificationLedger, AChargeItDoesNotKnowIsRefused) {
  Artifact a = sample_artifact();
  const std::string id = charge(a);
  commit(id, artifact_bytes(a));
  a.ledger_charge = std::string(32, 'a');
  expect_refused(artifact_bytes(a), "no charge aaaa");
  a.ledger_charge.clear();
  expect_refused(artifact_bytes(a), "without a ledger");
}

TEST_F(VerificationLedger, AnotherMuThanTheReleaseStatesIsRefused) {
  Artifact a = sample_artifact();
  privacy::ChargeTerms half = terms_of(a);
  half.mu /= 2;
  const std::string id = charge(a, half);
  commit(id, artifact_bytes(a));
  expect_refused(artifact_bytes(a), "charged mu");
}

TEST_F(VerificationLedger, AnotherUnitOfPrivacyThanTheReleaseStatesIsRefused) {
  Artifact a = sample_artifact();
  privacy::ChargeTerms seven = terms_of(a);
  seven.unit.max_records_per_person = 7;
  const std::string id = charge(a, seven);
  commit(id, artifact_bytes(a));
  expect_refused(artifact_bytes(a), "at most 7 records a person");
}

TEST_F(VerificationLedger, AnotherDataSetsOrABrokenOneIsRefused) {
  Artifact a = sample_artifact();
  const std::string id = charge(a);
  Artifact other = a;
  other.data_id = "patients-2025";
  expect_refused(artifact_bytes(other), "patients-2025");
  const std::string release = artifact_bytes(a);
  commit(id, release);
  std::string text = read_file(folder_ / "ledger.jsonl");
  text[text.find("INTENT") + 20] ^= 1;
  const Verification v = judge(release, [&](Evidence& e) {
    e.ledger = Evidence::LedgerText{"ledger.jsonl", text};
  });
  EXPECT_EQ(v.code(), ExitCode::kProtocol);
  EXPECT_THAT(ledger_detail(v), HasSubstr("line 2"));
}

TEST_F(VerificationLedger, AnOverspentBudgetIsNoGuarantee) {
  Artifact a = sample_artifact();
  const std::string id = charge(a), release = artifact_bytes(a);
  commit(id, release);
  open().set_budget(privacy::Budget{0.5 * terms_of(a).mu, 1e-5, {}});
  const Verification v = judge_with_ledger(release);
  EXPECT_EQ(v.code(), ExitCode::kBudget);
  EXPECT_THAT(failed(v), ElementsAre("budget"));
}

// A release of three rounds, of which the first were summed in another way than it states for all.
TEST_F(VerificationLedger, RoundsThatWereNotSummedAsStatedAreRefused) {
  const privacy::AggregationMode three = privacy::Masked{3};
  const std::string alone = "masked, ranks 1", masked = summed_by(three, "");
  const auto judged = [&](const std::vector<std::string>& ways, std::uint64_t rounds) {
    std::filesystem::remove(folder_ / "ledger.jsonl");
    Artifact a = artifact_of(rounds_plan());
    a.aggregation = three;
    const std::string id = charge(a), release = artifact_bytes(a);
    for (std::uint64_t round = 1; round < rounds; ++round) {
      open().keep_round(id, round, std::string(64, 'a'), ways.at(2 * round - 2));
      open().begin_round(id, round + 1, ways.at(2 * round - 1));
    }
    commit(id, release);
    return ledger_detail(judge_with_ledger(release));
  };
  EXPECT_THAT(judged({masked, masked, masked, masked}, 3), HasSubstr("has the charge"));
  EXPECT_THAT(judged({"", "", "", ""}, 3), HasSubstr("has the charge")) << "an earlier muffle's";
  for (const auto& ways : {std::vector{alone, masked, masked, masked},
                           {alone, alone, alone, alone},
                           {masked, masked, masked, alone},
                           {masked, masked, "", masked}})
    EXPECT_THAT(judged(ways, 3), HasSubstr("came together otherwise"));
  EXPECT_THAT(judged({masked, masked}, 2), HasSubstr("charged 2 rounds, but the release states 3"));
}

}  // namespace
}  // namespace muffle::release
