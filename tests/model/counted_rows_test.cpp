// Which of its person's a record is, as a number of a record: what rounds count of it, their bound by search
// over records and persons in integers, and the law that comes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "muffle/core/files.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/model/closed_forms.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/pair_graph/rounds.hpp"
#include "muffle/release/noisy_tables.hpp"
#include "pair_graph/rows_law.hpp"
#include "release/sample_artifact.hpp"
#include "support/generators.hpp"
#include "support/maps.hpp"
#include "support/planned_release.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::model {
namespace {

using MapSums = std::vector<std::int64_t>;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(RowsLaw, WhatGrowsIsPooled) {
  EXPECT_THAT(pair_graph::not_growing(std::vector<double>{5, 3, 1}), ElementsAre(5, 3, 1));
  EXPECT_THAT(pair_graph::not_growing(std::vector<double>{5, 1, 3}), ElementsAre(5, 2, 2));
  EXPECT_THAT(pair_graph::not_growing(std::vector<double>{1, 2, 3}), ElementsAre(2, 2, 2));
  EXPECT_THAT(pair_graph::not_growing(std::vector<double>{4, 6, 5, -1, 0.5}), ElementsAre(5, 5, 5, 0, 0));
  EXPECT_THAT(pair_graph::not_growing(std::vector<double>{6, 1, 2, 6}), ElementsAre(6, 3, 3, 3));
}

TEST(RowsLaw, PeopleWithSoManyRowsAreDifferences) {
  EXPECT_THAT(pair_graph::people_by_rows(std::vector<double>{0.5, 0.3, 0.2}),
              ElementsAre(DoubleNear(0.4, 1e-12), DoubleNear(0.2, 1e-12), DoubleNear(0.4, 1e-12)));
  EXPECT_THAT(pair_graph::people_by_rows(std::vector<double>{1, 0}), ElementsAre(1, 0));
}

release::NoisyTables rows_tables(std::vector<std::vector<double>> counts, const std::vector<double>& sigma) {
  release::NoisyTables out;
  out.codes = {2, counts.front().size()};
  out.row_number = 1;
  for (std::size_t t = 0; t < counts.size(); ++t)
    out.tables.push_back({{1}, {}, {counts[t].size()}, std::move(counts[t]), sigma[t]});
  return out;
}

TEST(RowsLaw, RoundsAreMeansByInverseVariance) {
  EXPECT_THAT(pair_graph::rows_law(rows_tables({{80, 20}}, {5})), ElementsAre(0.8, 0.2));
  const std::vector<double> both = pair_graph::rows_law(rows_tables({{80, 20}, {50, 50}}, {1, 2}));
  EXPECT_NEAR(both[0], 0.8 * 0.8 + 0.2 * 0.5, 1e-12);
  // Where noise leaves nothing everybody has one row.
  EXPECT_THAT(pair_graph::rows_law(rows_tables({{-80, -20, -3}}, {5})), ElementsAre(1, 0, 0));
  release::NoisyTables classes = rows_tables({{40, 5, 40, 15}}, {5});
  classes.classes = 2;
  classes.codes[1] = 2;
  classes.tables[0].sizes = {2};
  EXPECT_THAT(pair_graph::rows_law(classes), ElementsAre(0.8, 0.2));
}

/// a: 7 values and a missing one; b: 3 categories; who: the person, with up to two rows.
schema::Schema people_schema(bool learned, std::size_t classes = 2) {
  schema::Table table = *test::table_schema({8, 3}, classes, 1).table;
  schema::Column& a = table.columns[0];
  a.missing = true;
  a.spellings = {"?"};
  a.learned = learned;
  a.edges = {0, 1, 2, 3, 4, 5, 6, 7};
  a.hi = 6;
  schema::Column who;
  who.name = "who";
  who.role = schema::ColumnRole::kPerson;
  who.rows = 2;
  table.columns.insert(table.columns.begin() + 1, who);
  schema::Schema out;
  describe_table(out, std::make_shared<const schema::Table>(with_rows_counted(table)));
  return out;
}

std::int64_t squared_apart(const MapSums& one, const MapSums& other) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += (one[i] - other[i]) * (one[i] - other[i]);
  return sum;
}

/// What every record of this number, 0 or 1, adds to the map's numbers.
std::vector<MapSums> numbered_records(const features::FeatureMap& map, const schema::Schema& schema,
                                      const features::Lattice& lattice, std::uint32_t number) {
  const auto block = map.make_block(lattice);
  std::vector<MapSums> out;
  for (std::uint32_t a = 0; a < 8; ++a) {
    for (std::uint32_t b = 0; b < 3; ++b) {
      for (std::int32_t label = 0; label < 2; ++label) {
        const std::vector<float> x{schema::position({a}, 8), schema::position({number}, 2),
                                   schema::position({b}, 3)};
        std::vector<std::uint64_t> sums(map.features() * schema.classes);
        block->accumulate(x.data(), &label, 1, *block->make_workspace(), sums);
        out.emplace_back(sums.begin(), sums.end());
      }
    }
  }
  return out;
}

struct RoundsCase {
  std::size_t rounds;
  bool learned;
};

