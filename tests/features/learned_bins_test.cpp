// The tree that a number's bins are learned from, and the map that counts it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "muffle/features/dyadic.hpp"
#include "muffle/features/pairs.hpp"
#include "muffle/schema/table_toml.hpp"
#include "support/expect_error.hpp"
#include "support/maps.hpp"

namespace muffle::features {
namespace {

TEST(DyadicTree, HalvesEveryPartDownToItsCells) {
  for (std::size_t cells = 1; cells < 70; ++cells) {
    const DyadicTree tree(cells);
    ASSERT_EQ(tree.leaf.size(), cells);
    EXPECT_EQ(tree.nodes.size(), 2 * cells - 1);
    EXPECT_LT(cells, std::size_t{2} << tree.levels);
    for (const DyadicTree::Node& node : tree.nodes) {
      if (node.is_cell()) {
        EXPECT_EQ(node.last, node.first + 1);
        EXPECT_GE(node.depth + 1, tree.levels);
        continue;
      }
      EXPECT_EQ(tree.nodes[node.left].first, node.first);
      EXPECT_EQ(tree.nodes[node.left].last, tree.nodes[node.right].first);
      EXPECT_EQ(tree.nodes[node.right].last, node.last);
    }
  }
}

TEST(DyadicTree, ALevelPartsAllCodesAndTheMissingValueIsAPartOfItsOwn) {
  const DyadicTree tree(11);
  std::vector<std::uint32_t> coarser;
  for (std::size_t m = 1; m <= tree.levels; ++m) {
    const std::vector<std::uint32_t> level = tree.level(m, 12);
    for (std::size_t x = 1; x < level.size(); ++x) {
      EXPECT_TRUE(level[x] == level[x - 1] || level[x] == level[x - 1] + 1) << "in order, none empty";
      if (m > 1 && coarser[x] != coarser[x - 1]) {
        EXPECT_NE(level[x], level[x - 1]) << "levels nest";
      }
    }
    EXPECT_NE(level[11], level[10]);
    coarser = level;
  }
  EXPECT_EQ(coarser.back(), 11u) << "the last level tells all codes apart";
}

schema::Schema learned_schema(const std::string& more = "") {
  schema::Schema out;
  describe_table(out, std::make_shared<const schema::Table>(schema::parse_table_toml(R"(
[[columns]]
name = "a"
type = "integer"
lo = 0
hi = 4
missing = ["?"]
[[columns]]
name = "b"
type = "boolean"
)" + more,
                                                                                     "s")));
  return out;
}

/// The levels of a's tree, and b.
std::vector<CountTable> trees(const CountTables& all) {
  std::vector<CountTable> out{{{1}}};
  const DyadicTree tree(all.grid_cells[0]);
  for (std::size_t m = 1; m <= tree.levels; ++m)
    out.push_back({{0}, {tree.level(m, all.codes[0])}, tree_weight(tree.levels)});
  return out;
}

TEST(LearnedBins, GoThroughAReleasesHeaderAndBackAndFitTheirSchemaAlone) {
  const auto workload = test::make_map("pairs", {}, learned_schema());
  const auto map = workload->tables()->counting(trees(workload->tables()->counted()));
  const nlohmann::json json = map->to_json();
  const JsonDocument document{"x.mfl", "a release", ""};
  const auto read = make_map("pairs");
  read->read_json(JsonFields(json, document, ""));
  read->resolve(learned_schema());
  EXPECT_EQ(read->to_json(), json);
  EXPECT_EQ(read->hash(), map->hash());
  nlohmann::json written = json;
  written.erase("grid_cells");
  const auto other = make_map("pairs");
  other->read_json(JsonFields(written, document, ""));
  EXPECT_THROW(other->resolve(learned_schema()), ConfigError);
  for (const nlohmann::json& lie : {nlohmann::json{7, 0}, nlohmann::json{5}, nlohmann::json{0, 0}}) {
    written["grid_cells"] = lie;
    EXPECT_THROW(make_map("pairs")->read_json(JsonFields(written, document, "")), ProtocolError) << lie;
  }
  auto twice = trees(workload->tables()->counted());
  twice.push_back(twice.back());
  EXPECT_THROW(workload->tables()->counting(twice), ConfigError);
}

TEST(LearnedBins, TheOutlookSaysHowFarOffTheNoiseLeavesADistribution) {
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  const auto workload = test::make_map("pairs", {}, learned_schema());
  const auto map = workload->tables()->counting(trees(workload->tables()->counted()));
  // W = 1 + sqrt(3), w = 3^(-1/4): 1e-3 of 1,000 records is sqrt(W) / w = 2.175 in a count. In units of its
  // variance the halves {0, 1, 2} and {3, 4} are known to 7/13 and 1/2 by all levels, given all records to
  // 7/27: 1.1 records at the first cut, and more at the three others; the farthest of four is 1.9 off.
  EXPECT_THAT(
      map->outlook(0.001, 1000.0),
      AllOf(HasSubstr("learns the bins of 1 number over public grids of up to 5 cells, with noise of up to "
                      "2.18 records in each count"),
            HasSubstr("puts its distribution 0.0019 from the records' where it is farthest")));
  EXPECT_THAT(map->outlook(0.01, 1000.0), HasSubstr("distribution 0.019 from"));
}

TEST(LearnedBins, PairsOfManyCellsAreNotCountedAsTheyAre) {
  const schema::Schema schema = learned_schema(R"(
[[columns]]
name = "c"
type = "decimal"
decimals = 2
lo = 0
hi = 1000000
[[columns]]
name = "e"
type = "decimal"
decimals = 2
lo = -5000000
hi = 1000000
)");
  const auto workload = test::make_map("pairs", {}, schema);
  const CountTables& wanted = workload->tables()->counted();
  EXPECT_GT(wanted.grid_cells[2], 200u);
  std::vector<CountTable> many;
  for (std::uint32_t shift = 0; shift < 400; ++shift) {
    std::vector<std::uint32_t> groups(wanted.codes[2]);
    std::iota(groups.begin(), groups.end(), shift);
    for (std::uint32_t& g : groups) g %= static_cast<std::uint32_t>(groups.size());
    many.push_back({{2, 3}, {groups, {}}});
  }
  EXPECT_THROW(workload->tables()->counting(many), ConfigError);
}

}  // namespace
}  // namespace muffle::features
