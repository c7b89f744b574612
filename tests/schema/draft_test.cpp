// Drafts of schemas: what is open refuses to be read, what people answer is what is written.
#include "muffle/schema/draft.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "muffle/schema/table_toml.hpp"
#include "schema/draft_answers.hpp"
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
                ColumnType::kDatetime, ColumnType::kCategory, ColumnType::kInteger, ColumnType::kInteger,
                ColumnType::kInteger});
  const std::string asked =
      ask(columns,
          "\"\", not known\n"
          // A decimal after all; a wrong type, wrong numbers and bounds the wrong way round.
          "number\ndecimal\nmany\nlow, 9.5\n9.5, -0.5\n-0.5, 9.25\n"
          // A number that is the class: its type is asked for again.
          "label\ncategory label\n0, 1, 1\n0, 1\n"
          "missing\nred, \"blue, dark\",\n green\n"
          "\n2001-02-30, 2001-03-01\n2001-01-01, 2003-12-31\n"
          "date %d.%q.%Y\ndatetime missing %d.%m.%Y %H:%M\n2001-01-01 00:00, 2001-01-01T23:59\n"
          "person\n"
          "ignore\n"
          "\n<5, 90+\n"
          "key\n");
  EXPECT_THAT(asked, HasSubstr("Column 7 of 9: c7"));
  EXPECT_THAT(asked, HasSubstr("Two values"));
  EXPECT_THAT(asked, HasSubstr("is not a number"));
  EXPECT_THAT(asked, HasSubstr("below the least"));
  EXPECT_THAT(asked, HasSubstr("is not a date"));
  EXPECT_THAT(asked, HasSubstr("there twice"));
  EXPECT_THAT(asked, HasSubstr("a conversion that muffle does not know"));
  const std::string text = draft_toml(columns, "");
  EXPECT_THAT(text, Not(HasSubstr("FILL-IN")));
  EXPECT_THAT(text, Not(HasSubstr("a guess"))) << "a person has seen them";
  const Table t = read(columns);
  EXPECT_EQ(t.columns[0].type, ColumnType::kDecimal);
  EXPECT_EQ(t.columns[0].lo, -0.5);
  EXPECT_EQ(t.columns[0].decimals, 2) << "as the bounds were written";
  EXPECT_EQ(t.label(), 1U);
  EXPECT_EQ(t.columns[1].values.size(), 2U);
  EXPECT_EQ(t.columns[2].values[1].name, "blue, dark");
  EXPECT_EQ(t.columns[2].values[2].name, "green");
  EXPECT_EQ(t.columns[2].spellings, (std::vector<std::string>{"", "not known"}));
  EXPECT_EQ(t.columns[3].hi - t.columns[3].lo, 1094);
  EXPECT_EQ(t.columns[4].hi - t.columns[4].lo, 86340);
  EXPECT_EQ(t.columns[4].notation.format, "%d.%m.%Y %H:%M");
  EXPECT_TRUE(t.columns[4].missing);
  EXPECT_EQ(t.person(), 5U);
  EXPECT_EQ(t.columns[6].type, ColumnType::kIgnore);
  EXPECT_EQ(t.columns[7].notation.top_code, "90+");
  EXPECT_EQ(t.columns[7].notation.bottom_code, "<5");
  EXPECT_EQ(t.columns[7].lo, 4) << "the largest that it stands for";
  EXPECT_EQ(t.columns[8].type, ColumnType::kKey);
}

