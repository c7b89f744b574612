// What the artifact and its statement say of how the sums came together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "muffle/core/error.hpp"
#include "release/judged_release.hpp"
#include "support/expect_error.hpp"

namespace muffle::release {
namespace {

using test::expect_error;
using ::testing::HasSubstr;
using ::testing::Not;

Artifact made_by(const privacy::AggregationMode& mode, const testing_artifact::Settings& settings = {}) {
  Artifact a = testing_artifact::sample_artifact(settings);
  a.aggregation = mode;
  return a;
}

const privacy::AggregationMode kShares = privacy::DistributedNoise{4, 2, privacy::SignedSites{3, 2}};

TEST(AggregationTest, TheArtifactKeepsTheMode) {
  for (const privacy::AggregationMode& mode :
       {privacy::AggregationMode(privacy::SingleCoordinator{3}), privacy::AggregationMode(privacy::Masked{3}),
        privacy::AggregationMode(privacy::Masked{3, privacy::SignedSites{3, 1}}),
        privacy::AggregationMode(privacy::DistributedNoise{3, 0}), kShares}) {
    EXPECT_EQ(parse_artifact(artifact_bytes(made_by(mode)), "x").aggregation, mode);
  }
}

TEST(AggregationTest, TheFieldIsNeededAndMustMakeSense) {
  const auto refused = [](const char* part, const std::function<void(nlohmann::json&)>& change) {
    const std::string release = testing_artifact::with_header(artifact_bytes(made_by(kShares)), change);
    expect_error(ExitCode::kProtocol, {part}, [&] { (void)parse_artifact(release, "x"); });
  };
  refused("'aggregation' is missing", [](auto& h) { h.erase("aggregation"); });
  refused("aggregation.mode", [](auto& h) { h["aggregation"]["mode"] = "trust me"; });
  refused("aggregation.ranks", [](auto& h) { h["aggregation"].erase("ranks"); });
  refused("privacy.colluding_ranks", [](auto& h) { h["aggregation"]["colluding_ranks"] = 4; });
  refused("does not know", [](auto& h) { h["aggregation"]["mode"] = "masked"; });
  refused("is not", [](auto& h) { h["aggregation"]["colluding_ranks"] = -1; });
  refused("aggregation.sites", [](auto& h) { h["aggregation"]["sites"].erase("count"); });
  refused("cannot be", [](auto& h) { h["aggregation"]["sites"]["count"] = 4; });
  refused("cannot be", [](auto& h) { h["aggregation"]["sites"]["largest"] = 1; });
  refused("holds 2 of the ranks", [](auto& h) { h["aggregation"]["colluding_ranks"] = 1; });
}

TEST(AggregationTest, ContradictionsAreNotWritten) {
  const Artifact a = made_by(privacy::DistributedNoise{4, 4});
  expect_error(ExitCode::kInvariant, {"4 of 4 ranks may collude"}, [&] { (void)artifact_bytes(a); });
}

TEST(AggregationTest, SharesCarryMoreNoiseThanIsNeeded) {
  const auto carried = [](const Artifact& a, std::size_t part, std::size_t run) {
    return carried_sigma(a, a.aggregation, part, run);
  };
  const Artifact plain = made_by(privacy::SingleCoordinator{4}), shares = made_by(kShares);
  EXPECT_EQ(carried(plain, 0, 0), static_cast<double>(testing_artifact::sigma_lattice(plain)));
  EXPECT_NEAR(carried(shares, 0, 0) / carried(plain, 0, 0), std::sqrt(4.0 / 2.0), 1e-6);
  const testing_artifact::Settings both{.counts = true, .moments = true, .weight = 2};
  const Artifact p = made_by(privacy::SingleCoordinator{4}, both), s = made_by(kShares, both);
  for (std::size_t part = 0; part < 3; ++part) {
    for (std::size_t run = 0; run < p.noise.parts[part].runs.size(); ++run)
      EXPECT_NEAR(carried(s, part, run) / carried(p, part, run), std::sqrt(2.0), 1e-6);
  }
}

// A rare class's count is taken as at least one standard deviation of the noise that it really carries.
TEST(AggregationTest, TrainingReckonsWithTheNoiseThatIsThere) {
  const testing_artifact::Settings rare{.counts = true, .records = 600, .epsilon = 0.01};
  const auto weight = [&](const privacy::AggregationMode& mode) {
    Artifact a = made_by(mode, rare);
    a.values[a.offset(a.maps.size())] = std::int64_t{1} << a.lattice.bits;  // one record in class 0
    return make_target(a).column_weight[0];
  };
  EXPECT_NEAR(weight(privacy::SingleCoordinator{4}) / weight(kShares), std::sqrt(2.0), 1e-6);
}

TEST(AggregationTest, TheStatementSaysWhoIsTrusted) {
  const Artifact shares = made_by(kShares);
  const std::string text = privacy_statement_text(shares), json = privacy_statement_json(shares);
  EXPECT_THAT(text, HasSubstr("Aggregation: distributed noise"));
  EXPECT_THAT(text, HasSubstr("any 2 of the ranks"));
  EXPECT_THAT(text, HasSubstr("3 sites take part, none with more than 2 of the ranks"));
  EXPECT_THAT(json, HasSubstr("\"sites\": 3"));
  EXPECT_THAT(privacy_statement_text(made_by(privacy::Masked{3, privacy::SignedSites{2, 2}})),
              HasSubstr("is the other site's own"));
  EXPECT_THAT(privacy_statement_text(made_by(privacy::Masked{3, privacy::SignedSites{3, 1}})),
              HasSubstr("is the sum of all others"));
  EXPECT_THAT(privacy_statement_text(made_by(privacy::Masked{3})), HasSubstr("do not say whose a rank is"));
  EXPECT_THAT(text, HasSubstr("each of the 4 ranks added its own"));
  EXPECT_THAT(text, Not(HasSubstr("sees the exact sums before")));
  EXPECT_THAT(json, HasSubstr("\"mode\": \"distributed noise\""));
  EXPECT_THAT(json, HasSubstr("\"share_sigma_lattice\""));
  EXPECT_THAT(json, HasSubstr("\"colluding_ranks\": 2"));
  EXPECT_THAT(privacy_statement_text(made_by(privacy::SingleCoordinator{4})),
              HasSubstr("sees the exact sums before"));
}

}  // namespace
}  // namespace muffle::release
