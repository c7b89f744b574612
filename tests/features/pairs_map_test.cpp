// What is peculiar to counts of pairs: which cell a record is counted in, integers that are exact, and the
// settings' names of columns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "features/features_fixture.hpp"
#include "muffle/core/text.hpp"
#include "muffle/features/pairs.hpp"
#include "support/expect_error.hpp"
#include "support/maps.hpp"

namespace muffle::features {
namespace {

using test::expect_error;
using test::MapKeys;
using test::table_schema;
using ::testing::ElementsAre;

const Lattice kLattice;

std::unique_ptr<FeatureMap> pairs(const MapKeys& settings, const schema::Schema& schema) {
  return test::make_map("pairs", settings, schema);
}

/// "a b 1" for a table of columns a and b with weight 1.
std::vector<std::string> described(const FeatureMap& map) {
  std::vector<std::string> out;
  for (const CountTable& table : map.tables()->counted().tables) {
    out.emplace_back();
    for (const std::size_t j : table.columns) out.back() += std::string(1, static_cast<char>('a' + j)) + " ";
    out.back() += exact_text(table.weight);
  }
  std::ranges::sort(out);
  return out;
}

/// Reference: class by class and table by table, how many records have the cell's codes.
std::vector<std::uint64_t> reference_sums(const FeatureMap& map, const Records& records,
                                          std::size_t classes) {
  const CountTables& all = map.tables()->counted();
  const std::vector<std::int64_t> units = all.units(kLattice);
  std::vector<std::uint64_t> sums;
  for (std::size_t c = 0; c < classes; ++c) {
    for (std::size_t t = 0; t < all.tables.size(); ++t) {
      const CountTable& table = all.tables[t];
      const auto& columns = table.columns;
      for (std::size_t cell = 0; cell < all.tables[t].cells; ++cell) {
        std::uint64_t count = 0;
        for (std::size_t i = 0; i < records.n; ++i) {
          bool inside = records.y[i] == static_cast<std::int32_t>(c);
          for (std::size_t j = columns.size(), rest = cell; j-- > 0; rest /= table.size(j, all.codes)) {
            std::uint32_t at = schema::cell_at(records.row(i)[columns[j]], all.codes[columns[j]]).code;
            if (!table.groups.empty() && !table.groups[j].empty()) at = table.groups[j][at];
            inside = inside && at == rest % table.size(j, all.codes);
          }
          count += inside;
        }
        sums.push_back(count * static_cast<std::uint64_t>(units[t]));
      }
    }
  }
  return sums;
}

TEST(PairsMap, SumsAreCountsTimesTheTablesUnits) {
  for (const std::size_t classes : {1, 3}) {
    const schema::Schema schema = table_schema({3, 1, 8, 2, 17}, classes);
    for (const MapKeys& settings :
         std::vector<MapKeys>{{},
                              {{"singles", "0"}},
                              {{"leave_out", "[\"c\"]"}, {"weights", "[\"a:*=3\", \"b=0.25\"]"}},
                              {{"triples", "[\"a:c:e\", \"a:b:d\"]"}}}) {
      const auto map = pairs(settings, schema);
      Records records(700, 5, classes);
      records.y[5] = schema::kNoClass;
      EXPECT_EQ(sums_of(*map->make_block(kLattice), records, classes),
                reference_sums(*map, records, classes));
    }
  }
}

/// What a later round counts: a on groups, b x c with c on groups, a triple.
std::vector<CountTable> grouped_tables() {
  return {{{0}, {{0, 1, 1}}}, {{1, 2}, {{}, {2, 1, 0, 0, 1, 2, 2, 2}}, 2.5}, {{0, 2, 3}, {}, 0.5}};
}

TEST(PairsMap, LaterRoundsCountOtherTablesOnGroupsOfCodes) {
  const schema::Schema schema = table_schema({3, 4, 8, 2}, 2);
  const auto map = pairs({}, schema)->tables()->counting(grouped_tables());
  EXPECT_EQ(map->features(), 2u + 4 * 3 + 3 * 8 * 2);
  Records records(600, 4, 2);
  EXPECT_EQ(sums_of(*map->make_block(kLattice), records, 2), reference_sums(*map, records, 2));
  EXPECT_EQ(map->bound().norm, 1.0);
  EXPECT_EQ(map->plain_facts(kLattice).runs.front().count, static_cast<long double>(map->features()));

  const JsonDocument document{"x.mfl", "a release", ""};
  const nlohmann::json json = map->to_json();
  const auto read = make_map("pairs");
  read->read_json(JsonFields(json, document, ""));
  read->resolve(schema);
  EXPECT_EQ(read->to_json(), json);
  EXPECT_EQ(read->hash(), map->hash());
  auto other = grouped_tables();
  other[0].groups[0] = {1, 0, 0};
  EXPECT_NE(pairs({}, schema)->tables()->counting(other)->hash(), map->hash());
}

TEST(PairsMap, TablesOfALaterRoundAreRefusedWhereTheyAreNone) {
  const auto map = pairs({}, table_schema({3, 4, 8, 2}));
  const auto refused = [&](CountTable table, const std::string& why) {
    expect_error(ExitCode::kConfig, {why}, [&] { map->tables()->counting({table}); });
  };
  refused({{1, 0}}, "order");
  refused({{0, 4}}, "order");
  refused({{}}, "order");
  refused({{0}, {}, 0.0}, "weight");
  refused({{0}, {{0, 1}}}, "codes");
  refused({{0}, {{0, 2, 2}}}, "without a code");
  refused({{0}, {{0, 1, 3}}}, "number is above");
  refused({{0, 1}, {{0, 1, 1}}}, "other columns");
  EXPECT_TRUE(map->tables()->counting({{{0}, {{}}}})->tables()->counted().tables.front().groups.empty())
      << "one spelling";
  EXPECT_THROW(map->tables()->counting({{{0}}, {{0}}}), ConfigError);
  EXPECT_THROW(map->tables()->counting({}), ConfigError);
}

TEST(PairsMap, CodesAreThoseOfTheSchema) {
  for (const std::size_t codes : {1, 2, 3, 7, 16, 1000, 4097}) {
    const auto map = pairs({}, table_schema({codes}));
    const auto block = map->make_block(kLattice);
    std::vector<float> positions{0.0f, -0.0f, 1.0f, 1e-45f, 0x1.fffffep-1f};
    for (std::size_t k = 0; k < codes; ++k) {
      const auto code = static_cast<std::uint32_t>(k);
      for (const float fraction : {1e-9f, 0.5f, 0.99999994f})
        positions.push_back(schema::position({code, fraction}, codes));
      const float edge = static_cast<float>(k) / static_cast<float>(codes);
      for (const float x : {edge, std::nextafter(edge, 0.0f), std::nextafter(edge, 1.0f)})
        positions.push_back(x);
    }
    for (const float x : positions) {
      const auto values = features_of(*block, &x);
      EXPECT_GT(values[schema::cell_at(x, codes).code], 0) << x << " of " << codes;
    }
  }
}

TEST(PairsMap, ByDefaultEveryPairAndEveryColumnIsCounted) {
  const auto map = pairs({}, table_schema({3, 4, 2}));
  EXPECT_THAT(described(*map), ElementsAre("a 0.7", "a b 1", "a c 1", "b 0.7", "b c 1", "c 0.7"));
  EXPECT_EQ(map->features(), 3u + 4 + 2 + 12 + 6 + 8);
  EXPECT_EQ(map->tables()->counted().tables.front().columns, std::vector<std::size_t>{2})
      << "tells records best";
  EXPECT_EQ(map->counts_inside(kLattice)->numbers, 2u);
}

TEST(PairsMap, TheUnitsAreTheWeightsAndTheirSquaresStayWithinTheNormExactly) {
  for (const std::size_t columns : {1, 2, 5, 40}) {
    std::vector<std::size_t> codes(columns, 2);
    for (const char* weight : {"0.001", "0.3", "1.5", "1000"}) {
      for (const int bits : {8, 15, 24}) {
        const auto map = pairs({{"singles", weight}}, table_schema(codes));
        const Lattice lattice{bits};
        const CountTables& all = map->tables()->counted();
        std::vector<std::int64_t> units;
        try {
          units = all.units(lattice);
        } catch (const ConfigError&) {
          EXPECT_THROW(map->make_block(lattice), ConfigError);
          EXPECT_THROW(map->require_no_overflow(1, lattice), ConfigError);
          EXPECT_TRUE(bits < 24 || columns == 40) << "too coarse is what is coarse";
          continue;
        }
        long double squares = 0, exact = 0;
        for (const CountTable& t : all.tables) squares += static_cast<long double>(t.weight) * t.weight;
        std::uint64_t norm = 0;
        for (std::size_t t = 0; t < units.size(); ++t) {
          norm += static_cast<std::uint64_t>(units[t] * units[t]);
          exact = std::ldexp(all.tables[t].weight / std::sqrt(squares), bits);
          EXPECT_LE(static_cast<long double>(units[t]), exact);
          EXPECT_GE(static_cast<long double>(units[t]), exact - 1.01L);
        }
        EXPECT_LE(norm, lattice.max_squared_norm());
      }
    }
  }
}

// The theorem by exhaustion, in integers: replace-one sqrt(2) with equal and with other labels, add or remove
// one 1, whatever the two records hold.
TEST(PairsMap, NoTwoRecordsAreFurtherApartThanTheTheoremSays) {
  const std::vector<std::size_t> codes{2, 3, 2};
  const MapKeys settings{{"triples", "[\"a:b:c\"]"}, {"weights", "[\"a:b=0.7\", \"c=0\"]"}};
  schema::Schema schema = table_schema(codes, 2);
  const auto plain = pairs(settings, schema);
  // Whatever combinations the schema allows: a record that has another is counted as any is.
  auto table = std::make_shared<schema::Table>(*schema.table);
  table->constraints.emplace_back().kind = schema::Constraint::Kind::kAmong;
  table->constraints[0].columns = {0, 1};
  table->constraints[0].allowed = {{0, 0}, {1, 1}, {1, 2}};
  ASSERT_EQ(table->problems(), std::vector<std::string>{});
  schema.table = table;
  const auto map = pairs(settings, schema);
  EXPECT_EQ(map->hash(), plain->hash());
  const auto block = map->make_block(kLattice);
  std::vector<std::vector<std::int64_t>> all;  // both classes' numbers of every possible record
  for (std::uint32_t a = 0; a < 2; ++a) {
    for (std::uint32_t b = 0; b < 3; ++b) {
      for (std::uint32_t c = 0; c < 2; ++c) {
        const std::vector<float> x{schema::position({a}, 2), schema::position({b}, 3),
                                   schema::position({c}, 2)};
        for (const std::int32_t label : {0, 1, schema::kNoClass}) {
          std::vector<std::uint64_t> sums(2 * map->features());
          block->accumulate(x.data(), &label, 1, *block->make_workspace(), sums);
          all.emplace_back(sums.begin(), sums.end());
        }
      }
    }
  }
  const auto most = static_cast<std::int64_t>(kLattice.max_squared_norm());
  std::int64_t farthest = 0, longest = 0;
  for (const auto& a : all) {
    for (const auto& b : all) {
      std::int64_t squares = 0;
      for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
      farthest = std::max(farthest, squares);
    }
    longest = std::max(longest, std::inner_product(a.begin(), a.end(), a.begin(), std::int64_t{0}));
  }
  EXPECT_LE(longest, most);
  EXPECT_LE(farthest, 2 * most);
  EXPECT_GT(static_cast<double>(longest), (1 - 1e-6) * static_cast<double>(most)) << "no budget is wasted";
  EXPECT_GT(static_cast<double>(farthest), (1 - 1e-6) * 2 * static_cast<double>(most));
  EXPECT_TRUE(map->bound().nonnegative_kernel);
}

TEST(PairsMap, WeightsAndTriplesAreByColumnsNamesTheLastThatFitsHolds) {
  const schema::Schema schema = table_schema({2, 3, 4, 5});
  EXPECT_THAT(described(*pairs({{"leave_out", "[\"b\", \"d\"]"}}, schema)),
              ElementsAre("a 0.7", "a c 1", "c 0.7"));
  EXPECT_THAT(described(*pairs({{"weights", "[\"*:*=0\", \"*=0\", \"d:a=2\", \"b=3.5\"]"}}, schema)),
              ElementsAre("a d 2", "b 3.5"));
  EXPECT_THAT(described(*pairs({{"weights", "[\"a:*=0\"]"}, {"singles", "0"}}, schema)),
              ElementsAre("b c 1", "b d 1", "c d 1"));
  EXPECT_THAT(
      described(*pairs(
          {{"triples", "[\"d:a:b\"]"}, {"weights", "[\"*:*=0\", \"*:*:b=0.5\"]"}, {"singles", "0"}}, schema)),
      ElementsAre("a b d 0.5"));
  schema::Schema colons = table_schema({2, 3, 4});
  auto table = std::make_shared<schema::Table>(*colons.table);
  table->columns[0].name = "a:b", table->columns[1].name = "a";
  colons.table = table;
  EXPECT_THAT(described(*pairs({{"weights", "[\"*:*=0\", \"*=0\", \"a:b:a=2\"]"}}, colons)),
              ElementsAre("a b 2"));
}

TEST(PairsMap, PairsWithALabelThatIsAColumnWeighTwiceUnlessSaidOtherwise) {
  schema::Schema schema = table_schema({2, 3, 4});
  schema::Table table = *schema.table;
  table.columns[1].role = schema::ColumnRole::kTarget;
  describe_table(schema, std::make_shared<const schema::Table>(table));
  EXPECT_THAT(described(*pairs({}, schema)),
              testing::UnorderedElementsAre("a 0.7", "b 0.7", "c 0.7", "a b 2", "a c 1", "b c 2"));
  EXPECT_THAT(described(*pairs({{"weights", "[\"*:b=1\", \"*=0\"]"}}, schema)),
              testing::UnorderedElementsAre("a b 1", "a c 1", "b c 1"));
}

/// Columns a, b and c, of which b is whose a record is, with up to 5 rows.
schema::Schema with_people() {
  schema::Schema schema = table_schema({2, 3, 4});
  schema::Table table = *schema.table;
  table.columns[1].role = schema::ColumnRole::kPerson;
  table.columns[1].rows = 5;
  table.columns[1].values.clear();
  describe_table(schema, std::make_shared<const schema::Table>(schema::with_rows_counted(table)));
  return schema;
}

TEST(PairsMap, RowsOfAPersonAreATableOfTheirOwnAndInNoPair) {
  const schema::Schema schema = with_people();
  // 8 % of 0.49 + 0.49 + 1, and its root in 64ths.
  const auto map = pairs({}, schema);
  EXPECT_THAT(described(*map), testing::UnorderedElementsAre("a 0.7", "c 0.7", "a c 1", "b 0.390625"));
  EXPECT_EQ(map->tables()->counted().row_number, 1u);
  // Others' weights are nothing to it, its own is, and the others' sum.
  EXPECT_THAT(described(*pairs({{"weights", "[\"*=2\", \"*:*=3\"]"}}, schema)),
              testing::UnorderedElementsAre("a 2", "c 2", "a c 3", "b 1.171875"));
  EXPECT_THAT(described(*pairs({{"weights", "[\"b=2\"]"}}, schema)),
              testing::UnorderedElementsAre("a 0.7", "c 0.7", "a c 1", "b 2"));
  Records records(500, 3, 1);
  EXPECT_EQ(sums_of(*map->make_block(kLattice), records, 1), reference_sums(*map, records, 1));
  const auto refused = [&](const MapKeys& settings, const std::string& why) {
    expect_error(ExitCode::kConfig, {why}, [&] { pairs(settings, schema); });
  };
  refused({{"weights", "[\"b=0\"]"}}, "leave 'rows' out of the schema");
  refused({{"leave_out", "[\"b\"]"}}, "leave 'rows' out of the schema");
  refused({{"weights", "[\"a:b=1\"]"}}, "fits no table");
  expect_error(ExitCode::kConfig, {"together with others"}, [&] {
    map->tables()->counting({{{0, 1}, {}, 1.0}});
  });
}

TEST(PairsMap, WhichColumnCountsRowsIsStatedInARelease) {
  const schema::Schema schema = with_people();
  const auto map = pairs({}, schema);
  const nlohmann::json json = map->to_json();
  EXPECT_EQ(json.at("row_number"), 1);
  const JsonDocument document{"x.mfl", "a release", ""};
  const auto read = [&](const nlohmann::json& text, const schema::Schema& as) {
    auto out = make_map("pairs");
    out->read_json(JsonFields(text, document, ""));
    out->resolve(as);
    return out;
  };
  EXPECT_EQ(read(json, schema)->to_json(), json);
  EXPECT_EQ(read(json, schema)->hash(), map->hash());
  nlohmann::json other = json;
  other.erase("row_number");
  expect_error(ExitCode::kConfig, {"otherwise than the schema"}, [&] { read(other, schema); });
  EXPECT_FALSE(pairs({}, table_schema({2, 5, 4}))->to_json().contains("row_number"));
  other = json;
  other["row_number"] = 3;
  EXPECT_THROW(read(other, schema), ProtocolError);
  other["row_number"] = 0;
  EXPECT_THROW(read(other, schema), ProtocolError) << "a is in a pair";
}

TEST(PairsMap, ALabelThatHasClassesIsNoColumnToWeigh) {
  schema::Schema schema = table_schema({2, 3, 4});
  schema::Table table = *schema.table;
  table.columns[1].role = schema::ColumnRole::kLabel;
  describe_table(schema, std::make_shared<const schema::Table>(table));
  for (const MapKeys& keys : {MapKeys{{"weights", "[\"*:b=2\"]"}}, MapKeys{{"leave_out", "[\"b\"]"}}})
    expect_error(ExitCode::kConfig, {"the columns are a, c; \"b\", the label, is none", "data.label_as"},
                 [&] { pairs(keys, schema); });
}

TEST(PairsMap, WhatNamesNoColumnIsRefusedWithThoseThatThereAre) {
  const schema::Schema schema = table_schema({2, 3, 4}, 2);
  const auto refused = [&](MapKeys settings, std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kConfig, parts, [&] { pairs(settings, schema); });
  };
  refused({{"leave_out", "[\"age\"]"}}, {"leave_out", "\"age\"", "a, b, c"});
  refused({{"leave_out", "[\"label\"]"}}, {"leave_out", "\"label\"", "a, b, c"});
  refused({{"weights", "[\"a:age=2\"]"}}, {"weights", "a:age=2", "a, b, c"});
  refused({{"weights", "[\"a:a=2\"]"}}, {"weights", "a:a=2"});
  refused({{"weights", "[\"a:b:c=2\"]"}}, {"a:b:c=2", "no table"});
  refused({{"leave_out", "[\"a\"]"}, {"weights", "[\"a:b=2\"]"}}, {"a:b=2", "no table"});
  refused({{"triples", "[\"a:b\"]"}}, {"triples", "a:b", "a, b, c"});
  refused({{"triples", "[\"a:b:b\"]"}}, {"triples", "a:b:b"});
  refused({{"triples", "[\"a:b:c\", \"c:b:a\"]"}}, {"triples", "twice"});
  refused({{"weights", "[\"*:*=0\", \"*=0\"]"}}, {"nothing is counted"});
  refused({{"leave_out", "[\"a\", \"b\", \"c\"]"}}, {"nothing is counted"});
  refused({{"singles", "1e-9"}}, {"singles", "1e-09"});
  expect_error(ExitCode::kConfig, {"data.schema"}, [] { pairs({}, test::schema_of({3})); });
  for (const char* bad :
       {"[\"a:b\"]", "[\"a:b=\"]", "[\"a:b=x\"]", "[\"a:b=-1\"]", "[\"a:b=nan\"]", "[\"=1\"]",
        "[\"a:b=1e9\"]", "[\"a:b=1e-9\"]", "[\"a:b=1 \"]", "[\"a=1\", \"a=1\"]"})
    EXPECT_THROW(pairs({{"weights", bad}}, schema), std::invalid_argument) << bad;
}

TEST(PairsMap, TooManyCellsAreRefusedWithWhatFewerBinsWouldBring) {
  const std::string message =
      expect_error(ExitCode::kConfig, {"2.51e+07", "16777216", "a (5000)", "b (5000)"}, [] {
        pairs({}, table_schema({5000, 5000, 10}));
      });
  EXPECT_THAT(message, ::testing::Not(::testing::HasSubstr("c (")));
  EXPECT_NO_THROW(pairs({{"weights", "[\"a:b=0\"]"}}, table_schema({5000, 5000, 10})));
}

TEST(PairsMap, HostileDescriptionsAreRefused) {
  const schema::Schema schema = table_schema({2, 3, 4});
  const nlohmann::json good = pairs({}, schema)->to_json();
  const auto read = [&](const nlohmann::json& json) {
    const JsonDocument document{"x.mfl", "a release", ""};
    const auto map = make_map("pairs");
    map->read_json(JsonFields(json, document, ""));
    map->resolve(schema);
  };
  EXPECT_NO_THROW(read(good));
  const auto refused = [&](const char* where, const nlohmann::json& lie) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(where)] = lie;
    try {
      read(bad);
      ADD_FAILURE() << where << " " << lie;
    } catch (const ProtocolError&) {
    } catch (const ConfigError&) {
    }
  };
  refused("/codes", {2, 3});
  refused("/codes", {2, 3, 5});
  refused("/codes", {2, 3, 0});
  refused("/codes", {std::uint64_t{1} << 24, std::uint64_t{1} << 24, std::uint64_t{1} << 24});
  refused("/codes", nlohmann::json::array());
  refused("/tables", nlohmann::json::array());
  refused("/tables/1/columns", {0, 3});
  refused("/tables/1/columns", {1, 0});
  refused("/tables/1/columns", {0, 0});
  refused("/tables/1/columns", {0, 1, 2, 3});
  refused("/tables/1/columns", nlohmann::json::array());
  refused("/tables/1/columns", {-1, 0});
  refused("/tables/1", good["/tables/0"_json_pointer]);
  for (const double weight : {0.0, -1.0, 1e-4, 1e300}) refused("/tables/1/weight", weight);
  refused("/tables/1/name", "a");
}