TEST(Draft, GoesBackAndTakesUpEarlierAnswers) {
  const auto two = [] { return of_types({ColumnType::kInteger, ColumnType::kCategory}); };
  std::vector<DraftColumn> columns = two();
  Answers kept;
  const auto keep = [&](const std::string& column, const std::vector<std::string>& all) {
    kept[column] = all;
  };
  std::istringstream first("\n\n0, 9\nback\n1, 8\n\nback\nback\n2, 7\nmissing\nquit\n");
  std::ostringstream out;
  EXPECT_FALSE(ask_for_columns(columns, first, out, {}, keep));
  EXPECT_EQ(kept["c1"], (std::vector<std::string>{"", "2, 7"})) << out.str();
  EXPECT_EQ(kept["c2"], std::vector<std::string>{"missing"});
  EXPECT_EQ(columns[0].hi, 7.0);
  EXPECT_FALSE(columns[1].missing) << "a column that is not finished is as it was";

  columns = two();
  std::istringstream second("a, b\n");
  out.str("");
  EXPECT_TRUE(ask_for_columns(columns, second, out, kept));
  EXPECT_THAT(out.str(), Not(HasSubstr("Column 1")));
  EXPECT_EQ(columns[0].hi, 7.0);
  EXPECT_EQ(columns[1].values, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(columns[1].missing, (std::vector<std::string>{"", "NA"}));
}

TEST(Draft, AnEmptyAnswerAfterBackKeepsWhatWasAnswered) {
  std::vector<DraftColumn> columns = of_types({ColumnType::kInteger, ColumnType::kCategory});
  const std::string asked = ask(columns,
                                "\"\", NA\n"
                                "integer missing\n0, 9\n"
                                // Four questions back, and all again.
                                "missing\nback\nback\nback\nback\n\n\n\n\na, b\n");
  EXPECT_THAT(asked, HasSubstr("what is it? [integer missing]: "));
  EXPECT_THAT(asked, HasSubstr(" [0, 9]: "));
  EXPECT_EQ(columns[0].hi, 9.0);
  EXPECT_EQ(columns[0].missing, (std::vector<std::string>{"", "NA"}));
  EXPECT_EQ(columns[1].missing, (std::vector<std::string>{"", "NA"}));
  EXPECT_EQ(columns[1].values, (std::vector<std::string>{"a", "b"}));

  // Another answer, and the questions behind it are asked anew; a wrong one changes nothing.
  columns = of_types({ColumnType::kInteger, ColumnType::kCategory});
  ask(columns, "\ninteger missing\n0, 9\nback\nback\nnumber\n\n\n\na, b\n");
  EXPECT_EQ(columns[0].hi, 9.0);
  columns = of_types({ColumnType::kInteger, ColumnType::kCategory});
  ask(columns, "\n\n0, 9\nback\nback\ncategory\n\n\na, b\n");
  EXPECT_EQ(columns[0].type, ColumnType::kCategory);
  EXPECT_FALSE(columns[0].values) << "bounds are no categories";
  EXPECT_EQ(columns[1].values, (std::vector<std::string>{"a", "b"}));
}

TEST(Draft, BoundsOfTimesMayHaveFractionsAndKeepTheStep) {
  DraftColumn clock;
  clock.type = ColumnType::kTime;
  clock.notation.format = "%H:%M:%S.%3f";
  EXPECT_EQ(take_bounds("00:00, 23:59:59.999", clock), "");
  EXPECT_EQ(clock.hi, 86399.999);
  EXPECT_THAT(take_bounds("00:00, 23:59:59.9x9", clock), HasSubstr("is not"));
  DraftColumn quarters;
  quarters.type = ColumnType::kDatetime;
  quarters.notation.format = "%d.%m.%y %H:%M";
  quarters.step = 900;
  EXPECT_EQ(take_bounds("2020-01-01 00:00, 2020-12-31 23:59", quarters), "");
  EXPECT_EQ(*quarters.hi - *quarters.lo, 366 * 86400.0 - 900) << "23:45";
  DraftColumn whole;
  whole.type = ColumnType::kDecimal;
  whole.decimals = 1;
  whole.step = 1;
  EXPECT_THAT(take_bounds("0.0, 99.5", whole), HasSubstr("steps of 1"));
}

TEST(Draft, ListsAreOneSyntax) {
  using List = std::vector<std::string>;
  EXPECT_EQ(split_list("a, b c ,\"d, e\",\"\", \"f\"\"g\" "), (List{"a", "b c", "d, e", "", "f\"g"}));
  for (const char* wrong : {"", "a,,b", "a,", "\"a", "\"a\"b", "a\"b\""})
    EXPECT_FALSE(split_list(wrong)) << wrong;
}

TEST(Draft, WhatNothingTellsApartIsAskedFor) {
  std::vector<DraftColumn> columns = of_types({ColumnType::kDate, ColumnType::kDecimal});
  for (const char* format : {"%d/%m/%Y", "%m/%d/%Y"}) {
    columns[0].choices.push_back(columns[0]);
    columns[0].choices.back().choices.clear();
    columns[0].choices.back().notation.format = format;
  }
  columns[1].choices = {columns[1], columns[1]};
  columns[1].choices[0].notation.decimal_mark = ",";
  columns[1].choices[1].type = ColumnType::kInteger;
  columns[1].choices[1].notation.thousands_mark = ",";
  for (DraftColumn& c : columns) {
    const auto choices = c.choices;
    c = choices[0];
    c.choices = choices;
  }
  EXPECT_TRUE(columns[0].is_open());
  const std::string text = draft_toml(columns, "");
  EXPECT_THAT(
      text,
      HasSubstr(
          "format = \"FILL-IN\"  # nothing tells which: format = \"%d/%m/%Y\", or format = \"%m/%d/%Y\""));
  EXPECT_THAT(text, HasSubstr("decimal_mark = \",\", or type = \"integer\", thousands_mark = \",\""));
  ask(columns, "\n3\n2\n\n2020-01-01, 2020-12-31\n2\n\n0, 5000\n");
  const Table t = read(columns);
  EXPECT_EQ(t.columns[0].notation.format, "%m/%d/%Y");
  EXPECT_EQ(t.columns[1].type, ColumnType::kInteger);
  EXPECT_EQ(t.columns[1].notation.thousands_mark, ",");
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
                                "\n"        // a feature
                                "person\n"  // of a sample's identifiers
                                "label\n"
                                "label\nperson\n\n");  // both are taken
  EXPECT_THAT(asked, HasSubstr("an identifier"));
  EXPECT_THAT(asked, HasSubstr("'c3' has this role already"));
  EXPECT_THAT(asked, Not(HasSubstr("the least and"))) << "it is filled in";
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
  EXPECT_THAT(draft_toml(columns, ""), HasSubstr("hi = \"FILL-IN\""));
  columns = of_types({ColumnType::kInteger, ColumnType::kCategory});
  std::istringstream in("\n\n3, 4\n");
  std::ostringstream out;
  EXPECT_FALSE(ask_for_columns(columns, in, out)) << "the input has ended";
  EXPECT_EQ(columns[0].lo, 3.0);
  EXPECT_TRUE(columns[1].guessed);
}

