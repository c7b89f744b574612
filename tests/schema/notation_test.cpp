// Notations: what is written is what is read, and nothing else is. Dates are held to Howard Hinnant's
// library.
#include "muffle/schema/notation.hpp"

#include <date/date.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "muffle/core/philox.hpp"
#include "muffle/schema/row_rules.hpp"
#include "muffle/schema/table_text.hpp"
#include "muffle/schema/table_toml.hpp"
#include "support/expect_error.hpp"

namespace muffle::schema {
namespace {

using ::testing::HasSubstr;

std::optional<double> read(ColumnType type, const char* format, const char* text, int first_year = 1970) {
  EXPECT_EQ(TimeFormat::problem(type, format), "") << format;
  return TimeFormat(type, format).parse(text, first_year);
}

TEST(TimeFormats, AgreeWithTheLibraryOfDates) {
  const CounterStream random(5, Stream::kTest);
  constexpr double kSpan = 100.0 * 366 * 86400;
  for (const char* format : {"%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p",
                             "%d-%b-%Y %H:%M:%S", "%B %d, %Y %H:%M:%S", "%Y%m%dT%H%M%SZ"}) {
    const TimeFormat ours(ColumnType::kDatetime, format);
    for (std::uint64_t i = 0; i < 500; ++i) {
      const auto value = static_cast<std::int64_t>(random.uniform(i) * kSpan - kSpan / 2);
      const date::sys_seconds time{std::chrono::seconds(value)};
      std::string written;
      ours.write(static_cast<double>(value), written);
      EXPECT_EQ(written, date::format(format, time));
      EXPECT_EQ(ours.parse(written, 1970), static_cast<double>(value)) << written;
      std::istringstream in(written);
      date::sys_seconds theirs;
      in >> date::parse(format, theirs);
      EXPECT_EQ(theirs, time) << written;
    }
  }
}

TEST(TimeFormats, ReadNothingElse) {
  constexpr auto kDate = ColumnType::kDate;
  const double day = *parse_number(kDate, "2024-03-01");
  EXPECT_EQ(read(kDate, "%d.%m.%Y", "01.03.2024"), day);
  EXPECT_EQ(read(kDate, "%d.%m.%Y", "1.3.2024"), day) << "without zeros too";
  EXPECT_EQ(read(kDate, "%-m/%-d/%Y", "03/01/2024"), day);
  EXPECT_EQ(read(kDate, "%d-%^b-%Y", "01-mar-2024"), day) << "in any letters";
  for (const char* text : {"1.3.24", "01.13.2024", "30.02.2024", "00.01.2024", "01.03.2024 ", "01.03.02024",
                           "01-03-2024", "1.3.2024x", "-1.3.2024", "+1.3.2024", "01.03. 2024", ""})
    EXPECT_FALSE(read(kDate, "%d.%m.%Y", text)) << text;
  EXPECT_FALSE(read(kDate, "%Y%m%d", "202431")) << "numbers that touch have all their digits";
  EXPECT_EQ(read(kDate, "%m/%d/%y", "3/1/24", 1950), day);
  EXPECT_EQ(read(kDate, "%m/%d/%y", "3/1/24", 1910), *parse_number(kDate, "1924-03-01"))
      << "the one from lo on";
  constexpr auto kTime = ColumnType::kTime;
  EXPECT_EQ(read(kTime, "%I:%M %p", "12:05 am"), 300);
  EXPECT_EQ(read(kTime, "%I:%M %p", "12:05 PM"), 43500);
  for (const char* text : {"13:05 PM", "0:05 AM", "1:60 AM", "1:05", "1:05 XM"})
    EXPECT_FALSE(read(kTime, "%I:%M %p", text)) << text;
  EXPECT_EQ(read(kTime, "%H:%M:%S.%3f", "00:00:01.25"), 1.25);
  EXPECT_EQ(read(kTime, "%H:%M:%S.%6f", "00:00:01"), 1.0) << "Python leaves a fraction of 0 out";
  EXPECT_FALSE(read(kTime, "%H:%M:%S.%6f", "00:00:01."));
}

TEST(TimeFormats, RefuseWhatSaysTooLittleOrTooMuch) {
  const auto problem = [](ColumnType type, const char* format) { return TimeFormat::problem(type, format); };
  EXPECT_THAT(problem(ColumnType::kDate, "%d.%q.%Y"), HasSubstr("does not know"));
  EXPECT_THAT(problem(ColumnType::kDate, "%d.%Y%"), HasSubstr("does not know"));
  EXPECT_THAT(problem(ColumnType::kDate, "%m/%Y"), HasSubstr("needs a year"));
  EXPECT_THAT(problem(ColumnType::kDate, "%d.%m.%Y %H"), HasSubstr("datetime"));
  EXPECT_THAT(problem(ColumnType::kDate, "%d.%m.%Y %y"), HasSubstr("twice"));
  EXPECT_THAT(problem(ColumnType::kDate, "%-d%m%Y"), HasSubstr("leading zero"));
  EXPECT_THAT(problem(ColumnType::kDatetime, "%d.%m.%Y"), HasSubstr("hour"));
  EXPECT_THAT(problem(ColumnType::kDatetime, "%d.%m.%Y %I:%M"), HasSubstr("AM or PM"));
  EXPECT_THAT(problem(ColumnType::kTime, "%H:%S"), HasSubstr("leaves out"));
  EXPECT_THAT(problem(ColumnType::kTime, "%Y %H"), HasSubstr("no year"));
}

TEST(Numbers, AreReadAndWrittenWithTheirMarks) {
  struct Case {
    Notation n;
    int decimals;
    double value;
    const char* text;
  };
  const auto marks = [](const char* decimal, const char* thousands, const char* prefix = "",
                        const char* suffix = "", const char* negative = "-1") {
    return Notation{"", decimal, thousands, prefix, suffix, negative, "", ""};
  };
  const Case cases[] = {{marks(",", "."), 2, 1234567.5, "1.234.567,50"},
                        {marks(",", ".", "", " €"), 2, -1234.56, "-1.234,56 €"},
                        {marks(".", ",", "$"), 2, 1234.5, "$1,234.50"},
                        {marks(".", ",", "$"), 2, -0.5, "-$0.50"},
                        {marks(".", ",", "$", "", "(1)"), 0, -1234, "($1,234)"},
                        {marks(".", "\u2019"), 0, 1234567, "1\u2019234\u2019567"},
                        {marks(",", "\u202F", "", "\u00A0%"), 1, 1234.5, "1\u202F234,5\u00A0%"},
                        {marks(".", "", "", "", "\u22121"), 1, -3.5, "\u22123.5"},
                        {marks(".", "", "", "", "1-"), 0, -3, "3-"},
                        {marks(".", ",", "$", "", "$-1"), 0, -1234, "$-1,234"},
                        {marks(".", ",", "$ ", "", "$ (1)"), 2, -1234.5, "$ (1,234.50)"},
                        {marks(".", "", "", "%", "(1)%"), 1, -8.5, "(8.5)%"},
                        {marks(".", "", "", "%", "(1)"), 1, -8.5, "(8.5%)"}};
  for (const Case& c : cases) {
    EXPECT_EQ(notation_problem(ColumnType::kDecimal, c.n), "");
    const NumberText text(ColumnType::kDecimal, c.n, c.decimals, 0);
    std::string written;
    text.write(c.value, written);
    EXPECT_EQ(written, c.text);
    EXPECT_EQ(text.parse(c.text), c.value) << c.text;
  }
  const NumberText thousands(ColumnType::kDecimal, marks(".", ","), 2, 0);
  for (const char* text : {"1,5", "1,23", "1,2345", "12,34,567", ",123", "1,,234", "1,234,", "1234,567",
                           "0,123", "", "-", ".", "1.2.3", "x", "1e3x"})
    EXPECT_FALSE(thousands.parse(text)) << text;
  EXPECT_EQ(thousands.parse("1234"), 1234) << "without marks too";
  const NumberText blanks(ColumnType::kDecimal, marks(",", " ", "", " €"), 2, 0);
  EXPECT_EQ(blanks.parse("1\u00A0234,5\u202F€"), 1234.5) << "blanks of any width";
  EXPECT_FALSE(blanks.parse("1 234,5")) << "the suffix is part of it";
  EXPECT_FALSE(NumberText(ColumnType::kDecimal, marks(",", ""), 2, 0).parse("1.5")) << "another mark";
}

TEST(Numbers, HaveBlanksOfAnyWidthAroundThem) {
  EXPECT_EQ(NumberText(ColumnType::kInteger, {}, 0, 0).parse("\u00A0688 "), 688);
  EXPECT_EQ(NumberText(ColumnType::kDate, {"%d.%m.%Y", ".", "", "", "", "-1", "", ""}, 0, 0)
                .parse("02.01.1970\u202F"),
            1);
  EXPECT_FALSE(NumberText(ColumnType::kInteger, {}, 0, 0).parse("\u00A0"));
}

TEST(Numbers, OfATimeAreRoundedOnceAndWithinTheDay) {
  Column time;
  time.type = ColumnType::kTime;
  time.decimals = 3;
  for (const auto& [value, text] :
       {std::pair(59.9999, "00:01:00.000"), {86399.9999, "23:59:59.999"}, {3661.25, "01:01:01.250"}}) {
    std::string written;
    write_number(time, value, written);
    EXPECT_EQ(written, text);
  }
  time.decimals = 0;
  std::string written;
  write_number(time, 59.7, written);
  EXPECT_EQ(written, "00:01:00");
}

Table table_of(const std::string& columns) { return parse_table_toml(columns, "t"); }

TEST(Notations, OfAColumnAreInItsJsonAndHash) {
  const std::string plain = "[[columns]]\nname = \"x\"\ntype = \"decimal\"\ndecimals = 1\nlo = 0\nhi = 9\n";
  const Table own = table_of(plain), comma = table_of(plain + "decimal_mark = \",\"\nprefix = \"ca. \"\n");
  EXPECT_EQ(to_json(own).dump().find("notation"), std::string::npos) << "hashes of schemas without one stay";
  EXPECT_NE(table_hash(own), table_hash(comma));
  EXPECT_EQ(differences(own, comma), "column 'x': notation");
  const auto json = to_json(comma);
  const JsonDocument document{"", "", ""};
  EXPECT_EQ(read_table(JsonFields(json, document)), comma);
}

TEST(Notations, OfAColumnThatContradictThemselvesAreRefused) {
  const auto refused = [](const std::string& type, const std::string& rest, const char* what) {
    test::expect_error(ExitCode::kConfig, {what},
                       [&] { table_of("[[columns]]\nname = \"x\"\ntype = \"" + type + "\"\n" + rest); });
  };
  const std::string number = "lo = 0\nhi = 9\n", dates = "lo = 2001-01-01\nhi = 2001-12-31\n";
  refused("integer", number + "decimal_mark = \",\"\nthousands_mark = \",\"\n", "are the same");
  refused("integer", number + "prefix = \"no 1\"\n", "no digits");
  refused("integer", number + "format = \"%Y\"\n", "only dates and times");
  refused("integer", number + "negative = \"2-\"\n", "how minus one");
  refused("integer", number + "prefix = \"$\"\nnegative = \"kg-1\"\n", "how minus one");
  refused("integer", number + "top_code = \"9\"\n", "no code of a bound");
  refused("integer", number + "top_code = \"9+\"\nmissing = \"9+\"\n", "stands for two");
  refused("date", dates + "decimal_mark = \",\"\n", "only numbers");
  refused("category", "values = [\"a\"]\nformat = \"%Y\"\n", "is for numbers");
  refused("date", "lo = 1901-01-01\nhi = 2001-12-31\nformat = \"%d.%m.%y\"\n", "less than 100 years");
  refused("datetime",
          "lo = 2001-01-01T00:00:00\nhi = 2001-12-31T00:00:00\nstep = 1\nformat = \"%d.%m.%Y %H:%M\"\n",
          "multiple of 60");
  refused("time", "lo = 0\nhi = 9\n", "needs a time of day");
}

TEST(Notations, CodesOfBoundsAreTheBounds) {
  const ColumnText text(
      table_of("[[columns]]\nname = \"x\"\ntype = \"integer\"\nlo = 4\nhi = 90\ntop_code = \"90+\"\n"
               "bottom_code = \"<5\"\n")
          .columns[0]);
  for (const auto& [field, value] : {std::pair("90+", 90.0), {"<5", 4.0}, {"90", 90.0}, {"17", 17.0}})
    EXPECT_EQ(text.number(std::string_view(field)), value);
  std::string written;
  text.write_number(90, written);
  text.write_number(4, written);
  text.write_number(89, written);
  EXPECT_EQ(written, "90+<589");
  EXPECT_EQ(text.read("91+").misfit, Misfit::kNotANumber);
  EXPECT_EQ(bound_code(">= 1.5")->number, 1.5);
  EXPECT_TRUE(bound_code("over 90")->beyond);
  const Notation dollars{"", ".", ",", "$", " a year", "-1", "", ""};
  for (const char* field : {"$10,000+", "$10,000 and over", "$10,000+ a year", ">= $10,000 a year"})
    EXPECT_EQ(bound_code(field, dollars).value_or(BoundCode{}).number, 10000) << field;
  EXPECT_FALSE(bound_code("$10,000 a year", dollars) || bound_code("$10,000+"));
  EXPECT_EQ(bound_code("<5,5", {"", ",", "", "", "", "-1", "", ""})->number, 5.5);
  EXPECT_FALSE(bound_code("10-14") || bound_code("x+") || bound_code("90") || bound_code("9+9"));
}

TEST(Rules, OfADateAndATimeAndOverTheSecondsOfAYear) {
  const Table table = table_of(
      "[[columns]]\nname = \"day\"\ntype = \"date\"\nlo = 2024-01-01\nhi = 2024-12-31\n"
      "[[columns]]\nname = \"seen\"\ntype = \"datetime\"\nlo = 2024-01-01T00:00:00\nhi = "
      "2024-12-31T23:59:59\n"
      "[[columns]]\nname = \"left\"\ntype = \"datetime\"\nlo = 2024-01-01T00:00:00\nhi = "
      "2025-06-30T23:59:59\nbins = 30\n"
      "[[constraints]]\nkind = \"compare\"\nleft = \"day\"\nop = \"=\"\nright = \"seen\"\n"
      "[[constraints]]\nkind = \"compare\"\nleft = \"seen\"\nop = \"<\"\nright = \"left\"\n");
  const RowRules rules(table);
  const CounterStream random(6, Stream::kTest);
  const std::vector<ColumnText> texts(table.columns.begin(), table.columns.end());
  for (std::uint64_t i = 0; i < 20000; ++i) {
    std::vector<float> row;
    for (std::uint64_t k = 0; k < 3; ++k) row.push_back(static_cast<float>(random.uniform(3 * i + k)));
    if (i % 4 == 0) row[2] = row[1] * 0.5f;
    rules.mend(row, 0);
    std::vector<double> values;
    for (std::size_t k = 0; k < 3; ++k)
      values.push_back(texts[k].number(cell_at(row[k], table.columns[k].codes())));
    ASSERT_EQ(values[0], std::floor(values[1] / 86400)) << i;
    ASSERT_LT(values[1], values[2]) << i;
  }
  test::expect_error(ExitCode::kConfig, {"of different types"}, [] {
    table_of(
        "[[columns]]\nname = \"a\"\ntype = \"date\"\nlo = 2024-01-01\nhi = 2024-12-31\n[[columns]]\nname = "
        "\"b\"\ntype = \"time\"\n"
        "lo = 00:00:00\nhi = 23:59:59\n[[constraints]]\nkind = \"compare\"\nleft = \"a\"\nop = \"<\"\nright "
        "= \"b\"\n");
  });
}

}  // namespace
}  // namespace muffle::schema
