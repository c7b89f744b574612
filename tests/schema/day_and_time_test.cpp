#include "muffle/schema/day_and_time.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "muffle/schema/date_differences.hpp"
#include "muffle/schema/table_toml.hpp"
#include "support/expect_error.hpp"

namespace muffle::schema {
namespace {

using muffle::test::expect_error;
using testing::HasSubstr;

constexpr double kMarch = 19052;  // 2022-03-01, in days

std::string an_entry(const std::string& name, const std::string& type, const std::string& keys) {
  return fmt::format("[[columns]]\nname = \"{}\"\ntype = \"{}\"\n{}\n", name, type, keys);
}
const std::string kBounds = "lo = \"2022-03-01 06:30\"\nhi = \"2022-12-31 18:00\"\nstep = 1800\n";
const std::string kWard = an_entry("ward", "category", "values = [\"a\", \"b\"]");
std::string seen(const std::string& keys = "") {
  return an_entry("seen", "datetime", kBounds + keys) + kWard;
}
Table table_of(const std::string& toml) { return parse_table_toml(toml, "s.toml"); }
Table table_again(const nlohmann::json& json) {
  const JsonDocument document{"a.mfl", "a release", "Copy it again."};
  return read_table(JsonFields(json, document));
}

TEST(DayAndTime, ADatetimeIsADayAndATimeBehindTheLastColumn) {
  const Table table =
      table_of(seen("format = \"%d.%m.%Y %H:%M\"\nmissing = [\"\", \"NA\"]\nunit = \"local\""));
  ASSERT_EQ(table.columns.size(), 3u);
  EXPECT_EQ(table.in_files(), 2u);
  const Column &day = table.columns[0], &time = table.columns[2];
  EXPECT_TRUE(day.is_day());
  EXPECT_EQ(table.time_of_day(0), 2u);
  EXPECT_EQ(table.time_of_day(1), std::nullopt);
  EXPECT_EQ(day.name, "seen");
  EXPECT_EQ(day.lo, kMarch * kSecondsADay);
  EXPECT_EQ(day.hi, (kMarch + 305) * kSecondsADay);
  EXPECT_EQ(day.step, kSecondsADay);
  EXPECT_EQ(day.bins(), 256u);
  EXPECT_EQ(day.dates, (DateBounds{kMarch * kSecondsADay + 23400, (kMarch + 305) * kSecondsADay + 64800}));
  EXPECT_EQ(time.name, "seen (time of day)");
  EXPECT_EQ(time.type, ColumnType::kTime);
  EXPECT_EQ(time.time_of, 0u);
  EXPECT_EQ(time.lo, 0);
  EXPECT_EQ(time.hi, 84600);
  EXPECT_EQ(time.bins(), 48u);
  EXPECT_TRUE(day.learned && time.learned && day.missing && time.missing);
  EXPECT_EQ(table.features(), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(table_again(to_json(table)), table);
  EXPECT_THAT(differences(table_of(seen()), table_of(seen("time_of_day = false"))),
              HasSubstr("column 'seen': bounds, step, bins, time of day"));
  EXPECT_NE(table_hash(table_of(seen())), table_hash(table_of(seen("time_of_day = false"))));
}

TEST(DayAndTime, AGridThatIsNotOfWholeHoursIsKept) {
  const std::string odd = "lo = \"2022-03-01 06:37\"\nhi = \"2022-12-31 06:37\"\nstep = 3600\n";
  const Table table = table_of(an_entry("seen", "datetime", odd));
  EXPECT_EQ(table.columns[1].lo, 37 * 60);
  EXPECT_EQ(table.columns[1].hi, (23 * 60 + 37) * 60);
  const Table minutes = table_of(
      an_entry("seen", "datetime", "lo = \"2022-03-01 00:00\"\nhi = \"2022-12-31 23:59\"\nstep = 60"));
  EXPECT_EQ(minutes.columns[1].bins(), 288u) << "of five minutes";
  EXPECT_EQ(minutes.columns[1].edges[12 * 9], 9 * 3600) << "whole hours begin cells";
  const Table thousandths = table_of(an_entry("seen", "datetime",
                                              "format = \"%Y-%m-%d %H:%M:%S.%3f\"\nlo = \"2022-03-01 "
                                              "00:00:00.25\"\nhi = \"2022-03-04 23:59:59.999\""));
  EXPECT_EQ(thousandths.columns[1].lo, 0.0);
  EXPECT_EQ(thousandths.columns[1].hi, 86399.999);
  EXPECT_EQ(thousandths.columns[1].decimals, 3);
}

TEST(DayAndTime, SomeDatetimesStayOneNumber) {
  const auto compared = [](const std::string& right) {
    return "[[constraints]]\nkind = \"compare\"\nleft = \"seen\"\nop = \"=\"\n" + right + "\n";
  };
  const std::string other = an_entry("other", "datetime", kBounds);
  const std::string day = an_entry("day", "date", "lo = 2022-03-01\nhi = 2022-12-31\n");
  for (const auto& [toml, why] : {
           std::pair{seen("bins = 8"), "by hand"},
           {seen("spacing = \"equal\""), "by hand"},
           {an_entry("seen", "date", "lo = 2022-03-01\nhi = 2022-12-31\n"), "no datetime"},
           {an_entry("seen", "datetime", "lo = \"2022-03-01 06:30\"\nhi = \"2022-03-01 18:00\"\nstep = 1800"),
            "within one day"},
           {an_entry("seen", "datetime",
                     "lo = \"2022-03-01 00:00\"\nhi = \"2022-03-08 00:00\"\nstep = 86400"),
            "no parts of a day"},
           {an_entry("seen", "datetime",
                     "lo = \"2022-03-01 00:00\"\nhi = \"2022-03-01 14:00\"\nstep = 25200"),
            "no parts of a day"},
           {seen() + compared("value = \"2022-03-01 06:30\""), "by the second"},
           {seen() + other + compared("right = \"other\""), "by the second"},
       }) {
    const Table table = table_of(toml);
    EXPECT_FALSE(table.columns[0].is_day()) << toml;
    EXPECT_THAT(why_one_number(table, 0), HasSubstr(why)) << toml;
  }
  const Table since =
      table_of(an_entry("seen", "datetime", "since = \"other\"\nlo = 0\nhi = 3\nstep = 1800") + other);
  EXPECT_FALSE(since.columns[0].is_day()) << "its days count since the other one";
  EXPECT_TRUE(since.columns[1].is_day()) << "the other one's law is its own";
  EXPECT_EQ(table_of(seen("time_of_day = false")).columns.size(), 2u);
  EXPECT_TRUE(table_of(seen("time_of_day = true")).columns[0].is_day());
  EXPECT_TRUE(table_of(seen() + day + compared("right = \"day\"")).columns[0].is_day()) << "by the day";
}

TEST(DayAndTime, WhatIsAskedForAndCannotBeIsRefused) {
  expect_error(ExitCode::kConfig,
               {"column 'seen': it has no time of day of its own: its bins are written by hand"},
               [] { (void)table_of(seen("time_of_day = true\nbins = 8")); });
  expect_error(ExitCode::kConfig, {"time_of_day needs true or false"},
               [] { (void)table_of(seen("time_of_day = \"no\"")); });
  expect_error(ExitCode::kConfig, {"'time_of_day' is for numbers"},
               [] { (void)table_of(an_entry("a", "category", "values = [\"x\"]\ntime_of_day = true")); });
  expect_error(
      ExitCode::kConfig,
      {"'seen (time of day)' has the name that a time of day needs: rename it, or set time_of_day = false"},
      [] { (void)table_of(seen() + an_entry("seen (time of day)", "integer", "lo = 0\nhi = 1")); });
}

TEST(DayAndTime, WhatIsWrongAboutADatetimeIsSaidOfIt) {
  for (const auto& [keys, what] : {
           std::pair{"lo = \"2022-03-01 06:30\"\nhi = \"2022-12-31 18:10\"\nstep = 1800",
                     "column 'seen': hi must be lo and a whole number of steps"},
           {"format = \"%d.%m.%Y %H:%M\"\nlo = \"2022-03-01 06:30\"\nhi = \"2022-12-31 18:00\"\nstep = 1",
            "column 'seen': its format cannot write a step of 1"},
           {"lo = \"2022-03-01 06:30\"\nhi = \"2022-12-31 18:00\"\nstep = 0.5",
            "column 'seen': step must be a whole number"},
       }) {
    const std::string entry = an_entry("seen", "datetime", keys);
    expect_error(ExitCode::kConfig, {what}, [&] { (void)table_of(entry); });
  }
}

TEST(DayAndTime, ImplicationsOfAMissingDatetimeStayWhatTheyAre) {
  const Table table = table_of(seen("missing = [\"\"]") +
                               "[[constraints]]\nkind = \"implies\"\nif = { column = \"ward\", is = [\"b\"] "
                               "}\nthen = { column = \"seen\", is = [\"\"] }\n");
  EXPECT_EQ(table.constraints[0].then, std::vector{table.columns[0].missing_code()});
}

/// All datetimes of the grid of three days, there and back.
TEST(DayAndTime, BothTogetherAreTheDatetime) {
  const Table table = table_of(
      an_entry("seen", "datetime",
               "lo = \"2022-03-01 06:37\"\nhi = \"2022-03-03 18:37\"\nstep = 720\nmissing = [\"\"]"));
  const Column whole = as_in_files(table, 0);
  EXPECT_EQ(whole.step, 720);
  const ColumnText day(table.columns[0]), time(table.columns[1]), text(whole);
  const RowNumbers rows(table);
  EXPECT_TRUE(rows.follows(0));
  const Grid grid(whole);
  EXPECT_EQ(grid.count(), 301u);
  for (std::uint64_t i = 0; i < grid.count(); ++i) {
    const DayAndTime both = day_and_time(grid.value(i));
    const float record[] = {position(*day.read_difference(both.day).cell, table.columns[0].codes()),
                            position(*time.read_difference(both.time).cell, table.columns[1].codes())};
    EXPECT_EQ(rows.number(0, record), grid.value(i));
  }
  const auto at = [&](Cell one, Cell other) {
    const float record[] = {position(one, table.columns[0].codes()),
                            position(other, table.columns[1].codes())};
    return rows.number(0, record);
  };
  EXPECT_EQ(at({0, 0.5f}, {0, 0.0f}), whole.lo) << "before the first datetime";
  EXPECT_EQ(at({2, 0.5f}, {119, 0.9f}), whole.hi) << "behind the last";
  EXPECT_TRUE(std::isnan(at({3, 0.5f}, {5, 0.5f}))) << "the day tells whether it is missing";
  EXPECT_EQ(at({1, 0.5f}, {120, 0.5f}), (kMarch + 1) * kSecondsADay + table.columns[1].lo + 60 * 720);
}

TEST(DayAndTime, WhatFollowsAndCountsSinceItIsOfTheWholeDatetime) {
  const std::string more =
      an_entry("left", "datetime", "since = \"seen\"\nlo = 0\nhi = 2\nstep = 1800\ntime_of_day = false") +
      an_entry("days", "decimal", "decimals = 3\nderive = \"days(seen - born)\"") +
      an_entry("born", "date", "lo = 2000-01-01\nhi = 2022-12-31");
  const Table one = table_of(seen("time_of_day = false") + more), two = table_of(seen() + more);
  EXPECT_EQ(derived_bounds(one, one.columns[3]), derived_bounds(two, two.columns[3]));
  const RowNumbers rows(two);
  const auto half = [&](std::size_t j, std::uint32_t code) {
    return position({code, 0.5f}, two.columns[j].codes());
  };
  // seen, ward, left, born, and the time of seen.
  const ColumnText left(two.columns[2]);
  const float record[] = {half(0, 9), half(1, 0),
                          position(*left.read_difference(45000).cell, two.columns[2].codes()), half(4, 0),
                          half(5, 30)};
  const double datetime = rows.number(0, record);
  EXPECT_EQ(day_and_time(datetime).time, 30 * 1800);
  EXPECT_EQ(rows.number(2, record), datetime + 45000);
  EXPECT_NEAR(rows.number(3, record), datetime / kSecondsADay - rows.number(4, record), 6e-4);
}

TEST(DayAndTime, OtherColumnsAreNoTimesOfDay) {
  const nlohmann::json good = to_json(
      table_of(seen("missing = [\"\"]") + an_entry("date", "date", "lo = 2022-03-01\nhi = 2022-12-31\n")));
  const std::size_t time = 3;
  const auto refused = [&](const auto& change) {
    nlohmann::json json = good;
    change(json["columns"]);
    EXPECT_THROW(table_again(json), ProtocolError) << json["columns"].dump();
  };
  EXPECT_NO_THROW(table_again(good));
  refused([](auto& c) { c[time]["time_of"] = 1u; });
  refused([](auto& c) { c[time]["time_of"] = 3u; });
  refused([](auto& c) { c[time].erase("time_of"); });
  refused([](auto& c) { c.erase(time); });
  refused([](auto& c) { std::swap(c[2], c[time]); });
  refused([](auto& c) { c.push_back(c[time]), c[4]["name"] = "another"; });
  refused([](auto& c) { c[time]["name"] = "another"; });
  refused([](auto& c) { c[time]["missing"] = false; });
  refused([](auto& c) { c[time]["spellings"] = {"NA"}; });
  refused([](auto& c) { c[time]["type"] = "integer"; });
  refused([](auto& c) { c[time]["hi"] = 43200; });
  refused([](auto& c) { c[0]["dates"][0] = kMarch * kSecondsADay - 1800; });
  refused([](auto& c) { c[0]["dates"][1] = (kMarch + 306) * kSecondsADay; });
  refused([](auto& c) { c[0].erase("dates"); });
  refused([](auto& c) { c[2]["dates"] = {19052, 19357}; });
  nlohmann::json ruled = good;
  ruled["constraints"] = {
      {{"kind", "compare"}, {"columns", {0u}}, {"op", "<="}, {"value", (kMarch + 100) * kSecondsADay}}};
  EXPECT_THROW(table_again(ruled), ProtocolError) << "by the second";
  ruled["constraints"] = {{{"kind", "compare"}, {"columns", {0u, 2u}}, {"op", "<="}}};
  EXPECT_NO_THROW(table_again(ruled)) << "by the day";
  ruled["constraints"] = {{{"kind", "compare"}, {"columns", {3u}}, {"op", "<="}, {"value", 3600}}};
  EXPECT_THROW(table_again(ruled), ProtocolError) << "its time";
}

}  // namespace
}  // namespace muffle::schema
