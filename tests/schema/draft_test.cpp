// Drafts of schemas: what is open refuses to be read, what people answer is what is written.
#include "muffle/schema/draft.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "muffle/schema/table_toml.hpp"
#include "support/expect_error.hpp"

namespace muffle::schema {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<DraftColumn> of_types(std::initializer_list<ColumnType> types) {
  std::vector<DraftColumn> columns;
  for (const ColumnType type : types) {
    columns.push_back({});
    columns.back().name = "c" + std::to_string(columns.size());
    columns.back().type = type;
    columns.back().guessed = true;
  }
  return columns;
}

/// @param answers  one a line. @returns what was asked.
std::string ask(std::vector<DraftColumn>& columns, const std::string& answers) {
  std::istringstream in(answers);
  std::ostringstream out;
  ask_for_columns(columns, in, out);
  return out.str();
}

Table read(const std::vector<DraftColumn>& columns) {
  return parse_table_toml(draft_toml(columns, "a comment\nof two lines"), "draft.toml");
}

TEST(Draft, RefusesToBeReadUntilEverythingOpenIsFilledIn) {
  std::vector<DraftColumn> columns = of_types({ColumnType::kDecimal, ColumnType::kOrdinal});
  const auto refused = [&](const std::string& what) {
    EXPECT_TRUE(columns[0].is_open() || columns[1].is_open());
    test::expect_error(ExitCode::kConfig, {what, "is still \"FILL-IN\""}, [&] { read(columns); });
  };
  refused("'decimals'");
  columns[0].decimals = 2;
  refused("'lo'");
  columns[0].lo = -0.25;
  refused("'hi'");
  columns[0].hi = 1.5;
  refused("column 'c1': 'missing'");
  columns[0].missing.emplace();
  refused("'values'");
  columns[1].values = {"low", "hi\"gh"};
  refused("column 'c2': 'missing'");
  columns[1].missing = {"", "NA"};
  const Table table = read(columns);
  EXPECT_FALSE(columns[0].is_open() || columns[1].is_open());
  EXPECT_EQ(table.columns[0].lo, -0.25);
  EXPECT_EQ(table.columns[0].hi, 1.5);
  EXPECT_EQ(table.columns[0].step, 0.01);
  EXPECT_FALSE(table.columns[0].missing);
  EXPECT_EQ(table.columns[1].values[1].name, "hi\"gh");
  EXPECT_EQ(table.columns[1].spellings, (std::vector<std::string>{"", "NA"}));
}

TEST(Draft, WritesWhatWasAnswered) {
  std::vector<DraftColumn> columns =
      of_types({ColumnType::kInteger, ColumnType::kInteger, ColumnType::kCategory, ColumnType::kDate,
                ColumnType::kDatetime, ColumnType::kCategory, ColumnType::kInteger});
  const std::string asked =
      ask(columns,
          // A decimal after all; a wrong type, wrong numbers and bounds the wrong way round.
          "number\ndecimal\n\nmany\n1\nlow\n0.25\n9.5\n-1\n-0.5\n9.5\nnever\n"
          // A number that is the class: its type is asked for again.
          "\nlabel\ndecimal\nlabel\ncategory\n0\n1\n1\n\n"
          "\n\nred\nblue, dark\n\nempty, not known\n"
          "\n\n2001-02-30\n2001-01-01\n2003-12-31\nnever\n"
          "\n\n2001-01-01 00:00:00\n2001-01-01T23:59:59\n?\n"
          "\nperson\n"
          "ignore\n");
  EXPECT_THAT(asked, HasSubstr("Column 7 of 7: c7"));
  EXPECT_THAT(asked, HasSubstr("is not a number"));
  EXPECT_THAT(asked, HasSubstr("has more places"));
  EXPECT_THAT(asked, HasSubstr("below the least"));
  EXPECT_THAT(asked, HasSubstr("is not a date"));
  EXPECT_THAT(asked, HasSubstr("there already"));
  const std::string text = draft_toml(columns, "");
  EXPECT_THAT(text, Not(HasSubstr("FILL-IN")));
  EXPECT_THAT(text, Not(HasSubstr("a guess"))) << "a person has seen them";
  const Table t = read(columns);
  EXPECT_EQ(t.columns[0].type, ColumnType::kDecimal);
  EXPECT_EQ(t.columns[0].lo, -0.5);
  EXPECT_EQ(t.label(), 1U);
  EXPECT_EQ(t.columns[1].values.size(), 2U);
  EXPECT_EQ(t.columns[2].values[1].name, "blue, dark");
  EXPECT_EQ(t.columns[2].spellings, (std::vector<std::string>{"", "not known"}));
  EXPECT_EQ(t.columns[3].hi - t.columns[3].lo, 1094);
  EXPECT_EQ(t.columns[4].hi - t.columns[4].lo, 86399);
  EXPECT_EQ(t.columns[4].spellings, (std::vector<std::string>{"?"}));
  EXPECT_EQ(t.person(), 5U);
  EXPECT_EQ(t.columns[6].type, ColumnType::kIgnore);
}

// A public sample says nothing of roles: which column is the class, and whose a row is, is asked all the
// same.
TEST(Draft, AsksForTheRolesOfColumnsThatASampleHasFilledIn) {
  std::vector<DraftColumn> columns =
      of_types({ColumnType::kInteger, ColumnType::kIgnore, ColumnType::kCategory, ColumnType::kCategory});
  for (DraftColumn& c : columns) c.guessed = false, c.missing.emplace();
  columns[0].lo = 0, columns[0].hi = 9;
  columns[1].note = "an identifier";
  columns[2].values = columns[3].values = {"no", "yes"};
  columns[2].missing = {"?"};
  const std::string asked = ask(columns,
                                "\n"                  // a feature
                                "category\nperson\n"  // of a sample's identifiers
                                "label\n"
                                "label\nperson\n\n");  // both are taken
  EXPECT_THAT(asked, HasSubstr("an identifier"));
  EXPECT_THAT(asked, HasSubstr("'c3' has this role already"));
  EXPECT_THAT(asked, Not(HasSubstr("least value"))) << "it is filled in";
  const Table t = read(columns);
  EXPECT_EQ(t.person(), 1U);
  ASSERT_EQ(t.label(), 2U);
  EXPECT_EQ(t.columns[2].values.back().name, "?") << "a label is always there: this is a value of it";
  EXPECT_EQ(t.columns[3].role, ColumnRole::kFeature);
}

TEST(Draft, LeavesOpenWhatNobodyAnswers) {
  std::vector<DraftColumn> columns = of_types({ColumnType::kInteger, ColumnType::kCategory});
  ask(columns, "\n\n\n\n\n\n\n\n\n");
  EXPECT_TRUE(columns[0].is_open() && columns[1].is_open());
  columns = of_types({ColumnType::kInteger, ColumnType::kCategory});
  ask(columns, "\n\n3\n");
  EXPECT_EQ(columns[0].lo, 3.0) << "answered before the end";
  EXPECT_TRUE(columns[0].is_open() && columns[1].guessed);
  EXPECT_THAT(draft_toml(columns, ""), HasSubstr("hi = \"FILL-IN\""));
}

}  // namespace
}  // namespace muffle::schema