TEST(Draft, BoundsThatAreCodesAreKeptOnlyWhereTheAnswerIs) {
  DraftColumn whole;
  whole.type = ColumnType::kInteger;
  EXPECT_NE(take_bounds("95, 90+", whole), "");
  EXPECT_EQ(take_bounds("0, 120", whole), "");
  EXPECT_EQ(whole.notation.top_code, "");
  EXPECT_EQ(whole.hi, 120);
  DraftColumn tenths;
  tenths.type = ColumnType::kDecimal;
  EXPECT_EQ(take_bounds("<0.5, 90.5+", tenths), "");
  EXPECT_EQ(tenths.decimals, 1);
  EXPECT_DOUBLE_EQ(tenths.lo.value_or(0), 0.4);
  EXPECT_EQ(tenths.notation.top_code, "90.5+");
}

TEST(Draft, BoundsMayBeWrittenAsTheFieldsAre) {
  DraftColumn euros;
  euros.type = ColumnType::kDecimal;
  euros.notation.decimal_mark = ",";
  euros.notation.thousands_mark = ".";
  euros.notation.suffix = " \u20AC";
  for (const char* line : {"\"0,00\", \"10.000,00\"", "\"0,00 \u20AC\", 10000.00", "0, 10000.00"}) {
    DraftColumn c = euros;
    EXPECT_EQ(take_bounds(line, c), "") << line;
    EXPECT_EQ(c.lo, 0);
    EXPECT_EQ(c.hi, 10000);
    EXPECT_EQ(c.decimals, 2);
  }
  EXPECT_THAT(take_bounds("0, 10.000", euros), HasSubstr("two numbers")) << "ten, or ten thousand";
  EXPECT_THAT(take_bounds("0, \"\"", euros), HasSubstr("is not a number"));
  EXPECT_THAT(take_bounds("0,5, 250,0", euros), HasSubstr("in quotes"));
}

}  // namespace
}  // namespace muffle::schema
