// What of a release its messages and ledgers tell anybody afterwards.
#include <filesystem>
#include <string>

#include "muffle/release/round_release.hpp"
#include "round/whole_round.hpp"

namespace muffle::round {
namespace {

using namespace release;
namespace fs = std::filesystem;

TEST(Evidence, AReleaseIsAddedUpAgainFromItsMessages) {
  ConsortiumOfFolders c;
  run_round(c, {0, 1, 2, 3}, c.before());
  const std::string bytes = c.in_exchange(release_name(c.round.id));
  for (const crypto::SiteKey* key : {&c.world.coordinator, &c.world.sites[1], &c.world.holders[2]}) {
    const Verification v = verified(c, bytes, *key);
    for (const Check& check : v.checks) {
      if (check.name == "secure noise") continue;  // the tests' is not
      EXPECT_NE(check.outcome, Check::Outcome::kFail) << check.name << ": " << check.detail;
    }
    EXPECT_TRUE(v.vouched());
    EXPECT_EQ(v.code(), ExitCode::kBudget) << "seeded noise";
  }
  const Verification stranger = verified(c, bytes, crypto::SiteKey::generate("stranger"));
  EXPECT_EQ(stranger.code(), ExitCode::kProtocol);
  EXPECT_FALSE(stranger.vouched());
}

TEST(Evidence, TamperingShows) {
  ConsortiumOfFolders c;
  run_round(c, {0, 1, 2, 3}, c.before());
  const std::string bytes = c.in_exchange(release_name(c.round.id));
  const auto refused = [&](const std::string& release, const char* part) {
    const Verification v = verified(c, release, c.world.coordinator);
    EXPECT_EQ(v.code(), ExitCode::kProtocol);
    std::string said;
    for (const Check& check : v.checks) {
      if (check.outcome == Check::Outcome::kFail) said += check.name + ": " + check.detail + "\n";
    }
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  const auto changed = [&](const std::function<void(Artifact&)>& change) {
    Artifact a = parse_artifact(bytes, "release");
    change(a);
    return artifact_bytes(a);
  };
  refused(changed([](Artifact& a) { ++a.values[3]; }), "not what contributions and openings add up to");
  refused(changed([](Artifact& a) { a.round->sites[0].charge = std::string(32, 'f'); }), "other messages");
  refused(changed([](Artifact& a) { a.round->sites[0].data_id = "others"; }), "other messages");
  refused(changed([](Artifact& a) { a.round->title = "another"; }), "another coordinator or title");
  refused(changed([](Artifact& a) { std::get<privacy::Apart>(a.aggregation).parties.colluding = 2; }),
          "other parties");
  refused(changed([](Artifact& a) { a.is_private = true; }), "states something else");
  refused(changed([](Artifact& a) { a.round->seal = std::string(64, '0'); }), "another seal");
  for (const std::string& name : {c.contribution_of(2), c.opening_of(1), seal_name(c.round.id),
                                  proposal_name(c.round.id), release_statement_name(c.round.id)}) {
    const fs::path file = c.folder / "exchange" / name;
    const std::string good = read_file(file);
    fs::remove(file);
    refused(bytes, "not among the messages");
    std::string bad = good;
    bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 4);
    write_file_atomically(file, bad);
    refused(bytes, "round: ");
    write_file_atomically(file, good);
  }
  EXPECT_EQ(verified(c, bytes, c.world.coordinator).code(), ExitCode::kBudget) << "all is as it was";
}

/// A site's ledger vouches for the contribution that it charged, and for no other of the same charge's name.
TEST(Evidence, ASitesLedgerHasTheContributionThatCounts) {
  ConsortiumOfFolders c;
  run_round(c, {0, 1, 2, 3}, c.before());
  Evidence evidence;
  evidence.name = "release.mfl";
  const std::string released = c.in_exchange(release_name(c.round.id));
  evidence.release = released;
  evidence.messages = evidence_in((c.folder / "exchange").string());
  evidence.trusted = crypto::SignerKey{"coordinator", c.world.coordinator.public_key()};
  evidence.ledger = Evidence::LedgerText{"ledger", read_file(c.ledger(2)), true};
  const auto ledger_check = [&] {
    const Verification v = verify_release(evidence);
    for (const Check& check : v.checks) {
      if (check.name == "ledger") return check;
    }
    return Check{};
  };
  EXPECT_EQ(ledger_check().outcome, Check::Outcome::kPass) << ledger_check().detail;
  EXPECT_NE(ledger_check().detail.find("is the one that counts"), std::string::npos) << ledger_check().detail;
  // Another data set than the contribution says was charged: its ledger does not have what these people
  // spent.
  Artifact other = c.released();
  other.round->sites[2].data_id = "others";
  const std::string renamed = artifact_bytes(other);
  evidence.release = renamed;
  EXPECT_EQ(ledger_check().outcome, Check::Outcome::kFail);
  EXPECT_NE(
      ledger_check().detail.find("is of data set 'site2', and the contribution of 'site2' was of 'others'"),
      std::string::npos)
      << ledger_check().detail;
  evidence.release = released;
  // Other bytes of the same round: as after a restored folder.
  const fs::path file = c.folder / "exchange" / c.contribution_of(2);
  const std::string good = read_file(file);
  write_file_atomically(file, c.in_exchange(c.contribution_of(1)));
  EXPECT_EQ(ledger_check().outcome, Check::Outcome::kFail);
  EXPECT_NE(ledger_check().detail.find("another contribution"), std::string::npos) << ledger_check().detail;
  fs::remove(file);
  EXPECT_EQ(ledger_check().outcome, Check::Outcome::kFail);
  write_file_atomically(file, good);
  evidence.messages = {};
  EXPECT_NE(ledger_check().detail.find("--evidence tells"), std::string::npos) << ledger_check().detail;
}

TEST(Evidence, TheStatementTellsWhoAndUnderWhichNoise) {
  ConsortiumOfFolders c;
  run_round(c, {0, 1, 3}, c.before());
  c.coordinator(c.after());
  for (std::size_t h = 0; h < 3; ++h) c.holder(h, c.after());
  c.coordinator(c.after());
  const Artifact a = c.released();
  const std::string text = privacy_statement_text(a);
  EXPECT_NE(text.find("  - site3: data set 'site3', charge " + a.round->sites[2].charge), std::string::npos)
      << text;
  for (const char* part : {"Sites: site0, site1, site3", "Key holders: holder0, holder1, holder2",
                           "3 of 4 invited", "theorem 3", "Aggregation: apart"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const auto told = nlohmann::json::parse(privacy_statement_json(a)).at("aggregation");
  EXPECT_EQ(told.at("sealed"), 3);
  EXPECT_EQ(told.at("sites").size(), 3u);
  ASSERT_EQ(told.at("charges").size(), 3u);
  EXPECT_EQ(told.at("charges").at(2).at("site"), "site3");
  EXPECT_EQ(told.at("charges").at(2).at("data_id"), "site3");
  EXPECT_EQ(told.at("charges").at(2).at("charge"), a.round->sites[2].charge);
  EXPECT_GT(told.at("shares").at(0).at("top_up_sigma_lattice"), 0) << "one site is gone";
  EXPECT_TRUE(told.at("signed_keys"));
}

}  // namespace
}  // namespace muffle::round
