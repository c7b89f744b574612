// The order of a release's steps: no noise without a charge, no file without noise, nothing twice.
#include <gtest/gtest.h>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/crypto/signature.hpp"
#include "muffle/release/transaction.hpp"
#include "release/sample_artifact.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::release {
namespace {

using privacy::Budget;
using test::expect_error;

class ReleaseTransactionTest : public ::testing::Test {
 protected:
  ReleaseTransactionTest() {
    order_.file = folder_.path() / "release.mfl";
    order_.statement_json = folder_.path() / "privacy.json";
    order_.statement_text = folder_.path() / "privacy.txt";
    order_.ledger = folder_.path() / "ledger.jsonl";
    artifact_ = testing_artifact::sample_artifact();
    order_.config_hash = artifact_.config_hash;
    order_.data_id = artifact_.data_id;
    order_.lock_deadline = std::chrono::seconds(5);
  }

  /// From now on releases are signed.
  void sign() {
    crypto::SiteKey::generate("clinic-1").save(folder_ / "clinic-1.key");
    order_.signing_key = folder_ / "clinic-1.key";
  }
  privacy::LedgerState ledger() const { return privacy::read_ledger(order_.ledger); }
  std::function<void(const Charge&)> count_draws() {
    return [this](const Charge&) {
      ++draws_;
      const auto charges = ledger().charges;
      ASSERT_EQ(charges.size(), static_cast<std::size_t>(draws_)) << "it is on the disk when noise is drawn";
      EXPECT_FALSE(charges.back().pending);
      EXPECT_FALSE(std::filesystem::exists(order_.file));
    };
  }
  std::string release() {
    ReleaseTransaction transaction(order_);
    EXPECT_FALSE(transaction.settle());
    transaction.begin(artifact_.noise, true, count_draws());
    return transaction.finish(artifact_);
  }

