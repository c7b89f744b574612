// Rounds that learn bins: the bound of what they release, by search over records and persons, in integers.
#include <gtest/gtest.h>

#include <algorithm>

#include "muffle/features/dyadic.hpp"
#include "muffle/pair_graph/rounds.hpp"
#include "release/sample_artifact.hpp"
#include "support/maps.hpp"

namespace muffle::pair_graph {
namespace {

using LatticeSums = std::vector<std::int64_t>;

/// a: 7 values and a missing one, bins learned; b: 3 categories; two classes.
schema::Schema learned_schema() {
  auto table = std::make_shared<schema::Table>(*test::table_schema({8, 3}, 2, 1).table);
  schema::Column& a = table->columns[0];
  a.missing = a.learned = true;
  a.spellings = {"?"};
  a.edges = {0, 1, 2, 3, 4, 5, 6, 7};
  a.hi = 6;
  schema::Schema out;
  describe_table(out, std::move(table));
  return out;
}

std::int64_t squares(const LatticeSums& one, const LatticeSums& other) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += (one[i] - other[i]) * (one[i] - other[i]);
  return sum;
}

/// What every record adds to the numbers of this map, in its lattice; the last one has no class.
std::vector<LatticeSums> all_records(const features::FeatureMap& map, const schema::Schema& schema,
                                     const features::Lattice& lattice) {
  const auto block = map.make_block(lattice);
  std::vector<LatticeSums> out;
  const auto add = [&](std::uint32_t a, std::uint32_t b, std::int32_t label) {
    const std::vector<float> x{schema::position({a}, 8), schema::position({b}, 3)};
    std::vector<std::uint64_t> sums(map.features() * schema.classes);
    block->accumulate(x.data(), &label, 1, *block->make_workspace(), sums);
    out.emplace_back(sums.begin(), sums.end());
  };
  for (std::uint32_t a = 0; a < 8; ++a) {
    for (std::uint32_t b = 0; b < 3; ++b) {
      for (std::int32_t label = 0; label < 2; ++label) add(a, b, label);
    }
  }
  add(0, 0, schema::kNoClass);
  return out;
}

/// The farthest that two of these are apart, squared.
std::int64_t farthest(const std::vector<LatticeSums>& sums) {
  std::int64_t most = 0;
  for (const LatticeSums& one : sums) {
    for (const LatticeSums& other : sums) most = std::max(most, squares(one, other));
  }
  return most;
}

/// The records of a person who has two, added up.
std::vector<LatticeSums> of_two(const std::vector<LatticeSums>& records) {
  std::vector<LatticeSums> out;
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (std::size_t k = i; k < records.size(); ++k) {
      LatticeSums& sum = out.emplace_back(records[i]);
      std::transform(sum.begin(), sum.end(), records[k].begin(), sum.begin(), std::plus<>());
    }
  }
  return out;
}

class LearnedRounds : public testing::TestWithParam<std::size_t> {};

TEST_P(LearnedRounds, NoTwoRecordsOrPersonsAreFurtherApartThanTheTheoremSays) {
  const schema::Schema schema = learned_schema();
  privacy::PrivacySpec privacy = release::testing_artifact::privacy_of({});
  privacy.rounds = GetParam();
  const release::ReleasePlan plan = release::make_plan(
      in_rounds({schema, {}, {test::named("p", test::make_map("pairs", {}, schema))}, privacy, false, 4000}));
  ASSERT_EQ(plan.maps.size(), GetParam());
  EXPECT_EQ(plan.maps[0].map->tables()->counted().tables.size(), 1 + features::DyadicTree(7).levels);
  double shares = 0;
  for (const features::NamedMap& map : plan.maps) {
    shares += map.weight * map.weight;
    const auto norm = static_cast<std::int64_t>(plan.lattice.max_squared_norm());
    const std::vector<LatticeSums> records = all_records(*map.map, schema, plan.lattice);
    const std::vector<LatticeSums> persons = of_two(records);
    const LatticeSums nobody(records.front().size(), 0);
    std::int64_t longest = 0, shortest = norm, longest_person = 0;
    for (std::size_t r = 0; r + 1 < records.size(); ++r) {
      longest = std::max(longest, squares(records[r], nobody));
      shortest = std::min(shortest, squares(records[r], nobody));
    }
    for (const LatticeSums& person : persons)
      longest_person = std::max(longest_person, squares(person, nobody));
    EXPECT_EQ(squares(records.back(), nobody), 0) << "of no class";
    // Added or removed: 1; replaced: sqrt(2); of a person who has q records: q times that.
    EXPECT_LE(longest, norm);
    EXPECT_LE(farthest(records), 2 * norm);
    EXPECT_LE(longest_person, 4 * norm);
    EXPECT_LE(farthest(persons), 8 * norm);
    // And reached, up to what is lost by rounding down.
    const auto nearly = static_cast<std::int64_t>((1 - 1e-5) * static_cast<double>(norm));
    EXPECT_GT(shortest, nearly) << "every record has norm 1";
    EXPECT_GT(farthest(records), 2 * nearly);
    EXPECT_GT(longest_person, 4 * nearly);
    EXPECT_GT(farthest(persons), 8 * nearly);
  }
  EXPECT_NEAR(shares, 1.0, 1e-12) << "rounds share one budget";
}

INSTANTIATE_TEST_SUITE_P(Rounds, LearnedRounds, testing::Values(2u, 3u));

}  // namespace
}  // namespace muffle::pair_graph