class CountedRows : public testing::TestWithParam<RoundsCase> {
 protected:
  release::ReleasePlan plan() const {
    privacy::PrivacySpec privacy = release::testing_artifact::privacy_of({.records_per_person = 2});
    privacy.rounds = GetParam().rounds;
    return release::make_plan(pair_graph::in_rounds(
        {schema_, {}, {test::named("p", test::make_map("pairs", {}, schema_))}, privacy, false, 4000}));
  }
  const schema::Schema schema_ = people_schema(GetParam().learned);
};

TEST_P(CountedRows, NoTwoPersonsAreFurtherApartThanTheTheoremSays) {
  const release::ReleasePlan plan = this->plan();
  ASSERT_EQ(plan.maps.size(), GetParam().rounds);
  for (const features::NamedMap& map : plan.maps) {
    const auto norm = static_cast<std::int64_t>(plan.lattice.max_squared_norm());
    const std::vector<MapSums> first = numbered_records(*map.map, schema_, plan.lattice, 0),
                               second = numbered_records(*map.map, schema_, plan.lattice, 1);
    // Who has no record, one, or two, of which one is the first.
    std::vector<MapSums> persons{MapSums(first.front().size(), 0)};
    persons.insert(persons.end(), first.begin(), first.end());
    for (const MapSums& one : first) {
      for (const MapSums& other : second) {
        persons.push_back(one);
        std::transform(one.begin(), one.end(), other.begin(), persons.back().begin(), std::plus<>());
      }
    }
    std::int64_t farthest = 0, longest = 0;
    for (const MapSums& one : persons) {
      longest = std::max(longest, squared_apart(one, persons.front()));
      for (const MapSums& other : persons) farthest = std::max(farthest, squared_apart(one, other));
    }
    // q = 2: replaced, q sqrt(2); added or removed, q. The two records' own tables are never the same cell.
    EXPECT_LE(farthest, 8 * norm);
    EXPECT_LE(longest, 4 * norm);
    EXPECT_GT(static_cast<double>(longest), 3.5 * static_cast<double>(norm)) << "and it is not far from it";
  }
}

TEST_P(CountedRows, HaveOneTableWithAShareOfEveryRound) {
  const release::ReleasePlan plan = this->plan();
  for (const features::NamedMap& map : plan.maps) {
    const features::CountTables& all = map.map->tables()->counted();
    ASSERT_EQ(all.row_number, 1u);
    double own = 0;
    for (const features::CountTable& table : all.tables) {
      if (std::ranges::count(table.columns, 1u) == 0) continue;
      EXPECT_THAT(table.columns, ElementsAre(1u)) << "in no pair";
      EXPECT_EQ(own, 0) << "once";
      own = table.weight * table.weight;
    }
    const double share = own / (all.sum_of_squares() - own);
    EXPECT_NEAR(share, features::CountTables::kRowsShare, 0.005);
  }
}

INSTANTIATE_TEST_SUITE_P(Rounds, CountedRows,
                         testing::Values(RoundsCase{1, false}, RoundsCase{2, false}, RoundsCase{3, false},
                                         RoundsCase{2, true}, RoundsCase{3, true}),
                         [](const auto& of) {
                           return (of.param.learned ? "learned" : "plain") + std::to_string(of.param.rounds);
                         });

/// From records to a model file: 6,000 people with one row, 3,000 of them with two.
TEST(CountedRowsModel, SamplersKnowHowManyRowsPeopleHave) {
  const schema::Schema schema = people_schema(false);
  std::vector<float> x;
  std::vector<std::int32_t> y;
  const CounterStream random(3, Stream::kTest);
  for (std::uint64_t i = 0; i < 9000; ++i) {
    const auto a = static_cast<std::uint32_t>(random.below(4 * i, 8)),
               b = static_cast<std::uint32_t>(random.below(4 * i + 1, 3));
    x.insert(x.end(),
             {schema::position({a}, 8), schema::position({i < 6000 ? 0u : 1u}, 2), schema::position({b}, 3)});
    y.push_back(static_cast<std::int32_t>(random.below(4 * i + 2, 2)));
  }
  const auto maps = std::vector{test::named("m", test::make_map("pairs", {}, schema))};
  const auto settings = test::generator("pair-graph");
  EXPECT_TRUE(settings->knows_rows_of_people());
  const release::Artifact release = test::planned_release(schema, maps, x, y);
  EXPECT_EQ(release::make_noisy_tables(release).row_number, 1u);
  test::TemporaryFolder folder;
  save_model(folder / "model.mfl",
             {.generator = settings,
              .schema = schema,
              .class_share = {0.5, 0.5},
              .release_hash = "",
              .train_hash = ""},
             settings->closed_form()->fit(release, {}));
  const Model model = parse_model(read_file(folder / "model.mfl"), "model.mfl");
  EXPECT_THAT(model.sampler->people_by_rows(), ElementsAre(DoubleNear(0.5, 0.02), DoubleNear(0.5, 0.02)));
  // Nothing else is known of which of its person's a row is.
  std::vector<float> out(2000 * 3);
  const std::vector<std::int64_t> labels(2000, 1);
  model.sampler->draw(1, 0, labels, out);
  double seconds = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) seconds += schema::cell_at(out[3 * i + 1], 2).code;
  EXPECT_NEAR(seconds / 2000, 1.0 / 3, 0.07);
}

}  // namespace
}  // namespace muffle::model
