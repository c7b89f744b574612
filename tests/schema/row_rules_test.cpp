#include "muffle/schema/row_rules.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "muffle/schema/table_toml.hpp"
#include "support/expect_error.hpp"

namespace muffle::schema {
namespace {

constexpr const char* kColumns = R"(
[[columns]]
name = "first"
type = "integer"
lo = 0
hi = 50
bins = 5
[[columns]]
name = "last"
type = "integer"
lo = 10
hi = 40
bins = 4
missing = true
[[columns]]
name = "sum"
type = "integer"
lo = 0
hi = 60
[[columns]]
name = "sex"
type = "category"
values = ["m", "f"]
[[columns]]
name = "pregnant"
type = "category"
values = ["no", "yes"]
[[columns]]
name = "ill"
type = "boolean"
role = "label"
)";

constexpr const char* kRules = R"(
[[constraints]]
kind = "compare"
left = "first"
op = "<"
right = "last"
[[constraints]]
kind = "compare"
left = "first"
op = ">="
value = 3
[[constraints]]
kind = "sum"
total = "sum"
parts = ["first", "last"]
[[constraints]]
kind = "implies"
if = { column = "sex", is = ["m"] }
then = { column = "pregnant", is = ["no"] }
[[constraints]]
kind = "implies"
if = { column = "pregnant", is = ["yes"] }
then = { column = "ill", is = ["false"] }
)";

TEST(RowRules, EveryMendedRowKeepsAllRules) {
  const Table table = parse_table_toml(std::string(kColumns) + kRules, "s.toml");
  const RowRules rules(table);
  ASSERT_EQ(rules.contradiction(), "");
  const std::vector<std::size_t> features = table.features(), codes = table.codes();
  std::mt19937 random(7);
  std::uniform_real_distribution<float> unit(0.0f, 1.0f);
  std::size_t changed = 0;
  for (int i = 0; i < 5000; ++i) {
    std::vector<float> row(features.size());
    for (float& v : row) v = unit(random);
    const std::vector<float> before = row;
    const std::int64_t label = i % 2;
    rules.mend(row, label);
    changed += row != before ? 1 : 0;
    std::vector<Cell> cells(table.columns.size());
    for (std::size_t k = 0; k < features.size(); ++k) cells[features[k]] = cell_at(row[k], codes[k]);
    cells[*table.label()].code = static_cast<std::uint32_t>(label);
    ASSERT_FALSE(rules.broken(cells)) << "constraint " << *rules.broken(cells) + 1;
    const std::vector<float> once = row;
    rules.mend(row, label);
    EXPECT_EQ(row, once) << "a row that keeps the rules stays as it is";
  }
  EXPECT_GT(changed, 2500u);
}

TEST(RowRules, MissingValuesBreakNothing) {
  const Table table = parse_table_toml(std::string(kColumns) + R"(
[[constraints]]
kind = "compare"
left = "first"
op = "<"
right = "last"
)",
                                       "s.toml");
  const RowRules rules(table);
  std::vector<float> row{position({4, 0.9f}, 5), position({4, 0.5f}, 5), 0.1f, 0.1f, 0.1f};
  const std::vector<float> before = row;
  rules.mend(row, 0);
  EXPECT_EQ(row, before);
}

TEST(RowRules, ContradictionsAreFoundWhenTheSchemaIsRead) {
  const std::string impossible = R"(
[[constraints]]
kind = "compare"
left = "first"
op = ">"
value = 45
[[constraints]]
kind = "compare"
left = "last"
op = ">="
right = "first"
)";
  std::string text = std::string(kColumns) + impossible;
  const auto missing = text.find("missing = true");
  text.erase(missing, std::string("missing = true").size());
  muffle::test::expect_error(ExitCode::kConfig, {"contradict each other", "ill = \"false\""},
                             [&] { (void)parse_table_toml(text, "s.toml"); });
}

TEST(RowRules, ConstraintsThatSayNothingAreRefused) {
  const auto refused = [](const std::string& rule, std::initializer_list<std::string> parts) {
    muffle::test::expect_error(ExitCode::kConfig, parts, [&] {
      (void)parse_table_toml(std::string(kColumns) + "[[constraints]]\n" + rule, "s.toml");
    });
  };
  refused("kind = \"compare\"\nleft = \"frist\"\nop = \"<\"\nvalue = 1\n", {"did you mean 'first'"});
  refused("kind = \"compare\"\nleft = \"sex\"\nop = \"<\"\nvalue = 1\n", {"column 'sex' is no number"});
  refused("kind = \"compare\"\nleft = \"first\"\nop = \"<<\"\nvalue = 1\n", {"op must be"});
  refused("kind = \"compare\"\nleft = \"first\"\nop = \"<\"\n", {"needs 'left', and 'right'"});
  refused("kind = \"sum\"\ntotal = \"sum\"\nparts = [\"first\"]\n", {"at least two parts"});
  refused("kind = \"sum\"\ntotal = \"sum\"\nparts = [\"first\", \"sum\"]\n", {"twice"});
  refused(
      "kind = \"implies\"\nif = { column = \"sex\", is = [\"x\"] }\nthen = { column = \"pregnant\", is = "
      "[\"no\"] }\n",
      {"\"x\" is not among the values of column 'sex'"});
  refused("kind = \"magic\"\n", {"kind must be"});
}

// A value of a column with an equality comes out of a float32 position as it went in, the finest grids
// included.
TEST(RowRules, ColumnsWithRulesAreNoFinerThanPositions) {
  const auto of = [](const std::string& columns) {
    return parse_table_toml(
        columns + "[[constraints]]\nkind = \"compare\"\nleft = \"a\"\nop = \"=\"\nvalue = 1\n", "s.toml");
  };
  for (const char* bins : {"1", "16", "1000"}) {
    const double codes = std::stod(bins), values = std::floor(6e6 / (codes + 2)) * codes;
    const auto column = [&](double hi) {
      return fmt::format("[[columns]]\nname = \"a\"\ntype = \"integer\"\nlo = 0\nhi = {:.0f}\nbins = {}\n",
                         hi, bins);
    };
    const Table table = of(column(values - codes - 1));  // an edge may fall one value further on
    const Grid grid(table.columns[0]);
    for (std::uint64_t i = 0; i < grid.count(); ++i)
      ASSERT_EQ(
          grid.index_of(cell_at(position(grid.cell(i), table.columns[0].codes()), table.columns[0].codes())),
          i);
    muffle::test::expect_error(ExitCode::kConfig, {"column 'a' has too many values", "larger step"},
                               [&] { of(column(values + 2 * codes)); });
  }
  EXPECT_NO_THROW(
      parse_table_toml("[[columns]]\nname = \"a\"\ntype = \"integer\"\nlo = 0\nhi = 1e12\n", "s.toml"))
      << "without a rule it may be";
}

}  // namespace
}  // namespace muffle::schema