// W = 6 + 4 0.49 = 7.96, so that noise of 1e-3 of a class's 10,000 records is 28.2 records in a pair's cell.
TEST(PairsMap, TheOutlookSaysWhichNoiseEveryCellHasAndWhatDrowns) {
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  const auto map = pairs({}, table_schema({18, 18, 18, 22}, 2));
  // 10,000 / 324 = 31 records a cell, 10,000 / 396 = 25; 2.82e-3 / sqrt(2) (4.24 + 4.69) 19.9 = 0.35.
  EXPECT_THAT(
      map->outlook(0.001, 10000.0),
      AllOf(HasSubstr("noise of 28.2 records in every cell of 6 pairs, 40.3 of single columns"),
            HasSubstr("from about 0.35 on"),
            HasSubstr(
                "3 tables drown: on average their cells hold more noise than records (a x d, b x d, c x d)"),
            HasSubstr("epsilon would leave 0 of them"), HasSubstr("every column 0")));
  EXPECT_THAT(map->outlook(0.01, 10000.0),
              AllOf(HasSubstr("no correlation shows"), HasSubstr("6 tables drown"), HasSubstr(", ...)"),
                    HasSubstr("epsilon would leave 6"), HasSubstr("every column 6")));
  EXPECT_THAT(pairs({}, table_schema({18, 18, 2}, 2))->outlook(0.0015, 10000.0),
              HasSubstr("; 1 table drowns: on average its cells hold more noise than records (a x b)"));
  EXPECT_THAT(map->tables()->drowned(0.0001), testing::IsEmpty());
  const std::vector<std::string> drowned = map->tables()->drowned(0.01);
  EXPECT_THAT(map->outlook(0.01, 10000.0), HasSubstr(std::to_string(drowned.size()) + " tables drown"));
  EXPECT_THAT(map->outlook(0.01, 10000.0), HasSubstr("(" + drowned.at(0)));
  EXPECT_THAT(map->outlook(0.0001, 1e6),
              HasSubstr("; no table drowns: on average cells hold more records than noise"));
  EXPECT_THAT(pairs({}, table_schema({4}))->outlook(0.001, 1000.0),
              HasSubstr("up to 1 records in every cell of single columns"));
}

}  // namespace
}  // namespace muffle::features
