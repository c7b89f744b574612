#include "data/quick_fields.hpp"

#include "data/table_fixture.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/schema/table_text.hpp"
#include "support/mutate.hpp"

namespace muffle::data::test {
namespace {

/// Grids that begin anywhere, have wide steps, are larger than any table, or are of dates; categories of
/// every length; spellings that are numbers.
std::vector<schema::Column> columns() {
  std::vector<schema::Column> all{number("a", 0, 99, 1, 0, {0, 20, 100}),
                                  number("b", -2.5, 2.5, 0.1, 1, {-2.5, 0, 2.6}),
                                  number("c", -7, 993, 5, 0, {-7, 100, 998}),
                                  number("d", 0, 5000, 0.01, 2, {0, 1, 10, 5000.01}),
                                  number("e", 0.05, 1, 0.05, 2, {0.05, 0.5, 1.05}),
                                  number("f", 0, 1, 0.3, 1, {0, 0.5, 1.2}),
                                  number("g", 0, 1e12, 1, 0, {0, 1e6, 1e12}),
                                  number("h", 0.5, 99.5, 1, 0, {0.5, 20.5, 100}),  // not of its decimals
                                  category("i", {{"a", {"b", ""}},
                                                 {"seven77", {"eight888", "nine nine"}},
                                                 {"sixteen bytes ok", {"seventeen bytes, no"}},
                                                 {"\xC3\xA4", {" blank", "tab\t"}}})};
  all[0].missing = true;
  all[0].spellings = {"?", "-1", "98", "", "not available, sorry"};
  for (const char* day : {"day", "moment"}) {
    schema::Column date = number(day, -800, 30000, 1, 0, {-800, 0, 30001});
    date.type = day == std::string("day") ? schema::ColumnType::kDate : schema::ColumnType::kDatetime;
    all.push_back(date);
  }
  return all;
}

/// @returns whether it was quick
bool agrees(const schema::ColumnText& text, const QuickFields& quick, const std::string& field) {
  const float position = quick.position(field);
  const std::int64_t code = quick.code(field);
  const schema::FieldReading slow = text.read(field);
  const bool fits = slow.misfit == schema::Misfit::kNone && slow.cell.has_value();
  if (position >= 0) {
    EXPECT_TRUE(fits) << text.column().name << " '" << field << "'";
    if (fits) {
      EXPECT_EQ(position, schema::position(*slow.cell, text.column().codes()))
          << text.column().name << " '" << field << "'";
    }
  }
  if (code >= 0) {
    EXPECT_TRUE(fits && slow.cell->code == code) << text.column().name << " '" << field << "'";
  }
  return position >= 0;
}

TEST(QuickFields, AreOfOneMindWithColumnText) {
  const CounterStream random(3, Stream::kTest);
  for (const schema::Column& column : columns()) {
    const schema::ColumnText text(column);
    const QuickFields quick(text);
    muffle::test::Mutator mutate(
        9, {"-", "+", ".", "0", "e", " ", "00", "\xC3\xA4", "1969-02-29", "2000-02-29"});
    std::size_t quick_ones = 0, all = 0;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      std::string field;
      const auto code = static_cast<std::uint32_t>(random.below(2 * i, column.codes()));
      text.write({code, static_cast<float>(random.uniform(2 * i + 1))}, field);
      quick_ones += agrees(text, quick, field) ? 1 : 0;
      ++all;
      agrees(text, quick, mutate(field));
    }
    if (column.name != "h" && column.name != "moment") {
      EXPECT_GT(quick_ones, all / 2) << column.name;
    }
    for (const schema::Category& value : column.values) {
      agrees(text, quick, value.name);
      for (const std::string& alias : value.aliases) agrees(text, quick, alias);
    }
    for (const std::string& spelling : column.spellings) agrees(text, quick, spelling);
    for (const char* odd : {"",
                            "-",
                            ".",
                            "1.",
                            ".5",
                            "-0",
                            "-0.0",
                            "+5",
                            "1e2",
                            "inf",
                            "nan",
                            "0x10",
                            "00098",
                            "98",
                            "98.0",
                            "999999999999999",
                            "9999999999999999",
                            "-999999999999999",
                            "1.000000000000001",
                            "1999-2-03",
                            "0000-01-01",
                            "2000-13-01",
                            "2000-00-10",
                            "2000-04-31",
                            "1900-02-29",
                            "2000-02-29",
                            "-999-01-01",
                            "+999-01-01",
                            "1970-01-01"})
      agrees(text, quick, odd);
  }
}

TEST(QuickFields, KnowEveryDateOfFourCenturies) {
  schema::Column column = number("day", -135140, 47481, 1, 0, {-135140, 47482});  // 1600 to 2099
  column.type = schema::ColumnType::kDate;
  const schema::ColumnText text(column);
  const QuickFields quick(text);
  for (double day = column.lo; day <= column.hi; day += 1) {
    std::string field;
    schema::write_number(column, day, field);
    ASSERT_TRUE(agrees(text, quick, field)) << field;
  }
}

}  // namespace
}  // namespace muffle::data::test
