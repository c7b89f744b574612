// Counts of pairs as they are summed over threads, and the bound of what they share with other maps.
#include <gtest/gtest.h>

#include <cmath>

#include "embed/shards.hpp"
#include "muffle/embed/audit.hpp"
#include "muffle/release/noisy_tables.hpp"
#include "release/sample_artifact.hpp"
#include "support/planned_release.hpp"

namespace muffle::embed {
namespace {

const std::vector<std::size_t> kCodes{3, 16, 2, 7};

features::NamedMap pairs(std::size_t classes, double weight = 1.0) {
  return test::named("p", test::make_map("pairs", {}, test::table_schema(kCodes, classes)), weight);
}

Embedder embedder_of(std::vector<features::NamedMap> maps, std::size_t classes,
                     privacy::Adjacency adjacency = privacy::Adjacency::kReplaceOne,
                     std::uint64_t per_person = 1) {
  privacy::PrivacySpec privacy = test::epsilon_of(1.0, adjacency);
  privacy.max_records_per_person = per_person;
  return make_embedder(
      release::make_plan({test::table_schema(kCodes, classes), {}, std::move(maps), privacy, false, 10'000}));
}

TEST(TablesRelease, SumsAreTheSameForEveryDealOverThreadsAndRanks) {
  for (const std::size_t classes : {1, 3}) {
    const data::Batch records = test::made_up(9000, kCodes.size(), classes);
    const Embedder embedder = embedder_of({pairs(classes)}, classes);
    const auto expected = test::sums_of(embedder, records);
    EXPECT_EQ(test::sums_of(embedder, records, 3), expected);
    EXPECT_EQ(test::sums_of(embedder, records, 2, 17), expected);
    for (const test::Deal deal : {test::Deal::kRoundRobin, test::Deal::kShuffledUneven}) {
      for (const std::size_t ranks : {2, 3, 4}) {
        std::vector<std::uint64_t> sum(expected.size());
        for (std::size_t r = 0; r < ranks; ++r) {
          test::MemorySource source(records, test::shard(records.n, deal, r, ranks));
          const auto part = TestAccess::values(embed_shard(embedder, source, 1, {}));
          for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
        }
        EXPECT_EQ(sum, expected) << ranks;
      }
    }
    // Every table of every class adds up to the class's records.
    release::Artifact a = release::testing_artifact::artifact_of(embedder.plan);
    a.values.assign(expected.begin(), expected.end());
    for (const release::NoisyTable& table : release::make_noisy_tables(a).tables) {
      for (std::size_t c = 0; c < classes; ++c) {
        double sum = 0;
        for (const double count : table.of_class(c)) sum += count;
        EXPECT_EQ(sum, static_cast<double>(std::count(records.y.begin(), records.y.end(), c)));
      }
    }
  }
}

// Adversaries reach the bound and none passes it: alone, beside random features, without a label, with
// several records a person, and where records come and go.
TEST(TablesRelease, TheBoundIsReachedAndNeverPassed) {
  // One frequency that turns more than once: a pair can be far apart in one map, opposite in the other.
  const auto rff = test::named("r", test::make_rff({.dims = 4, .features = 2, .length_scale = 0.2}));
  struct Case {
    std::vector<features::NamedMap> maps;
    std::size_t classes;
    privacy::Adjacency adjacency;
    std::uint64_t per_person;
    double bound;
  };
  constexpr auto kReplace = privacy::Adjacency::kReplaceOne, kAdd = privacy::Adjacency::kAddRemoveOne;
  for (const Case& c : std::vector<Case>{{{pairs(3)}, 3, kReplace, 1, std::sqrt(2.0)},
                                         {{pairs(1)}, 1, kReplace, 1, std::sqrt(2.0)},
                                         {{pairs(3)}, 3, kReplace, 5, 5 * std::sqrt(2.0)},
                                         {{pairs(3)}, 3, kAdd, 1, 1.0},
                                         {{pairs(1)}, 1, kAdd, 4, 4.0},
                                         {{pairs(2, 0.5), rff}, 2, kReplace, 1, std::sqrt(0.5 + 4)},
                                         {{pairs(2, 3.0), rff}, 2, kReplace, 1, std::sqrt(18.0 + 4)}}) {
    const Embedder embedder = embedder_of(c.maps, c.classes, c.adjacency, c.per_person);
    const double sensitivity = embedder.plan.noise.sensitivity.value;
    EXPECT_NEAR(sensitivity, c.bound, 1e-12);
    const CanaryPair pair = worst_pair(embedder);
    EXPECT_LE(pair.distance, sensitivity);
    EXPECT_GT(pair.distance, 0.98 * sensitivity) << c.bound;
  }
}

}  // namespace
}  // namespace muffle::embed
