#include "muffle/schema/date_differences.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "muffle/schema/table_toml.hpp"
#include "support/expect_error.hpp"

namespace muffle::schema {
namespace {

/// born, admitted and discharged, with what is added to each, and what follows.
std::string dates(const std::string& admitted, const std::string& discharged, const std::string& rest) {
  return "[[columns]]\nname = \"born\"\ntype = \"date\"\nlo = 1900-01-01\nhi = 2020-12-31\n"
         "[[columns]]\nname = \"admitted\"\ntype = \"date\"\nlo = 2020-01-01\nhi = 2020-12-31\n" +
         admitted + "[[columns]]\nname = \"discharged\"\ntype = \"date\"\nlo = 2020-01-01\n" + discharged +
         rest;
}
std::string rule(const std::string& left, const std::string& op, const std::string& right) {
  return fmt::format("[[constraints]]\nkind = \"compare\"\nleft = \"{}\"\nop = \"{}\"\nright = \"{}\"\n",
                     left, op, right);
}
const std::string kEnd = "hi = 2021-01-31\n";
Table parsed(const std::string& toml) { return parse_table_toml(toml, "s.toml"); }

TEST(DateDifferences, AComparisonOfTwoDatesBecomesOne) {
  for (const auto& [by, least] :
       {std::pair{rule("admitted", "<=", "discharged"), 0.0}, {rule("discharged", ">", "admitted"), 1.0}}) {
    const Table table = parsed(dates("", kEnd, by));
    EXPECT_TRUE(table.constraints.empty());
    const Column& c = table.columns[2];
    EXPECT_EQ(c.since, 1u);
    EXPECT_EQ(c.lo, least);
    EXPECT_EQ(c.hi, 396.0) << "from the first day of the one to the last of the other";
    EXPECT_EQ(c.dates, (DateBounds{18262, 18658}));
    EXPECT_TRUE(c.learned);
    const nlohmann::json json = to_json(table);
    const JsonDocument document{"a.mfl", "a release", "Copy it again."};
    EXPECT_EQ(read_table(JsonFields(json, document)), table);
    const Table without = parsed(dates("", kEnd, ""));
    EXPECT_THAT(differences(table, without), testing::HasSubstr("column 'discharged': bounds, bins, since"));
  }
}

TEST(DateDifferences, ImplicationsOfAMissingDateStayWhatTheyAre) {
  const Table table =
      parsed(dates("", kEnd + "missing = [\"\"]\n",
                   rule("admitted", "<=", "discharged") +
                       "[[columns]]\nname = \"state\"\ntype = \"category\"\nvalues = [\"here\", \"gone\"]\n"
                       "[[constraints]]\nkind = \"implies\"\nif = { column = \"state\", is = [\"here\"] }\n"
                       "then = { column = \"discharged\", is = [\"\"] }\n"));
  ASSERT_EQ(table.constraints.size(), 1u);
  EXPECT_EQ(table.constraints[0].then, std::vector{table.columns[2].missing_code()});
  EXPECT_TRUE(table.columns[2].since);
}

TEST(DateDifferences, OtherRulesStayRules) {
  const auto stays = [](const std::string& toml, std::size_t rules) {
    const Table table = parsed(toml);
    EXPECT_EQ(table.constraints.size(), rules) << toml;
    EXPECT_FALSE(table.columns[2].since) << toml;
  };
  const std::string in_order = rule("admitted", "<=", "discharged");
  stays(dates("", kEnd + "bins = 8\n", in_order), 1);
  stays(dates("missing = [\"\"]\n", kEnd, in_order), 1);
  stays(dates("", "hi = 2020-06-30\n", in_order), 1);
  stays(dates("step = 1\n", "hi = 2021-02-04\nstep = 10\n", in_order), 1);
  stays(dates("", kEnd + "format = \"%d.%m.%y\"\n", in_order), 1);
  stays(dates("", kEnd, rule("admitted", "=", "discharged")), 1);
  stays(dates("", kEnd, in_order + rule("born", "<=", "discharged")), 2);
  stays(dates("", "hi = 2020-12-31\n", rule("admitted", "<", "discharged")), 1);
  // Of a chain the last one counts since the one before it.
  const Table chain = parsed(dates("", kEnd, rule("born", "<=", "admitted") + in_order));
  EXPECT_EQ(chain.columns[2].since, 1u);
  EXPECT_FALSE(chain.columns[1].since);
  EXPECT_EQ(chain.constraints.size(), 1u);
}

std::string derived(const std::string& derive, const std::string& rest = "type = \"integer\"\n") {
  return "[[columns]]\nname = \"d\"\nderive = \"" + derive + "\"\n" + rest;
}

TEST(DateDifferences, WhatIsDerivedHasTheBoundsOfItsDates) {
  const Table table = parsed(dates("", kEnd,
                                   derived("years(admitted - born)") + rule("admitted", "<=", "discharged") +
                                       "[[columns]]\nname = \"n\"\ntype = \"decimal\"\ndecimals = 1\n"
                                       "derive = \"days(discharged - born)\"\n"));
  ASSERT_EQ(table.columns.size(), 5u);
  EXPECT_EQ(table.columns[3].lo, -1.0);
  EXPECT_EQ(table.columns[3].hi, 120.0);
  EXPECT_EQ(table.columns[4].hi, 44225.0) << "of its own dates, though it counts since another";
  EXPECT_FALSE(table.columns[3].is_feature());
  EXPECT_EQ(table.features().size(), 3u);
  EXPECT_EQ(derivation_text(*table.columns[4].derived, table), "days(discharged - born)");
  nlohmann::json json = to_json(table);
  const JsonDocument document{"a.mfl", "a release", "Copy it again."};
  EXPECT_EQ(read_table(JsonFields(json, document)), table);
  json["columns"][3]["hi"] = 121.0;
  EXPECT_THROW((void)read_table(JsonFields(json, document)), ProtocolError);
}

TEST(DateDifferences, YearsAreThoseThatAreCompleted) {
  const Table table = parsed(dates("", kEnd, derived("years(admitted - born)")));
  const auto years = [&](const char* later, const char* earlier) {
    return derived_number(table, table.columns[3], *parse_number(ColumnType::kDate, later),
                          *parse_number(ColumnType::kDate, earlier));
  };
  EXPECT_EQ(years("2020-03-01", "2000-03-01"), 20);
  EXPECT_EQ(years("2020-02-29", "2000-03-01"), 19);
  EXPECT_EQ(years("2021-02-28", "2000-02-29"), 20);
  EXPECT_EQ(years("2021-03-01", "2000-02-29"), 21);
  EXPECT_EQ(years("2000-02-29", "2000-03-01"), -1);
  EXPECT_TRUE(std::isnan(derived_number(table, table.columns[3], 0.0, std::nan(""))));
  EXPECT_GT(derived_number(table, table.columns[3], 1e300, -1e300), 10000) << "whatever a file holds";
}

TEST(DateDifferences, ADerivationNamesTwoColumns) {
  Table table;
  for (const char* name : {"a-b", "c", "b - c"}) table.columns.emplace_back().name = name;
  const auto of = [&](const char* text) -> std::vector<std::size_t> {
    const auto out = parse_derivation(text, table);
    if (!out) return {};
    return {out->later, out->earlier};
  };
  using Two = std::vector<std::size_t>;
  EXPECT_EQ(of("days(a-b - c)"), (Two{0, 1}));
  EXPECT_EQ(of(" years(c-a-b) "), (Two{1, 0}));
  EXPECT_EQ(of("days(c - b - c)"), (Two{1, 2}));
  for (const char* none :
       {"", "days", "days(", "days()", "days(c)", "days(c - d)", "hours(c - a-b)", "c - a-b"})
    EXPECT_EQ(of(none), Two()) << none;
}

TEST(DateDifferences, WhatCannotBeDerivedIsRefused) {
  const auto refused = [](const std::string& toml, const std::string& why) {
    muffle::test::expect_error(ExitCode::kConfig, {why}, [&] { (void)parsed(toml); });
  };
  refused(dates("", kEnd, derived("days(discharged - nobody)")), "derive needs");
  refused(dates("", kEnd, derived("days(discharged - admitted)", "type = \"integer\"\nlo = 0\n")),
          "'lo' says nothing");
  refused(dates("", kEnd, derived("days(discharged - admitted)", "type = \"date\"\n")), "only integers");
  refused(dates("", kEnd, derived("days(discharged - admitted)", "type = \"category\"\nvalues = [\"a\"]\n")),
          "'derive' is for numbers");
  refused(dates("", kEnd, derived("years(admitted - born)", "type = \"decimal\"\ndecimals = 1\n")),
          "years are whole");
  refused(dates("", kEnd + "missing = [\"\"]\n", derived("days(discharged - admitted)")),
          "then so may this one");
  refused(dates("", kEnd, derived("days(d - admitted)")), "must be a date");
  refused(dates("", kEnd,
                derived("days(discharged - admitted)") +
                    "[[constraints]]\nkind = \"compare\"\nleft = \"d\"\nop = \">\"\nvalue = 3\n"),
          "follows from others");
}

// What a category gives, as sub_grade gives grade.
std::string grades(const std::string& grade, const std::string& sub = "") {
  return "[[columns]]\nname = \"grade\"\ntype = \"category\"\nvalues = [\"A\", \"B\"]\n" + grade +
         "[[columns]]\nname = \"sub\"\ntype = \"category\"\nvalues = [\"A1\", \"B1\", \"A2\"]\n" + sub;
}
const std::string kBySub = "determined_by = \"sub\"\nfrom = { A = [\"A1\", \"A2\"], B = [\"B1\"] }\n";

TEST(Determination, IsNoNumberOfARecordAndFollowsFromOne) {
  const Table table = parsed(grades(kBySub + "missing = [\"\"]\n", "missing = [\"-\"]\n"));
  EXPECT_EQ(table.columns[0].determined, (Determination{1, {0, 1, 0}}));
  EXPECT_EQ(table.features(), std::vector<std::size_t>{1});
  const RowNumbers rows(table);
  const auto code = [&](std::uint32_t of) { return rows.number(0, std::vector{position({of, 0.5f}, 4)}); };
  EXPECT_EQ(code(0), 0);
  EXPECT_EQ(code(1), 1);
  EXPECT_EQ(code(2), 0);
  EXPECT_TRUE(std::isnan(code(3)));
  nlohmann::json json = to_json(table);
  const JsonDocument document{"a.mfl", "a release", "Copy it again."};
  EXPECT_EQ(read_table(JsonFields(json, document)), table);
  for (const auto& codes : {nlohmann::json{0, 1}, nlohmann::json{0, 1, 2}}) {
    json["columns"][0]["determined"]["codes"] = codes;
    EXPECT_THROW((void)read_table(JsonFields(json, document)), ProtocolError) << codes;
  }
}

TEST(Determination, WhatDoesNotTellAllIsRefused) {
  const auto refused = [](const std::string& toml, const std::string& why) {
    muffle::test::expect_error(ExitCode::kConfig, {why}, [&] { (void)parsed(toml); });
  };
  const std::string by = "determined_by = \"sub\"\n";
  refused(grades(by), "needs from");
  refused(grades(by + "from = { A = [\"A1\", \"A2\"] }\n"), "does not say what \"B1\" gives");
  refused(grades(by + "from = { A = [\"A1\", \"A2\"], B = [\"B1\", \"A1\"] }\n"), "\"A1\" twice");
  refused(grades(by + "from = { A = [\"A1\", \"A2\"], B = [\"B1\", \"C\"] }\n"),
          "which the other column lacks");
  refused(grades(by + "from = { A = [\"A1\", \"A2\"], C = [\"B1\"] }\n"), "not among its values");
  refused(grades("from = { A = [\"A1\"] }\n"), "needs 'determined_by'");
  refused(grades("determined_by = \"other\"\nfrom = {}\n"), "no column 'other'");
  refused(grades("determined_by = \"grade\"\nfrom = { A = [\"A\"], B = [\"B\"] }\n"),
          "categories that are released");
  refused(grades(kBySub, "missing = [\"\"]\n"), "then so may this one");
  refused(grades(kBySub + "role = \"label\"\n"), "without a role");
  refused(grades(kBySub) +
              "[[constraints]]\nkind = \"implies\"\nif = { column = \"grade\", is = [\"A\"] }\n"
              "then = { column = \"sub\", is = [\"A1\", \"A2\"] }\n",
          "follows from others");
}

}  // namespace
}  // namespace muffle::schema