  test::TemporaryFolder folder_;
  ReleaseOrder order_;
  Artifact artifact_;
  int draws_ = 0;
};

TEST_F(ReleaseTransactionTest, ChargesDrawsWritesAndCommits) {
  const std::string hash = release();
  EXPECT_EQ(draws_, 1);
  EXPECT_EQ(hash, sha256_file_hex(PublicFile(order_.file)));
  const privacy::LedgerState state = ledger();
  ASSERT_EQ(state.charges.size(), 1u);
  EXPECT_EQ(state.charges[0].artifact, hash);
  EXPECT_EQ(state.charges[0].terms.mu, privacy::mu_of(artifact_.noise));
  EXPECT_EQ(parse_artifact(read_file(order_.file), "x.mfl").ledger_charge, state.charges[0].id);
  EXPECT_TRUE(std::filesystem::exists(order_.statement_json));
  EXPECT_TRUE(std::filesystem::exists(order_.statement_text));
}

TEST_F(ReleaseTransactionTest, AFinishedReleaseIsHandedOutAgain) {
  const std::string hash = release();
  std::filesystem::remove(order_.statement_text);
  ReleaseTransaction again(order_);
  EXPECT_TRUE(again.settle());
  EXPECT_TRUE(std::filesystem::exists(order_.statement_text)) << "made again if it is missing";
  EXPECT_EQ(sha256_file_hex(PublicFile(order_.file)), hash);
  EXPECT_THROW(again.begin(artifact_.noise, true, count_draws()), InvariantError);
  EXPECT_EQ(draws_, 1);
  EXPECT_EQ(ledger().charges.size(), 1u);
}

TEST_F(ReleaseTransactionTest, AStatementThatSaysSomethingElseIsMadeAgain) {
  release();
  for (const auto& file : {order_.statement_text, order_.statement_json}) {
    const std::string statement = read_file(file);
    write_file_atomically(file, std::string("(0.001, 1e-12)-differentially private\n"));
    EXPECT_TRUE(ReleaseTransaction(order_).settle());
    EXPECT_EQ(read_file(file), statement);
  }
}

TEST_F(ReleaseTransactionTest, ATestReleaseNeverStandsForAPrivateOne) {
  artifact_.is_private = false;
  order_.secure_noise = false;
  {
    ReleaseTransaction test(order_);
    EXPECT_FALSE(test.settle());
    test.begin(artifact_.noise, false, count_draws());
    test.finish(artifact_);
  }
  EXPECT_TRUE(ReleaseTransaction(order_).settle()) << "for tests it is what was ordered";
  const std::string bytes = read_file(order_.file), charges = read_file(order_.ledger);
  order_.secure_noise = true;
  expect_error(ExitCode::kConfig, {"release.mfl", "NOT PRIVATE"},
               [&] { ReleaseTransaction(order_).settle(); });
  EXPECT_EQ(read_file(order_.file), bytes);
  EXPECT_EQ(read_file(order_.ledger), charges);
}

TEST_F(ReleaseTransactionTest, AnotherReleaseIsNeverOverwrittenNorHandedOut) {
  const std::string hash = release();
  const ReleaseOrder ordered = order_;
  order_.secure_noise = false;
  expect_error(ExitCode::kConfig, {"release.mfl", "--insecure-seeded-noise"},
               [&] { ReleaseTransaction(order_).settle(); });
  order_ = ordered;
  order_.config_hash = "0badc0de";
  expect_error(ExitCode::kConfig, {"release.mfl", "never overwritten"},
               [&] { ReleaseTransaction(order_).settle(); });
  EXPECT_EQ(sha256_file_hex(PublicFile(order_.file)), hash);
}

TEST_F(ReleaseTransactionTest, StepsOutOfOrderAreBugsAndDrawNothing) {
  {
    ReleaseTransaction transaction(order_);
    EXPECT_THROW(transaction.begin(artifact_.noise, true, count_draws()), InvariantError) << "not settled";
    EXPECT_THROW(transaction.finish(artifact_), InvariantError) << "not charged";
    EXPECT_FALSE(transaction.settle());
    EXPECT_THROW(transaction.settle(), InvariantError);
    EXPECT_THROW(transaction.finish(artifact_), InvariantError);
  }
  EXPECT_EQ(draws_, 0);
  EXPECT_TRUE(ledger().charges.empty());
  ReleaseTransaction transaction(order_);
  transaction.settle();
  transaction.begin(artifact_.noise, true, count_draws());
  EXPECT_THROW(transaction.begin(artifact_.noise, true, count_draws()), InvariantError);
  transaction.finish(artifact_);
  EXPECT_THROW(transaction.finish(artifact_), InvariantError);
  EXPECT_EQ(draws_, 1);
  EXPECT_EQ(ledger().charges.size(), 1u);
}

TEST_F(ReleaseTransactionTest, ADrawThatFailsStaysSpentAndIsNotTriedAgain) {
  ReleaseTransaction transaction(order_);
  transaction.settle();
  EXPECT_THROW(transaction.begin(artifact_.noise, true,
                                 [](const Charge&) { throw InvariantError("entropy is stuck"); }),
               InvariantError);
  EXPECT_THROW(transaction.begin(artifact_.noise, true, count_draws()), InvariantError);
  EXPECT_EQ(draws_, 0);
  EXPECT_EQ(ledger().charges.size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(order_.file));
}

TEST_F(ReleaseTransactionTest, ARefusedChargeDrawsNothing) {
  order_.budget = Budget{privacy::mu_of(artifact_.noise) / 2, 1e-5, {}};
  ReleaseTransaction transaction(order_);
  transaction.settle();
  expect_error(ExitCode::kBudget, {"budget refuses", "Nothing was charged"},
               [&] { transaction.begin(artifact_.noise, true, count_draws()); });
  EXPECT_EQ(draws_, 0);
  EXPECT_TRUE(ledger().charges.empty());
}

TEST_F(ReleaseTransactionTest, OnlyWhatWasChargedIsWritten) {
  const Artifact cheaper = testing_artifact::sample_artifact({.epsilon = 2.0});
  Artifact other = artifact_, seeded = artifact_, strange = artifact_;
  other.config_hash = "0badc0de";
  seeded.is_private = false;
  strange.data_id = "other-patients";
  for (const Artifact* artifact :
       std::initializer_list<const Artifact*>{&cheaper, &other, &seeded, &strange}) {
    ReleaseTransaction transaction(order_);
    transaction.settle();
    transaction.begin(artifact_.noise, true, count_draws());
    EXPECT_THROW(transaction.finish(*artifact), InvariantError);
    EXPECT_FALSE(std::filesystem::exists(order_.file));
  }
}

// Somebody who can write to the run folder, and to nothing else, puts numbers there that nobody drew.
TEST_F(ReleaseTransactionTest, AForgedReleaseIsNeverSignedNorCommitted) {
  sign();
  Artifact forged = artifact_;
  for (std::int64_t& value : forged.values) value += 1;
  const auto expect_refused = [&](const std::string& why) {
    const std::string before = read_file(order_.ledger);
    expect_error(ExitCode::kProtocol, {"release.mfl", why}, [&] { ReleaseTransaction(order_).settle(); });
    EXPECT_EQ(read_file(order_.ledger), before);
    EXPECT_FALSE(std::filesystem::exists(crypto::signature_file(order_.file)));
    std::filesystem::remove(order_.file);
  };
  // Before there is any charge, with a made-up one and with none.
  { ReleaseTransaction create(order_); }
  for (const std::string& id : {std::string(32, '7'), std::string()}) {
    forged.ledger_charge = id;
    write_file_atomically(order_.file, artifact_bytes(forged));
    expect_refused("does not know");
  }
  // A job that was cut off after its charge, before it had made a release.
  {
    ReleaseTransaction cut_off(order_);
    cut_off.settle();
    cut_off.begin(artifact_.noise, true, count_draws());
    forged.ledger_charge = cut_off.charge();
  }
  write_file_atomically(order_.file, artifact_bytes(forged));
  expect_refused("before it had made a release");
  // A job that was cut off before its COMMIT: its own bytes are taken, no others.
  const std::string hash = release();
  const std::string bytes = read_file(order_.file), ledger_text = read_file(order_.ledger);
  forged.ledger_charge = parse_artifact(read_file(order_.file), "x.mfl").ledger_charge;
  std::filesystem::remove(crypto::signature_file(order_.file));
  write_file_atomically(order_.ledger,
                        ledger_text.substr(0, ledger_text.rfind('\n', ledger_text.size() - 2) + 1));
  write_file_atomically(order_.file, artifact_bytes(forged));
  expect_refused(hash);
  write_file_atomically(order_.file, bytes);
  EXPECT_TRUE(ReleaseTransaction(order_).settle());
  EXPECT_TRUE(std::filesystem::exists(crypto::signature_file(order_.file)));
  EXPECT_EQ(read_file(order_.ledger).find("COMMIT") != std::string::npos, true);
}

// What is signed are the bytes that were bound, not what lies there a moment later.
TEST_F(ReleaseTransactionTest, TheSignatureIsOfTheCommittedBytes) {
  sign();
  const std::string hash = release();
  const crypto::ReleaseSignature signature =
      crypto::parse_signature(read_file(crypto::signature_file(order_.file)), "x");
  EXPECT_NO_THROW(crypto::check_signature(signature, read_file(order_.file), "x"));
  EXPECT_EQ(ledger().charges[0].pending, hash);
}

TEST_F(ReleaseTransactionTest, AReleaseInAnotherUnitOfPrivacyIsRefused) {
  release();
  const Artifact other = testing_artifact::sample_artifact({.records_per_person = 50});
  order_.file = folder_.path() / "other.mfl";
  ReleaseTransaction transaction(order_);
  EXPECT_FALSE(transaction.settle());
  expect_error(ExitCode::kBudget, {"at most 50 records", "at most 1 record"},
               [&] { transaction.begin(other.noise, true, count_draws()); });
  EXPECT_EQ(draws_, 1);
}

}  // namespace
}  // namespace muffle::release
