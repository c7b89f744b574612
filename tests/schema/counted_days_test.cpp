// Datetimes that count days since another, and have a time of day of their own.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "muffle/schema/date_differences.hpp"
#include "muffle/schema/day_and_time.hpp"
#include "muffle/schema/table_toml.hpp"
#include "support/expect_error.hpp"

namespace muffle::schema {
namespace {

using muffle::test::expect_error;
using testing::HasSubstr;

constexpr double kFirstOfMarch = 19052 * kSecondsADay;  // 2022-03-01

std::string a_datetime(const std::string& name, const std::string& keys) {
  return fmt::format("[[columns]]\nname = \"{}\"\ntype = \"datetime\"\n{}\n", name, keys);
}
std::string came(int step, const std::string& keys = "") {
  return a_datetime("came", fmt::format("lo = \"2022-03-01 00:00\"\nhi = \"2022-03-03 {}\"\nstep = {}\n{}",
                                        step == 60 ? "23:59" : "20:00", step, keys));
}
std::string left(int step, const std::string& bounds, const std::string& keys = "") {
  return a_datetime("left", fmt::format("since = \"came\"\n{}\nstep = {}\n{}", bounds, step, keys));
}
/// The later one first, so that nothing hangs on the order.
std::string came_and_left(int step, const std::string& bounds, const std::string& keys = "") {
  return left(step, bounds, keys) + came(step);
}
const std::string kUpToAMonth = "lo = 0\nhi = 30";
const std::string kByRule =
    a_datetime("left", "lo = \"2022-03-01 16:00\"\nhi = \"2022-03-20 12:00\"\nstep = 14400") + came(14400) +
    "[[constraints]]\nkind = \"compare\"\nleft = \"came\"\nright = \"left\"\n";

Table stays_table(const std::string& toml) { return parse_table_toml(toml, "s.toml"); }
Table from_json(const nlohmann::json& json) {
  const JsonDocument document{"a.mfl", "a release", "Copy it again."};
  return read_table(JsonFields(json, document));
}

/// A record of such a table: "left", "came", and the times of day of both.
std::vector<float> stay_record(const Table& table, double came, double left) {
  const LaterBy by = later_by(left, came);
  const DayAndTime base = day_and_time(came);
  const double numbers[] = {by.apart, base.day, by.time, base.time};
  std::vector<float> out;
  for (std::size_t j = 0; j < 4; ++j) {
    const FieldReading reading = ColumnText(table.columns[j]).read_difference(numbers[j]);
    EXPECT_EQ(reading.misfit, Misfit::kNone) << table.columns[j].name << " " << numbers[j];
    out.push_back(position(*reading.cell, table.columns[j].codes()));
  }
  return out;
}

TEST(CountedDays, ADatetimeThatCountsSinceAnotherHasATimeOfItsOwn) {
  const Table table =
      stays_table(came_and_left(60, kUpToAMonth, "unit = \"local\"\nformat = \"%d.%m.%Y %H:%M\""));
  ASSERT_EQ(table.columns.size(), 4u);
  EXPECT_EQ(table.in_files(), 2u);
  EXPECT_EQ(table.features(), (std::vector<std::size_t>{0, 1, 2, 3}))
      << "a number of a record more, as every bound of a record's features counts it";
  const Column &days = table.columns[0], &time = table.columns[2];
  EXPECT_TRUE(days.counts_days() && days.has_time() && !days.is_day());
  EXPECT_EQ(days.apart, (DateBounds{0, 30 * kSecondsADay}));
  EXPECT_EQ(days.lo, 0);
  EXPECT_EQ(days.hi, 31 * kSecondsADay - 60);
  EXPECT_EQ(days.step, 60);
  EXPECT_EQ(table.time_of_day(0), 2u);
  EXPECT_EQ(time.name, "left (time of day)");
  EXPECT_EQ(time.type, ColumnType::kTime);
  EXPECT_EQ(time.bins(), 288u);
  EXPECT_FALSE(time.since || time.apart || time.dates);
  EXPECT_EQ(table.columns[3].time_of, 1u);
  EXPECT_TRUE(days.learned && time.learned);
  EXPECT_EQ(from_json(to_json(table)), table);
  const Table one = stays_table(came_and_left(60, kUpToAMonth, "time_of_day = false"));
  EXPECT_THAT(differences(stays_table(came_and_left(60, kUpToAMonth)), one),
              HasSubstr("column 'left': bounds, bins, time of day"));
  const Column whole = as_in_files(table, 0);
  EXPECT_EQ(whole.hi, 30 * kSecondsADay);
  EXPECT_FALSE(whole.apart);
}

// What releases of before hold is what this says: a difference is one number unless the schema says
// otherwise.
TEST(CountedDays, ASchemaWithoutThemIsReadAsItWas) {
  const Table one = stays_table(came_and_left(60, kUpToAMonth, "time_of_day = false"));
  const nlohmann::json json = to_json(one);
  EXPECT_FALSE(json["columns"][0].contains("apart"));
  EXPECT_EQ(from_json(json), one);
  EXPECT_FALSE(one.columns[0].has_time());
  EXPECT_EQ(one.columns.size(), 3u) << "the other one has its own time";
  const RowNumbers rows(one);
  const std::vector<float> record{
      position(*ColumnText(one.columns[0]).read_difference(86400 + 60).cell, one.columns[0].codes()),
      position({0, 0.5f}, one.columns[1].codes()), position({0, 0.01f}, one.columns[2].codes())};
  EXPECT_EQ(rows.number(0, record), kFirstOfMarch + 86400 + 60);
  EXPECT_EQ(ColumnText(one.columns[0]).number(Cell{static_cast<std::uint32_t>(one.columns[0].bins() - 1), 0}),
            30 * kSecondsADay);
}

TEST(CountedDays, CellsLieWithinTheDayOrAreWholeDays) {
  for (const auto& [step, hi, cells_of_days] :
       {std::tuple{60, 30, 30u}, {60, 200, 200u}, {14400, 255, 255u}}) {
    const std::vector<double> edges =
        stays_table(came_and_left(step, fmt::format("lo = 0\nhi = {}", hi))).columns[0].edges;
    const auto day = std::ranges::find(edges, kSecondsADay);
    ASSERT_NE(day, edges.end());
    EXPECT_EQ(edges[0], 0);
    EXPECT_EQ(edges[1], step) << "equality is a cell of its own";
    EXPECT_EQ(edges.end() - day - 1, cells_of_days);
    for (auto edge = day; edge != edges.end(); ++edge) EXPECT_EQ(std::fmod(*edge, kSecondsADay), 0);
    EXPECT_EQ(edges.back(), (hi + 1) * kSecondsADay);
  }
  const std::vector<double> years = stays_table(came_and_left(60, "lo = 0\nhi = 3000")).columns[0].edges;
  EXPECT_LT(years.size(), 350u);
  EXPECT_EQ(std::ranges::count(years, 9 * kSecondsADay), 1) << "short ones are told apart";
  EXPECT_EQ(stays_table(came_and_left(14400, kUpToAMonth)).columns[0].edges[5], 5 * 14400.0);
}

/// Every pair of datetimes, there and back.
TEST(CountedDays, BothColumnsAndTheOtherDatetimeAreTheDatetime) {
  constexpr double kStep = 14400;
  const Table table = stays_table(came_and_left(14400, "lo = 0\nhi = 3.5"));
  const RowNumbers rows(table);
  EXPECT_TRUE(rows.follows(0));
  for (double a = 0; a < 3 * kSecondsADay; a += kStep) {
    for (double apart = 0; apart <= 3.5 * kSecondsADay; apart += kStep) {
      const double came = kFirstOfMarch + a;
      const std::vector<float> record = stay_record(table, came, came + apart);
      ASSERT_EQ(rows.number(1, record), came);
      ASSERT_EQ(rows.number(0, record), came + apart) << a << " " << apart;
      // The column's own number: days, but for datetimes of one day.
      const double days = std::floor((a + apart) / kSecondsADay) - std::floor(a / kSecondsADay);
      const double number = ColumnText(table.columns[0]).number(cell_at(record[0], table.columns[0].codes()));
      ASSERT_EQ(number, days == 0 ? apart : days * kSecondsADay) << a << " " << apart;
    }
  }
}

// A float32 in a cell of many days tells them apart.
TEST(CountedDays, DaysOfManyYearsComeBack) {
  const Table table = stays_table(came_and_left(60, "lo = 0\nhi = 12000"));
  const RowNumbers rows(table);
  const double came = kFirstOfMarch + 22 * 3600;
  for (double days = 0; days < 12000; ++days) {
    const double left = came + days * kSecondsADay + 60;
    ASSERT_EQ(rows.number(0, stay_record(table, came, left)), left) << days;
  }
}

/// Whatever a model draws.
TEST(CountedDays, NoneIsBeforeTheOtherNorOutsideTheBounds) {
  for (const auto& [toml, lo, hi, last] : {
           std::tuple{came_and_left(14400, "lo = 0\nhi = 3.5"), 0.0, 3.5, 1e9},
           {came_and_left(14400, "lo = 0.5\nhi = 2"), 0.5, 2.0, 1e9},
           {came_and_left(60, "lo = 0\nhi = 1"), 0.0, 1.0, 1e9},
           {kByRule + "op = \"<=\"", 0.0, 19.5, 19.5},
           {kByRule + "op = \"<\"", 14400 / kSecondsADay, 19.5, 19.5},
       }) {
    const Table table = stays_table(toml);
    ASSERT_TRUE(table.columns[0].counts_days()) << toml << why_one_number(table, 0);
    const RowNumbers rows(table);
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
    for (int i = 0; i < 20000; ++i) {
      const std::vector<float> record{uniform(random), uniform(random), uniform(random), uniform(random)};
      const double came = rows.number(1, record), left = rows.number(0, record);
      ASSERT_GE(left - came, lo * kSecondsADay) << toml;
      ASSERT_LE(left - came, hi * kSecondsADay) << toml;
      ASSERT_LE(left, kFirstOfMarch + last * kSecondsADay) << toml;
      ASSERT_GE(left, kFirstOfMarch + (table.columns[0].dates ? 16 * 3600 : 0)) << toml;
    }
  }
}

TEST(CountedDays, TheTimeIsTheColumnsOwnFromTheNextDayOn) {
  const Table table = stays_table(came_and_left(60, kUpToAMonth));
  const RowNumbers rows(table);
  const double evening = kFirstOfMarch + 22 * 3600;
  std::vector<float> record = stay_record(table, evening, evening + 600);
  EXPECT_EQ(rows.number(0, record), evening + 600);
  // On the day of the other one the time between both counts, unless it leads past midnight.
  record = stay_record(table, kFirstOfMarch + 3 * 3600, kFirstOfMarch + 8 * 3600);
  const float five_hours = record[0], eight = record[2];
  record = stay_record(table, kFirstOfMarch + 12 * 3600, kFirstOfMarch + 13 * 3600);
  record[0] = five_hours;
  EXPECT_EQ(rows.number(0, record), kFirstOfMarch + 17 * 3600);
  record = stay_record(table, evening, evening + 600);
  record[0] = five_hours;
  EXPECT_EQ(rows.number(0, record), evening + 600) << "the time of day that was drawn";
  record[2] = eight;
  EXPECT_EQ(rows.number(0, record), evening + 25 * 60) << "5 of 24 parts of two hours";
  record[0] = stay_record(table, evening, evening)[0];
  EXPECT_EQ(rows.number(0, record), evening);
  for (const double time : {0.0, 60.0, 9 * 3600.0, 23 * 3600.0}) {
    for (const double days : {1.0, 2.0, 29.0}) {
      const double date = kFirstOfMarch + days * kSecondsADay + time;
      EXPECT_EQ(rows.number(0, stay_record(table, evening, date)), date)
          << "before the other one's time, too";
    }
  }
}

TEST(CountedDays, WhereEitherIsMissingSoIsIt) {
  const Table table =
      stays_table(left(14400, kUpToAMonth, "missing = [\"\"]") + came(14400, "missing = [\"\"]"));
  const RowNumbers rows(table);
  const std::vector<float> there =
      stay_record(table, kFirstOfMarch, kFirstOfMarch + 2 * kSecondsADay + 14400);
  const auto without = [&](std::size_t j) {
    std::vector<float> record = there;
    record[j] = position({table.columns[j].missing_code(), 0.4f}, table.columns[j].codes());
    return rows.number(0, record);
  };
  EXPECT_FALSE(std::isnan(rows.number(0, there)));
  EXPECT_TRUE(std::isnan(without(0)));
  EXPECT_TRUE(std::isnan(without(1)));
  EXPECT_EQ(without(2), kFirstOfMarch + 2 * kSecondsADay + 2 * 14400)
      << "the days tell: some time of that day";
}

TEST(CountedDays, SomeDifferencesStayOneNumber) {
  const auto why = [](const std::string& toml) {
    const Table table = stays_table(toml);
    EXPECT_FALSE(table.columns[0].has_time()) << toml;
    return why_one_number(table, 0);
  };
  EXPECT_THAT(why(came_and_left(60, kUpToAMonth, "bins = [0, 1, 7, 31]")), HasSubstr("by hand"));
  EXPECT_THAT(why(came_and_left(60, "lo = -0.5\nhi = 30")), HasSubstr("may be earlier"));
  EXPECT_THAT(why(came_and_left(60, "lo = 1\nhi = 30")), HasSubstr("a day later at least"));
  EXPECT_THAT(why(came_and_left(60, "lo = 0\nhi = 0.9")), HasSubstr("within one day"));
  EXPECT_THAT(why(left(3600, kUpToAMonth) + came(60)), HasSubstr("not those of the date"));
  EXPECT_THAT(why(left(86400, kUpToAMonth) + came(14400)), HasSubstr("no parts of a day"));
  EXPECT_TRUE(stays_table(left(60, kUpToAMonth) + came(14400)).columns[0].counts_days());
  EXPECT_TRUE(stays_table(left(60, kUpToAMonth) + came(60, "bins = 8")).columns[0].counts_days());
  EXPECT_TRUE(stays_table(came_and_left(60, kUpToAMonth, "time_of_day = true")).columns[0].counts_days());
  expect_error(ExitCode::kConfig, {"column 'left': it has no time of day of its own: it may be earlier"},
               [] { (void)stays_table(came_and_left(60, "lo = -1\nhi = 30", "time_of_day = true")); });
  expect_error(ExitCode::kConfig, {"column 'left': lo and hi must be finite, lo not above hi"},
               [] { (void)stays_table(came_and_left(60, "lo = 3\nhi = 2")); });
}

TEST(CountedDays, TheGridIsThatOfTheOtherDatetime) {
  const std::string odd = "lo = \"2022-03-01 06:37\"\nhi = \"2022-03-09 06:37\"\nstep = 3600\n";
  const Table table = stays_table(left(3600, kUpToAMonth) + a_datetime("came", odd));
  EXPECT_EQ(table.columns[2].lo, 37 * 60);
  const RowNumbers rows(table);
  const double came = kFirstOfMarch + 3 * kSecondsADay + 37 * 60;
  for (const double hours : {0, 3, 23, 24, 71}) {
    EXPECT_EQ(rows.number(0, stay_record(table, came, came + hours * 3600)), came + hours * 3600);
  }
}

TEST(CountedDays, WhatFollowsFromBothIsWhatItWas) {
  const std::string nights =
      "[[columns]]\nname = \"nights\"\ntype = \"integer\"\nderive = \"days(left - came)\"\n"
      "[[columns]]\nname = \"stay\"\ntype = \"decimal\"\ndecimals = 1\nderive = \"days(left - came)\"\n";
  for (const std::string& toml : {came_and_left(60, "lo = 0\nhi = 30.5"), kByRule + "op = \"<=\"\n"}) {
    const Table table = stays_table(toml + nights);
    std::string other = toml;
    other.insert(other.find("step ="), "time_of_day = false\n");
    const Table one = stays_table(other + nights);
    ASSERT_FALSE(one.columns[0].has_time());
    for (const std::size_t j : {2, 3})
      EXPECT_EQ(derived_bounds(table, table.columns[j]), derived_bounds(one, one.columns[j]));
  }
  const Table table = stays_table(came_and_left(60, kUpToAMonth) + nights);
  const RowNumbers rows(table);
  const double evening = kFirstOfMarch + 18 * 3600;
  const std::vector<float> record =
      stay_record(stays_table(came_and_left(60, kUpToAMonth)), evening, evening + 15 * 3600);
  EXPECT_EQ(rows.number(2, record), 1);
  EXPECT_EQ(rows.number(3, record), 0.6);
}

TEST(CountedDays, ImplicationsOfAMissingOneStayWhatTheyAre) {
  const Table table = stays_table(came_and_left(60, kUpToAMonth, "missing = [\"\"]") +
                                  "[[columns]]\nname = \"state\"\ntype = \"category\"\nvalues = [\"here\"]\n"
                                  "[[constraints]]\nkind = \"implies\"\nif = { column = \"state\", is = "
                                  "[\"here\"] }\nthen = { column = \"left\", is = [\"\"] }\n");
  EXPECT_EQ(table.constraints[0].then, std::vector{table.columns[0].missing_code()});
}

TEST(CountedDays, ASchemaThatContradictsItselfIsRefused) {
  const nlohmann::json good = to_json(stays_table(came_and_left(60, kUpToAMonth)));
  const auto refused = [&](const auto& change) {
    nlohmann::json json = good;
    change(json["columns"]);
    EXPECT_THROW(from_json(json), ProtocolError) << json["columns"].dump();
  };
  EXPECT_NO_THROW(from_json(good));
  refused([](auto& c) { c[0].erase("apart"); });
  refused([](auto& c) { c[0].erase("since"); });
  refused([](auto& c) { c[0]["apart"][0] = -60; });
  refused([](auto& c) { c[0]["apart"][1] = 31 * kSecondsADay + 60; });
  refused([](auto& c) { c[0]["apart"][1] = 29 * kSecondsADay; });
  refused([](auto& c) { c[0]["learned"] = false; });
  refused([](auto& c) { c[0]["hi"] = 30 * kSecondsADay; });
  refused([](auto& c) { c[0]["since"] = 40u; });
  refused([](auto& c) { c[1]["apart"] = {0, 30 * kSecondsADay}; });
  refused([](auto& c) { c[2]["apart"] = {0, 30 * kSecondsADay}; });
  refused([](auto& c) { c[2]["time_of"] = 1u; });
  refused([](auto& c) { c.erase(2); });
  refused([](auto& c) { c.erase(3); });
  refused([](auto& c) {  // a cell of the one day and of the next
    auto& edges = c[0]["edges"];
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (edges[i] == kSecondsADay) return edges.erase(i), void();
    }
  });
  refused([](auto& c) {
    for (auto& edge : c[0]["edges"]) {
      if (edge == 3 * kSecondsADay) edge = 3 * kSecondsADay + 60;
    }
  });
}

}  // namespace
}  // namespace muffle::schema
