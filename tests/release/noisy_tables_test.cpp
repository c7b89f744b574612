// Tables of counts of a release as numbers of records, with the noise that is in them.
#include "muffle/release/noisy_tables.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "muffle/schema/table_toml.hpp"
#include "release/sample_artifact.hpp"
#include "support/expect_error.hpp"
#include "support/planned_release.hpp"

namespace muffle::release {
namespace {

using test::expect_error;

constexpr std::size_t kRecords = 400, kClasses = 3;
const std::vector<std::size_t> kCodes{3, 4, 2};

std::vector<features::NamedMap> maps(double weight = 1.0) {
  const schema::Schema schema = test::table_schema(kCodes, kClasses);
  return {test::named("p", test::make_map("pairs", {{"triples", "[\"a:b:c\"]"}}, schema), weight)};
}

struct Made {
  std::vector<float> x;
  std::vector<std::int32_t> y;
};
Made records() {
  const CounterStream random(3, Stream::kTest);
  Made out;
  for (std::size_t i = 0; i < kRecords; ++i) {
    out.y.push_back(static_cast<std::int32_t>(random.below(10 * i, kClasses)));
    for (std::size_t j = 0; j < kCodes.size(); ++j)
      out.x.push_back(
          schema::position({static_cast<std::uint32_t>(random.below(10 * i + 1 + j, kCodes[j]))}, kCodes[j]));
  }
  return out;
}

Artifact release_of(std::vector<features::NamedMap> of, double epsilon = 100.0, std::uint32_t draw = 0) {
  const Made made = records();
  return test::planned_release(test::table_schema(kCodes, kClasses), std::move(of), made.x, made.y, epsilon,
                               draw);
}

/// Reference: the numbers of records of class c whose codes in these columns are the cell's.
double counted(const Made& made, const NoisyTable& table, std::size_t c, std::size_t cell) {
  double count = 0;
  for (std::size_t i = 0; i < kRecords; ++i) {
    bool inside = made.y[i] == static_cast<std::int32_t>(c);
    for (std::size_t j = table.columns.size(), rest = cell; j-- > 0; rest /= table.sizes[j]) {
      const std::size_t column = table.columns[j];
      const float x = made.x[i * kCodes.size() + column];
      inside = inside && schema::cell_at(x, kCodes[column]).code == rest % table.sizes[j];
    }
    count += inside;
  }
  return count;
}

TEST(NoisyTables, AreTheCountsOfEveryClassWhereNoNoiseIs) {
  const NoisyTables all = make_noisy_tables(release_of(maps()));
  EXPECT_EQ(all.classes, kClasses);
  EXPECT_EQ(all.codes, kCodes);
  EXPECT_EQ(all.records, static_cast<double>(kRecords));
  EXPECT_TRUE(all.records_known);
  ASSERT_EQ(all.tables.size(), 7u);
  const Made made = records();
  for (const NoisyTable& table : all.tables) {
    ASSERT_EQ(table.counts.size(), kClasses * table.cells());
    EXPECT_TRUE(table.groups.empty());
    for (std::size_t c = 0; c < kClasses; ++c) {
      for (std::size_t i = 0; i < table.cells(); ++i)
        EXPECT_EQ(table.of_class(c)[i], counted(made, table, c, i)) << "exact: integers of one unit each";
    }
  }
}

TEST(NoisyTables, SigmaIsInRecordsAndThatOfTheNoise) {
  const double sigma = release_of(maps(), 1.0).noise.sigma;
  for (const double weight : {1.0, 0.25}) {
    const NoisyTables all = make_noisy_tables(release_of(maps(weight), 1.0));
    const double root = std::sqrt(3 * 0.49 + 3 + 1);  // 3 columns, 3 pairs, one triple
    for (const NoisyTable& table : all.tables)
      EXPECT_NEAR(table.sigma / (sigma * root / (table.columns.size() == 1 ? 0.7 : 1.0)), 1.0, 1e-5);
  }
  // What was drawn has it: 3 x (9 + 26 + 24) cells, 8 times.
  double squares = 0, numbers = 0;
  const Made made = records();
  for (std::uint32_t draw = 1; draw <= 8; ++draw) {
    for (const NoisyTable& table : make_noisy_tables(release_of(maps(), 1.0, draw)).tables) {
      for (std::size_t i = 0; i < table.counts.size(); ++i) {
        const double z =
            (table.counts[i] - counted(made, table, i / table.cells(), i % table.cells())) / table.sigma;
        squares += z * z, numbers += 1;
      }
    }
  }
  EXPECT_NEAR(squares / numbers, 1.0, 4 * std::sqrt(2 / numbers));
  Artifact shares = release_of(maps(), 1.0);
  const double plain = make_noisy_tables(shares).tables[0].sigma;
  shares.aggregation = privacy::DistributedNoise{2, 1};
  EXPECT_NEAR(make_noisy_tables(shares).tables[0].sigma / plain, std::sqrt(2.0), 1e-5);
}

TEST(NoisyTables, TheSensitivityIsTheTheorems) {
  const schema::Schema schema = test::table_schema(kCodes, kClasses);
  const auto sensitivity = [&](privacy::Adjacency adjacency) {
    return make_plan({schema, {}, maps(), test::epsilon_of(1.0, adjacency), false, kRecords})
        .noise.sensitivity.value;
  };
  EXPECT_GE(sensitivity(privacy::Adjacency::kReplaceOne), std::sqrt(2.0));
  EXPECT_NEAR(sensitivity(privacy::Adjacency::kReplaceOne), std::sqrt(2.0), 1e-15);
  EXPECT_EQ(sensitivity(privacy::Adjacency::kAddRemoveOne), 1.0);
}

TEST(NoisyTables, EstimateAPrivateNumberOfRecordsFromAllTables) {
  Artifact a =
      testing_artifact::artifact_of(make_plan({test::table_schema(kCodes, kClasses),
                                               {},
                                               maps(),
                                               test::epsilon_of(1.0, privacy::Adjacency::kAddRemoveOne),
                                               false,
                                               0}));
  EXPECT_EQ(make_noisy_tables(a).records, 1.0) << "the noise left nothing: all is a guess";
  a.values = release_of(maps()).values;
  const NoisyTables all = make_noisy_tables(a);
  EXPECT_FALSE(all.records_known);
  EXPECT_NEAR(all.records, static_cast<double>(kRecords), 1e-9);
  EXPECT_NEAR(records_of(a), static_cast<double>(kRecords), 1e-9);
  const std::vector<double> share = class_share(a);
  const Made made = records();
  for (std::size_t c = 0; c < kClasses; ++c)
    EXPECT_NEAR(share[c], static_cast<double>(std::count(made.y.begin(), made.y.end(), c)) / kRecords, 1e-9);
  // With noise in one table alone, the others outvote it by their variance.
  for (std::size_t i = 0; i < 24; ++i)
    a.values[a.values.size() - 1 - i] += 1 << 24;  // of the triple, last class
  const NoisyTables noisy = make_noisy_tables(a);
  double weights = 0, triple = 0;
  for (const NoisyTable& t : noisy.tables) {
    const double weight = 1 / (t.sigma * t.sigma * static_cast<double>(t.counts.size()));
    weights += weight;
    if (t.columns.size() == 3) triple = weight;
  }
  const double unit = static_cast<double>(a.maps[0].map->tables()->counted().units(a.lattice).back());
  EXPECT_NEAR(noisy.records, kRecords + triple / weights * 24 * 0x1p24 / unit, 1e-6);
}

TEST(NoisyTables, WhereFewerRecordsCountThanThereAreTheTotalsSayHowMany) {
  Artifact a = release_of(maps());
  a.records = 3 * kRecords;  // of a person beyond the bound, or none that could be used
  const NoisyTables all = make_noisy_tables(a);
  EXPECT_FALSE(all.records_known);
  EXPECT_NEAR(all.records, static_cast<double>(kRecords), 1e-9);
  // m is exact, the totals are not: nearly always it stands where all records count.
  int known = 0;
  for (std::uint32_t draw = 1; draw <= 50; ++draw)
    known += make_noisy_tables(release_of(maps(), 1.0, draw)).records_known;
  EXPECT_GE(known, 48) << "of draws that are the same every time";
}

TEST(NoisyTables, OfSeveralMapsAllGoIn) {
  const schema::Schema schema = test::table_schema(kCodes, kClasses);
  std::vector<features::NamedMap> two = maps();
  two.push_back(test::named("again", test::make_map("pairs", {{"singles", "0"}}, schema), 2.0));
  two.push_back(test::named("rff", test::make_rff({.dims = 3, .features = 4, .length_scale = 0.5})));
  const NoisyTables all = make_noisy_tables(release_of(std::move(two)));
  ASSERT_EQ(all.tables.size(), 10u);
  EXPECT_EQ(all.tables[0].columns.size(), 2u) << "in the order of the maps' names";
  EXPECT_EQ(std::accumulate(all.tables[0].counts.begin(), all.tables[0].counts.end(), 0.0), kRecords);
}

TEST(NoisyTables, AreTheSameAfterTheFile) {
  for (const auto adjacency : {privacy::Adjacency::kReplaceOne, privacy::Adjacency::kAddRemoveOne}) {
    const Artifact a = testing_artifact::sample_tables(adjacency);
    const Artifact back = parse_artifact(artifact_bytes(a), "x.mfl");
    EXPECT_EQ(artifact_bytes(back), artifact_bytes(a));
    const NoisyTables before = make_noisy_tables(a), after = make_noisy_tables(back);
    EXPECT_EQ(after.records, before.records);
    EXPECT_EQ(after.codes, before.codes);
    ASSERT_EQ(after.tables.size(), before.tables.size());
    for (std::size_t t = 0; t < before.tables.size(); ++t) {
      EXPECT_EQ(after.tables[t].columns, before.tables[t].columns);
      EXPECT_EQ(after.tables[t].counts, before.tables[t].counts);
      EXPECT_EQ(after.tables[t].sigma, before.tables[t].sigma);
    }
  }
}

TEST(NoisyTables, NeedTheMap) {
  expect_error(ExitCode::kConfig, {"tables", "[map.NAME]", "\"pairs\""},
               [] { make_noisy_tables(testing_artifact::sample_artifact()); });
  Artifact a = release_of(maps());
  a.map_hashes[0] = std::string(64, '0');
  expect_error(ExitCode::kProtocol, {"feature map", "p"}, [&] { make_noisy_tables(a); });
}

TEST(Combinations, AreOfNumbersOfARecordInTheirOrderAndMissingValuesGoWithAll) {
  const schema::Table table = schema::parse_table_toml(R"(
[[columns]]
name = "dead"
type = "boolean"
role = "label"
[[columns]]
name = "ward"
type = "category"
values = ["s", "c"]
missing = true
[[columns]]
name = "note"
type = "ignore"
[[columns]]
name = "icd"
type = "category"
values = ["a", "b"]
[[combinations]]
columns = ["icd", "ward"]
allowed = [["a", "s"], ["b", "c"]]
[[combinations]]
columns = ["dead", "icd"]
allowed = [["true", "a"], ["false", "b"], ["true", "b"]]
)",
                                                       "s.toml");
  const std::vector<Combination> all = combinations_of(table);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].first, 0u);
  EXPECT_EQ(all[0].second, 1u);
  EXPECT_EQ(all[0].codes, (std::vector<std::size_t>{3, 2}));
  EXPECT_EQ(all[0].allowed, (std::vector<bool>{true, false, false, true, true, true}));
  EXPECT_EQ(all[1].first, 1u);
  EXPECT_EQ(all[1].second, Combination::kLabel);
  EXPECT_EQ(all[1].allowed, (std::vector<bool>{false, true, true, true}));
}

}  // namespace
}  // namespace muffle::release
