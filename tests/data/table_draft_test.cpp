// Drafts of schemas from files: of private records types alone, of a public sample the rest.
#include "muffle/data/table_draft.hpp"

#include "data/table_fixture.hpp"
#include "muffle/data/record_check.hpp"
#include "muffle/schema/day_and_time.hpp"
#include "muffle/schema/table_toml.hpp"
#include "support/expect_error.hpp"

namespace muffle::data::test {
namespace {

using muffle::test::expect_error;
using muffle::test::expect_local_detail;
using schema::ColumnType;
using schema::DraftColumn;

class TableDraft : public Tables {
 protected:
  DataSpec file(const std::string& name, const std::string& bytes) const {
    put(name, bytes);
    DataSpec spec;
    spec.features = (folder_ / name).string();
    return spec;
  }
  std::vector<DraftColumn> draft(const std::string& bytes) const {
    return draft_columns(file("private.csv", bytes), nullptr, false);
  }
  /// Of one column with these fields, quoted.
  DraftColumn sampled(const std::vector<std::string>& fields) const {
    std::string bytes = "x,y\n";
    for (const std::string& field : fields) bytes += "\"" + field + "\",1\n";
    const DataSpec sample = file("sample.csv", bytes);
    return draft_columns(sample, &sample, false).front();
  }
};

constexpr const char* kRecords =
    "id,age,height,born,seen,smokes,zip,job,empty,mixed\n"
    "8831,47,1.75,1971-03-09,2020-01-01 10:11:12,TRUE,01187,mason,,12\n"
    "NA,-3,2,?,2020-01-02T10:11:12,false,80331,\"smith, gold\",NA,x\n";

TEST_F(TableDraft, GuessesTypesAndKeepsNothingElse) {
  const std::vector<DraftColumn> columns = draft(kRecords);
  const ColumnType types[] = {ColumnType::kInteger,
                              ColumnType::kInteger,
                              ColumnType::kDecimal,
                              ColumnType::kDate,
                              ColumnType::kDatetime,
                              ColumnType::kBoolean,
                              ColumnType::kCategory /* a code */,
                              ColumnType::kCategory,
                              ColumnType::kIgnore /* no row has a value */,
                              ColumnType::kCategory};
  ASSERT_EQ(columns.size(), std::size(types));
  for (std::size_t j = 0; j < columns.size(); ++j) {
    EXPECT_EQ(columns[j].type, types[j]) << columns[j].name;
    EXPECT_EQ(columns[j].is_open(), types[j] != ColumnType::kIgnore);
    EXPECT_TRUE(columns[j].guessed);
  }
  const std::string text = schema::draft_toml(columns, "");
  for (const char* content : {"8831", "47", "1.75", "1971", "2020", "TRUE", "01187", "mason", "gold", "12"})
    EXPECT_EQ(text.find(content), std::string::npos) << content;
  expect_error(ExitCode::kConfig, {"is still \"FILL-IN\""}, [&] { schema::parse_table_toml(text, "t"); });
}

TEST_F(TableDraft, OfAPublicSampleLoadsAndChecksItsOwnFile) {
  const DataSpec all = file("all.csv", kRecords);
  const std::string text = schema::draft_toml(draft_columns(all, &all, false), "");
  EXPECT_NE(text.find("# no row has a value here\nname = \"empty\"\ntype = \"ignore\""), std::string::npos);

  std::string bytes = kRecords;
  for (std::size_t at; (at = bytes.find(",,")) != std::string::npos;) bytes.replace(at, 2, ",no,");
  DataSpec sample = file("all.csv", bytes);
  const std::string whole = schema::draft_toml(draft_columns(sample, &sample, false), "of a sample");
  EXPECT_EQ(whole.find("a guess"), std::string::npos);
  sample.schema = schema_of(schema::parse_table_toml(whole, "t"));
  sample.format = "csv";
  const RecordCheck found = check_records(sample, 0, 20);
  EXPECT_EQ(found.records, 2U);
  EXPECT_EQ(found.misfits, 0U) << testing::PrintToString(found.places);
}

TEST_F(TableDraft, AnotherSeparatorIsNamed) {
  expect_error(ExitCode::kData, {"is one field", "\";\"", "--separator"}, [&] { draft("a;b\n1,5;2,5\n"); });
  expect_error(ExitCode::kData, {"is one field", "\"tab\"", "--header"}, [&] { draft("a\tb\n1\t2\n"); });
  const DataSpec one = file("one.csv", "a;b\nx\ny\n");
  EXPECT_EQ(draft_columns(one, nullptr, true).size(), 1U) << "somebody says that it is a name";
  DataSpec none = file("none.csv", "1;2\n3;4\n");
  none.header = false;
  expect_error(ExitCode::kData, {"is one field", "\";\""}, [&] { draft_columns(none, nullptr, false); });
  expect_local_detail(ExitCode::kData, {"no row"}, {"row 1 of", "has 2 fields", "\";\" stands in it"},
                      [&] { draft("a,b,c\n1,2;3\n"); });
}

TEST_F(TableDraft, ColumnsWithoutANameAreReadPastWithALine) {
  for (const char* bytes :
       {",name,lat\n0,p,3\n1,q,5\n", "name,lat,\np,3,\nq,5,\n", "Unnamed: 0,name,lat\n0,p,3\n1,q,5\n",
        "\"\",\"name\",\"lat\"\n\"1\",\"p\",3\n\"2\",\"q\",5\n", "...1,name,lat\n1,p,3\n2,q,5\n"}) {
    std::string passed;
    const auto columns = draft_columns(file("private.csv", bytes), nullptr, false, &passed);
    ASSERT_EQ(columns.size(), 2U) << bytes;
    EXPECT_EQ(columns[0].name, "name");
    EXPECT_EQ(columns[0].type, ColumnType::kCategory);
    EXPECT_EQ(columns[1].type, ColumnType::kInteger) << bytes;
    EXPECT_THAT(passed, testing::HasSubstr("has no name"));
    const DataSpec sample = file("sample.csv", bytes);
    EXPECT_EQ(draft_columns(sample, &sample, false, &passed).at(1).hi, 5);
  }
  expect_error(ExitCode::kData, {"has no names"}, [&] { draft(",\n1,2\n"); });
}

TEST_F(TableDraft, LinesAboveAndOtherEncodings) {
  DataSpec spec = file("c.csv", "a title\nsep=;\nn\xE4me;lat\nx;3\n");
  spec.skip = 1;
  spec.separator = ';';
  spec.encoding = "latin-1";
  const auto columns = draft_columns(spec, nullptr, false);
  EXPECT_EQ(columns.at(0).name, "n\xC3\xA4me");
  EXPECT_EQ(columns.at(1).type, ColumnType::kInteger);
  DataSpec signed_text = file("s.csv", "\xEF\xBB\xBFname,lat\nx,3\n");
  signed_text.encoding = "utf-8-sig";
  EXPECT_EQ(draft_columns(signed_text, nullptr, false).at(0).name, "name") << "as Python calls it";
}

TEST_F(TableDraft, CommentsAreOverWithTheFirstRow) {
  DataSpec commented = file("c.csv", "#by hand\na,b\n1,2\n#3,4\n");
  commented.comment = "#";
  EXPECT_EQ(draft_columns(commented, nullptr, false)[0].type, ColumnType::kCategory) << "#3 is a field";
}

TEST_F(TableDraft, RoundsBoundsOutwards) {
  const auto bounds = [&](const std::vector<std::string>& fields, double lo, double hi) {
    const DraftColumn c = sampled(fields);
    ASSERT_TRUE(c.lo && c.hi);
    EXPECT_EQ(*c.lo, lo);
    EXPECT_EQ(*c.hi, hi);
  };
  bounds({"17", "90"}, 15, 90);
  bounds({"-3", "118"}, -10, 120);
  bounds({"3", "4"}, 3, 4);
  bounds({"7", "7"}, 7, 7);
  bounds({"12345", "99999"}, 10000, 100000);
  bounds({"0.31", "2.49"}, 0.2, 2.6);
  bounds({"0.1", "0.3"}, 0.1, 0.3);
  EXPECT_EQ(sampled({"1234.5", "1"}).decimals, 1);
  const double day = *schema::parse_number(ColumnType::kDate, "1999-05-06");
  const DraftColumn dates = sampled({"1999-05-06", "2003-01-01"});
  EXPECT_EQ(*dates.lo, day - 125) << "1999-01-01";
  EXPECT_EQ(*dates.hi, *schema::parse_number(ColumnType::kDate, "2003-12-31"));
  EXPECT_EQ(*sampled({"1999-05-06 01:02:03"}).hi,
            *schema::parse_number(ColumnType::kDatetime, "1999-12-31T23:59:59"));
}

TEST_F(TableDraft, DecimalsAreKeptOrSaidToBeLost) {
  for (const auto& [field, places] :
       {std::pair{"48.137154", 6}, {"151.2092955", 7}, {"-0.1234567", 7}, {"1234.5", 1}}) {
    EXPECT_EQ(sampled({field, "11.5"}).decimals, places) << field;
    EXPECT_EQ(sampled({field, "11.5"}).note, "");
  }
  // Noise of arithmetic.
  const DraftColumn noise = sampled({"0.123456789012345", "1"});
  EXPECT_EQ(noise.decimals, 6);
  EXPECT_THAT(noise.note, testing::HasSubstr("15 places"));
  EXPECT_THAT(noise.note, testing::HasSubstr("decimals = 15 keeps them"));
  EXPECT_EQ(sampled({"1.558e-06", "2.5e-3"}).decimals, 9);
  EXPECT_EQ(sampled({"1.45E+06", "2.8e5"}).decimals, 0);
}

// Whole numbers that a missing value beside them has made decimals, as pandas writes them.
TEST_F(TableDraft, SeesTheGridOfDecimals) {
  const DraftColumn whole = sampled({"22.0", "", "31.0", "40.0", "58.0"});
  EXPECT_EQ(whole.type, ColumnType::kDecimal);
  EXPECT_EQ(whole.step, 1.0);
  EXPECT_EQ(whole.decimals, 1);
  const schema::Table table = schema::parse_table_toml(schema::draft_toml(std::span(&whole, 1), ""), "t");
  const schema::ColumnText text(table.columns[0]);
  for (const char* field : {"31.0", "31", "30.9"}) {
    std::string written;
    text.write(*text.read(std::string_view(field)).cell, written);
    EXPECT_TRUE(written.ends_with(".0")) << "in the file's own spelling: " << written;
  }
  std::string written;
  const schema::Grid grid(table.columns[0]);
  for (std::uint64_t i = 0; i < grid.count(); ++i)
    schema::write_number(table.columns[0], grid.value(i), written);
  EXPECT_EQ(std::count(written.begin(), written.end(), '.'), static_cast<std::ptrdiff_t>(grid.count()));
  EXPECT_EQ(written.find(".1"), std::string::npos);

  EXPECT_EQ(sampled({"100.00", "250.00"}).decimals, 2);
  EXPECT_EQ(sampled({"100.00", "250.00"}).step, 1.0);
  EXPECT_EQ(sampled({"0.0", "0.0"}).step, 1.0);
  EXPECT_EQ(sampled({"22.0", "22.5"}).step, std::nullopt) << "too few to tell";
  std::vector<std::string> few;
  for (int i = 0; i < 60; ++i) few.push_back(i % 3 == 0 ? "1.25" : i % 3 == 1 ? "2.50" : "3.75");
  EXPECT_EQ(sampled(few).step, std::nullopt) << "three values, however often";
  std::vector<std::string> even;
  for (int i = 0; i < 10; ++i) even.push_back("3." + std::to_string(10 + 2 * i));
  EXPECT_EQ(sampled(even).step, std::nullopt) << "even by chance";
  for (int i = 0; i < 10; ++i) even.push_back("4." + std::to_string(10 + 2 * i));
  EXPECT_EQ(sampled(even).step, 0.02);
  EXPECT_EQ(sampled({"22.0", "22.5", "1.5", "3.0", "4.5", "7.0", "8.0", "9.5"}).step, 0.5);
  EXPECT_EQ(sampled({"0.25", "1.75", "2.00", "3.25", "0.50", "9.75", "4.00", "6.25"}).step, 0.25);
  EXPECT_EQ(sampled({"0.1", "0.2", "0.5", "0.7", "0.9", "1.1", "1.2", "1.3"}).step, std::nullopt);
  EXPECT_EQ(sampled({"22", "31"}).step, std::nullopt);
  EXPECT_EQ(sampled({"22", "31"}).type, ColumnType::kInteger);
  const DraftColumn guess = draft("age,sex\n22.0,m\n,f\n31.0,m\n")[0];
  EXPECT_TRUE(guess.guessed && guess.is_open());
  EXPECT_EQ(guess.step, 1.0);
  EXPECT_EQ(guess.decimals, 1);
}

TEST_F(TableDraft, SeesTheGridOfRoundNumbersAndOfTimes) {
  EXPECT_EQ(sampled({"150", "200", "250", "900", "50", "400", "1000", "1550"}).step, 50);
  EXPECT_EQ(sampled({"2", "4", "8", "10", "12", "14", "16", "18"}).step, std::nullopt) << "even by chance";
  EXPECT_EQ(sampled({"10", "20", "30", "10"}).step, std::nullopt) << "too few to tell";
  EXPECT_EQ(sampled({"5.0", "10.0", "15.0", "25.0", "30.0", "35.0", "40.0", "45.0"}).step, 5);
  const auto guess = draft("v,w\n5.0,a\n10.0,a\n15.0,a\n25.0,b\n30.0,b\n35.0,c\n40.0,c\n45.0,c\n");
  EXPECT_EQ(guess[0].step, 1.0) << "which larger one is content";
  const DraftColumn round = sampled({"150", "200", "250", "900", "50", "400", "1000", "1550"});
  const schema::Table table = schema::parse_table_toml(schema::draft_toml(std::span(&round, 1), ""), "t");
  EXPECT_EQ(table.columns[0].step, 50);

  const std::vector<std::string> hours(8, "2024-03-01 10:00"), own(8, "2024-03-01T10:00:00");
  EXPECT_EQ(sampled(hours).notation.format, "%Y-%m-%d %H:00");
  EXPECT_EQ(sampled(own).notation.format, "%Y-%m-%dT%H:00:00");
  EXPECT_EQ(*sampled(hours).hi, *schema::parse_number(ColumnType::kDatetime, "2024-12-31T23:00:00"));
  EXPECT_EQ(sampled(std::vector<std::string>(8, "7:00 PM")).notation.format, "%-I:00 %p");
  std::vector<std::string> whole(7, "2020-12-12 22:53:47.000");
  EXPECT_EQ(sampled(whole).notation.format, "%Y-%m-%d %H:%M:%S.%3f") << "too few to tell";
  whole.emplace_back("2020-03-01 10:00:01.000");
  EXPECT_EQ(sampled(whole).notation.format, "%Y-%m-%d %H:%M:%S.000");
  EXPECT_THAT(sampled(std::vector<std::string>(8, "2024-03-01")).note,
              testing::HasSubstr("first of a month"));
  EXPECT_EQ(sampled({"2024-03-01", "2024-04-01"}).note, "");
}

TEST_F(TableDraft, SeesTheStepOfTimes) {
  const auto clocks = [](int seconds, const std::string& before, const std::string& behind) {
    std::vector<std::string> fields;
    for (int i = 1; i <= 9; ++i) {
      const int t = 8 * 3600 + i * seconds;
      fields.push_back(before + (t / 3600 < 10 ? "0" : "") + std::to_string(t / 3600) +
                       (t / 60 % 60 < 10 ? ":0" : ":") + std::to_string(t / 60 % 60) +
                       (t % 60 < 10 ? behind + "0" : behind) +
                       (behind.empty() ? "" : std::to_string(t % 60)));
      if (behind.empty()) fields.back().pop_back();
    }
    return fields;
  };
  for (const int step : {300, 600, 900, 1800}) {
    const DraftColumn c = sampled(clocks(step, "", ""));
    EXPECT_EQ(c.type, ColumnType::kTime);
    EXPECT_EQ(c.step, step);
    EXPECT_EQ(c.hi, 86400 - step);
    const DraftColumn dates = sampled(clocks(step, "2024-03-01T", ":"));
    EXPECT_EQ(dates.notation.format, "%Y-%m-%dT%H:%M:00");
    EXPECT_EQ(dates.step, step);
    EXPECT_EQ(*dates.hi, *schema::parse_number(ColumnType::kDatetime, "2024-12-31T23:59:59") + 1 - step);
    const schema::Table table = schema::parse_table_toml(schema::draft_toml(std::span(&dates, 1), ""), "t");
    EXPECT_EQ(schema::as_in_files(table, 0).step, step);
  }
  EXPECT_EQ(sampled(clocks(30, "", ":")).step, 30);
  EXPECT_EQ(sampled(clocks(3600, "", "")).notation.format, "%H:00");
  EXPECT_EQ(sampled(clocks(3600, "", "")).step, std::nullopt) << "the format has it";
  EXPECT_EQ(sampled(clocks(420, "", "")).step, std::nullopt);
  EXPECT_EQ(sampled({"08:15", "08:30", "09:45"}).step, std::nullopt) << "too few to tell";
  EXPECT_EQ(sampled(std::vector<std::string>(30, "08:15")).step, std::nullopt);
  std::string bytes = "x,y\n";
  for (const std::string& clock : clocks(900, "", "")) bytes += clock + ",1\n";
  const DraftColumn guess = draft(bytes)[0];
  EXPECT_EQ(guess.step, std::nullopt) << "which one is content";
  EXPECT_THAT(guess.note, testing::HasSubstr("rounder than they are written"));
}

TEST_F(TableDraft, BoundsHoldTheWholeLastSecond) {
  for (const auto& [field, hi] : {std::pair{"2024-12-31 23:59:59.999", "2024-12-31T23:59:59.999"},
                                  {"2024-12-31T23:59:59.25Z", "2024-12-31T23:59:59.99"},
                                  {"2024-12-31 23:59:59.999999", "2024-12-31T23:59:59.999999"}}) {
    const DraftColumn c = sampled({field, "2024-01-02" + std::string(field).substr(10)});
    const std::string text = schema::draft_toml(std::span(&c, 1), "");
    EXPECT_THAT(text, testing::HasSubstr("lo = 2024-01-01T00:00:00\nhi = " + std::string(hi) + "\n"));
    const schema::Table table = schema::parse_table_toml(text, "t");
    const schema::Column column = schema::as_in_files(table, 0);
    const auto read = schema::ColumnText(column).read(std::string_view(field));
    EXPECT_EQ(read.misfit, schema::Misfit::kNone) << field;
    std::string written;
    schema::ColumnText(column).write(*read.cell, written);
    EXPECT_EQ(written.substr(0, 10), "2024-12-31");
  }
  const DraftColumn clock = sampled({"23:59:59.9", "01:02:03.5"});
  EXPECT_THAT(schema::draft_toml(std::span(&clock, 1), ""), testing::HasSubstr("hi = 23:59:59.9\n"));
}

TEST_F(TableDraft, SaysWhatSamplesWillNotKeep) {
  EXPECT_THAT(sampled({"1.45E+06", "2.8e5"}).note, testing::HasSubstr("exponents"));
  EXPECT_THAT(sampled({"+309", "-12"}).note, testing::HasSubstr("plus signs"));
  EXPECT_EQ(sampled({"309", "-12"}).note, "");
  std::vector<std::string> months;
  for (int year = 2019; year < 2021; ++year) {
    for (int month = 1; month <= 12; ++month)
      months.push_back(std::to_string(year) + (month < 10 ? "0" : "") + std::to_string(month));
  }
  EXPECT_THAT(sampled(months).note, testing::HasSubstr("a year and a month"));
  months.emplace_back("202013");
  EXPECT_EQ(sampled(months).note, "");
  for (const char* total : {"Total", "TOTAL:", "Summe"}) {
    EXPECT_THAT(sampled({"north", "south", "north", total}).note, testing::HasSubstr("row of totals"));
    EXPECT_EQ(sampled({"north", total, "south", "north"}).note, "") << "not the last row";
    EXPECT_THAT(draft("x,y\nnorth,1\nsouth,2\n" + std::string(total) + ",3\n")[0].note,
                testing::HasSubstr("row of totals"));
  }
}

TEST_F(TableDraft, NamesWhatItDoesNotUnderstand) {
  std::vector<std::string> ages;
  for (int i = 0; i < 20; ++i) ages.push_back(std::to_string(i + 20));
  ages.push_back("V1");
  for (const auto& fields : {std::vector<std::string>{"2020Q1", "2020Q2"},
                             {"2001-W25", "2001-W26"},
                             {"\xEF\xBC\x94\xEF\xBC\x92", "\xEF\xBC\x93"},
                             {"22:30", "24:00"},
                             {"3h05m", "12h10m"},
                             ages,
                             {"13/1/1962", "1/13/1962"}}) {
    const DraftColumn c = sampled(fields);
    EXPECT_EQ(c.type, ColumnType::kCategory);
    EXPECT_TRUE(c.note.starts_with(kUnknownNotation)) << fields[0] << ": " << c.note;
  }
  for (const auto& fields :
       {std::vector<std::string>{"5-9", "10-14"}, {"01187", "80331"}, {"V27", "250.83", "276"}})
    EXPECT_EQ(sampled(fields).note, "") << fields[0];
}

// Of few different numbers a text may be a category: but nobody is left to find out.
TEST_F(TableDraft, NamesTheTextsAmongFewNumbers) {
  const auto rows = [](std::vector<std::string> fields) {
    const std::vector<std::string> once = fields;
    for (int i = 0; i < 5; ++i) fields.insert(fields.end(), once.begin(), once.end() - 1);
    return fields;
  };
  using Fields = std::vector<std::string>;
  for (const auto& [fields, named] : {std::pair{Fields{"2.75", "3.25", "$1.50"}, "(\"$1.50\")"},
                                      {{"$2.75", "$3.25", "1.50"}, "(\"$2.75\", \"$3.25\")"},
                                      {{"20", "30", "10%"}, "(\"10%\")"},
                                      {{"1", "2", "3", "Total"}, "(\"Total\")"},
                                      {{"1,5", "2,5", "gesamt"}, "(\"gesamt\")"},
                                      {{"2020-01-02", "2020-02-03", "unknown"}, "(\"unknown\")"},
                                      {{"10 mg", "20 mg", "1 g"}, "(\"1 g\", \"10 mg\", \"20 mg\")"},
                                      {{"18", "12", "10-14"}, "(\"10-14\")"}}) {
    const DraftColumn c = sampled(rows(fields));
    EXPECT_EQ(c.type, ColumnType::kCategory) << named;
    EXPECT_EQ(c.values->size(), fields.size());
    EXPECT_TRUE(c.note.starts_with(kTextsAmongNumbers)) << c.note;
    EXPECT_THAT(c.note, testing::HasSubstr(named));
    std::string bytes = "x,y\n";
    for (const std::string& field : rows(fields)) bytes += "\"" + field + "\",1\n";
    const DraftColumn guess = draft(bytes)[0];
    EXPECT_TRUE(guess.note.starts_with(kTextsAmongNumbers));
    EXPECT_THAT(guess.note, testing::Not(testing::HasSubstr(fields.back()))) << "that is content";
  }
  for (const Fields& fields : {Fields{"5-9", "10-14", "90+"},
                               {"01187", "80331", "unknown"},
                               {"V27", "250.83", "276"},
                               {"A", "B", "C", "1", "2"},
                               {"Ward 1", "Ward 2"},
                               {"yes", "no", "1"},
                               {"1", "2", "3"}})
    EXPECT_EQ(sampled(rows(fields)).note, "") << fields[0];
}

TEST_F(TableDraft, BlanksMayStandBetweenFields) {
  // R's write.table, with the names of rows, and columns that are padded.
  for (const char* bytes :
       {"\"age\" \"job\"\n\"1\" 31 \"a cook\"\n\"2\" 45 NA\n", "age   job\n 31\tcook \n  45   NA\n"}) {
    DataSpec spec = file("r.txt", bytes);
    expect_error(ExitCode::kData, {}, [&] { draft_columns(spec, nullptr, false); });
    spec.separator = kBlankSeparator;
    const auto columns = draft_columns(spec, &spec, false);
    ASSERT_EQ(columns.size(), 2U) << bytes;
    EXPECT_EQ(columns[0].name, "age");
    EXPECT_EQ(columns[0].type, ColumnType::kInteger);
    EXPECT_EQ(columns[1].missing, std::vector<std::string>{"NA"});
  }
  expect_error(ExitCode::kData, {"is one field", "\"blank\"", "--separator"},
               [&] { draft("age   job\n 31 cook\n"); });
  expect_local_detail(ExitCode::kData, {"no row"}, {"header of", "blanks, that stand between fields"},
                      [&] { draft("\"age\" \"job\"\n31 \"cook\"\n"); });
  expect_local_detail(ExitCode::kData, {"no row"}, {"lines stand above the header", "--skip"},
                      [&] { draft("Report\nage,job,sex\n31,cook,m\n"); });
}

TEST_F(TableDraft, KnowsHowMissingValuesAreSpelt) {
  for (const char* word : {"None", "#N/A", "<NA>", "NaT", "--", "nan", "NULL", "\\N"}) {
    const DraftColumn c = sampled({"22", word, "31"});
    EXPECT_EQ(c.type, ColumnType::kInteger) << word;
    EXPECT_EQ(c.missing, std::vector<std::string>{word});
    EXPECT_EQ(sampled({"2020-01-02", word}).type, ColumnType::kDate) << word;
  }
}

TEST_F(TableDraft, AFewTextsAmongNumbersAreMissingValues) {
  std::vector<std::string> numbers;
  for (int i = 0; i < 30; ++i) numbers.push_back(std::to_string(i * 7));
  const auto with = [&](std::vector<std::string> texts) {
    texts.insert(texts.end(), numbers.begin(), numbers.end());
    return sampled(texts);
  };
  const DraftColumn c = with({"*", "unknown", "NA", "unknown"});
  EXPECT_EQ(c.type, ColumnType::kInteger);
  EXPECT_EQ(c.missing, (std::vector<std::string>{"NA", "*", "unknown"}));
  EXPECT_THAT(c.note, testing::HasSubstr("no total and no unit"));
  EXPECT_EQ(with({"#DIV/0!", "0000-00-00"}).note, "") << "no others are written so";
  EXPECT_EQ(with({"a", "b", "c", "d", "e", "f", "g", "h", "i"}).type, ColumnType::kCategory) << "so many";
  EXPECT_EQ(with({"V1"}).type, ColumnType::kCategory) << "a text with a digit may be a code";
  numbers.resize(10);
  EXPECT_EQ(with({"unknown"}).type, ColumnType::kCategory) << "so few numbers may be codes";

  std::string bytes = "x,y\n", dates = bytes;
  for (int i = 0; i < 30; ++i) {
    bytes += (i % 10 == 5 ? "SECRET" : std::to_string(i)) + ",1\n";
    dates += (i == 5 ? "SECRET" : std::to_string(i % 28 + 1) + "." + std::to_string(i % 12 + 1) + ".1990") +
             ",1\n";
  }
  for (const std::string& file : {bytes, dates}) {
    const std::vector<DraftColumn> guesses = draft(file);
    EXPECT_TRUE(schema::is_number_type(guesses[0].type));
    EXPECT_FALSE(guesses[0].missing);
    EXPECT_THAT(guesses[0].note, testing::HasSubstr("a few texts"));
    EXPECT_EQ(schema::draft_toml(guesses, "").find("SECRET"), std::string::npos);
  }
}

TEST_F(TableDraft, ABooleanIsInItsFieldsSpelling) {
  const auto columns = draft("a,b,c\nTRUE,False,true\nFALSE,False,TRUE\n");
  EXPECT_EQ(columns[0].values, (std::vector<std::string>{"FALSE", "TRUE"}));
  EXPECT_EQ(columns[1].values, (std::vector<std::string>{"False", "True"}))
      << "both, though one alone occurs";
  EXPECT_EQ(columns[2].type, ColumnType::kBoolean);
  EXPECT_FALSE(columns[2].values) << "two spellings";
}

TEST_F(TableDraft, FewNumbersOverAWideRangeAreCodes) {
  const DraftColumn codes =
      sampled({"195662009", "444814009", "10509002", "195662009", "10509002", "444814009"});
  EXPECT_EQ(codes.type, ColumnType::kCategory);
  EXPECT_EQ(codes.values, (std::vector<std::string>{"10509002", "195662009", "444814009"}));
  EXPECT_NE(codes.note.find("codes"), std::string::npos);
  EXPECT_EQ(sampled({"1234561000000107", "99", "1234561000000107", "99"}).type, ColumnType::kCategory);
  EXPECT_EQ(sampled({"20000", "35000", "20000", "41000", "35000"}).type, ColumnType::kInteger)
      << "round amounts";
  EXPECT_EQ(sampled({"20123", "35000", "77777"}).type, ColumnType::kInteger) << "none is there twice";
  EXPECT_EQ(sampled({"0", "1", "1", "0", "0"}).type, ColumnType::kInteger);
  const auto guesses = draft("code,n\n195662009,1\n10509002,2\n195662009,3\n10509002,4\n");
  EXPECT_EQ(guesses[0].type, ColumnType::kCategory);
  EXPECT_TRUE(guesses[0].is_open());
}

TEST_F(TableDraft, TextsStandInNaturalOrder) {
  EXPECT_EQ(sampled({"90+", "10-14", "5-9", "100+", "<5", ">120", "5-9", "15-19"}).values,
            (std::vector<std::string>{"<5", "5-9", "10-14", "15-19", "90+", "100+", ">120"}));
  EXPECT_EQ(sampled({"v10", "v9", "v09", "w", "v"}).values,
            (std::vector<std::string>{"v", "v09", "v9", "v10", "w"}));
  EXPECT_EQ(sampled({"cafe\xCC\x81", "caf\xC3\xA9"}).values, (std::vector<std::string>{"caf\xC3\xA9"}));
}

TEST_F(TableDraft, ColumnsWithoutAnyValueAreLeftOut) {
  const auto columns = draft("a,b\n1,\n2,NA\n");
  EXPECT_EQ(columns[1].type, ColumnType::kIgnore);
  EXPECT_NE(columns[1].note, "");
  EXPECT_EQ(draft_columns(file("f.csv", "a,b\n"), nullptr, true)[1].type, ColumnType::kCategory)
      << "no rows at all";
  // It tells a header from a record no better than text does.
  expect_error(ExitCode::kData, {"--header"}, [&] { draft("Anna,State-gov\nBob,\n"); });
}

TEST_F(TableDraft, LeavesIdentifiersAndFreeTextOut) {
  std::vector<std::string> names;
  for (int i = 0; i < 201; ++i) names.push_back("name " + std::to_string(i));
  EXPECT_EQ(sampled(names).type, ColumnType::kIgnore);
  names.pop_back();
  EXPECT_EQ(sampled(names).type, ColumnType::kCategory);
  EXPECT_EQ(sampled({"123456789012345678", "5"}).type, ColumnType::kIgnore);
  EXPECT_EQ(sampled({"true", "true"}).type, ColumnType::kCategory) << "one value is no boolean";
}

TEST_F(TableDraft, LooksAtRecordsOnlyOfColumnsThatTheSampleLacks) {
  const DataSpec sample = file("sample.csv", "a\n1\n");
  // The record is no row of this file: nobody reads it.
  EXPECT_EQ(draft_columns(file("private.csv", "a\n1,2,3\n"), &sample, false).at(0).guessed, false);
  const auto columns = draft_columns(file("private.csv", "b,a\n1.5,y\n"), &sample, false);
  EXPECT_EQ(columns.at(0).type, ColumnType::kDecimal);
  EXPECT_TRUE(columns.at(0).guessed && columns.at(0).is_open());
  EXPECT_EQ(columns.at(1).type, ColumnType::kInteger);
  expect_error(ExitCode::kData, {"has none of the file's columns"},
               [&] { draft_columns(file("private.csv", "b\n1\n"), &sample, false); });
}

TEST_F(TableDraft, TakesNoRecordForAHeader) {
  for (const char* record : {"39,State-gov\n", "State-gov,1999-01-01\n", "a,2020-01-01 00:00:00\n",
                             // All text: nothing tells.
                             "Anna Schmidt,State-gov,died\nBob Jones,maternity,home\n", "Anna,State-gov\n",
                             // Below are numbers, but one value is there again; or none is there at all.
                             "Anna,State-gov,often\nBob,private,3\nEve,State-gov,4\n",
                             "3 Jan 1990x,State-gov\n4 Feb 1991y,private\n", "State-gov,?\nprivate,7\n",
                             "State-gov,TRUE,a\nprivate,false,7\n"}) {
    const std::string said =
        expect_error(ExitCode::kData, {"--no-header", "--header"}, [&] { draft(record); });
    EXPECT_EQ(said.find("State"), std::string::npos);
  }
  EXPECT_EQ(draft("seen\n\"Fri, 2 Dec 2022 x\"\n\"Sat, 3 Dec 2022 x\"\n")[0].name, "seen")
      << "unlike what is below";
  const DataSpec words = file("words.csv", "name,ward\nAnna,north\n");
  EXPECT_EQ(draft_columns(words, nullptr, true).at(1).name, "ward") << "by its owner's word";
  const DataSpec one = file("one.csv", "name\nBob\n"), both = file("both.csv", "ward,name\nsouth,Bob\n");
  EXPECT_EQ(draft_columns(words, &both, false).at(1).values->at(0), "south") << "all names are public";
  expect_error(ExitCode::kData, {"that the sample lacks", "--header"},
               [&] { draft_columns(words, &one, false); });
  DataSpec spec = file("years.csv", "2019,2020\n1,x\n");
  EXPECT_EQ(draft_columns(spec, nullptr, true).at(1).name, "2020");
  spec.header = false;
  const auto columns = draft_columns(spec, nullptr, false);
  EXPECT_EQ(columns.at(1).name, "column-2");
  EXPECT_EQ(columns.at(0).type, ColumnType::kInteger) << "the first row counts";
  EXPECT_EQ(columns.at(1).type, ColumnType::kCategory);
  expect_error(ExitCode::kData, {"name 2", "is empty"}, [&] { draft("a,,b\n"); });
  expect_error(ExitCode::kData, {"name 3", "twice"}, [&] { draft("a,b,a\n"); });
  expect_error(ExitCode::kData, {"is empty"}, [&] { draft(""); });
  expect_local_detail(ExitCode::kData, {"no row"}, {"row 2", "3 fields"},
                      [&] { draft("a,b\n1,2\n1,2,3\n"); });
}

TEST_F(TableDraft, ProposesNotationsThatFitAllFields) {
  const auto format = [&](const std::vector<std::string>& fields) { return sampled(fields).notation.format; };
  EXPECT_EQ(format({"13.1.1962", "2.2.1951"}), "%-d.%-m.%Y");
  EXPECT_EQ(format({"13.01.1962", "02.02.1951"}), "%d.%m.%Y");
  EXPECT_EQ(format({"1/13/1962", "2/2/1951"}), "%-m/%-d/%Y");
  EXPECT_EQ(format({"01MAR2024", "15DEC2023"}), "%d%^b%Y");
  EXPECT_EQ(format({"2024-03-01T10:20:30.123+01:00", "2024-03-02T00:00:00.000+01:00"}),
            "%Y-%m-%dT%H:%M:%S.%3f+01:00");
  EXPECT_EQ(format({"2024-03-01 00:00:00", "2024-03-02 00:00:00"}), "%Y-%m-%d 00:00:00");
  EXPECT_EQ(sampled({"2024-03-01 00:00:00", "2024-03-02 00:00:00"}).type, ColumnType::kDate);
  EXPECT_EQ(format({"2024-03-01", "2024-03-02"}), "");
  EXPECT_EQ(format({"24 May 1990", "1 March 2024"}), "%-d %B %Y");
  EXPECT_EQ(format({"20240301T102030Z", "20240302T112031Z"}), "%Y%m%dT%H%M%SZ");
  EXPECT_EQ(format({"12h30", "9h05"}), "%-Hh%M");
  EXPECT_EQ(format({"7 AM", "12 PM"}), "%-I %p");
  EXPECT_EQ(format({"07pm", "11am"}), "%I%P");
  EXPECT_EQ(sampled({"7 AM", "12 PM"}).hi, 82800);
  EXPECT_EQ(format({"12:30 Uhr", "09:05 Uhr"}), "%H:%M Uhr");
  // A fraction that is left out where it is 0, or without its zeros.
  EXPECT_EQ(format({"2024-03-01T10:20:30Z", "2024-03-01T10:20:30.25Z", "2024-03-01T10:20:30.123456Z",
                    "2024-03-01T10:20:31.654321Z"}),
            "%Y-%m-%dT%H:%M:%S.%6fZ");
  EXPECT_EQ(format({"2013\u5E748\u670820\u65E5", "2013\u5E7412\u67081\u65E5"}), "%Y\u5E74%-m\u6708%-d\u65E5");
  EXPECT_EQ(format(std::vector<std::string>(20, "20240301102031")), "%Y%m%d%H%M%S");
  EXPECT_EQ(sampled(std::vector<std::string>(20, "77240301102031")).type, ColumnType::kInteger)
      << "no such year";
  EXPECT_EQ(format(std::vector<std::string>(20, "31122024")), "%d%m%Y");
  std::vector<std::string> short_years(20, "930131");
  EXPECT_EQ(sampled(short_years).type, ColumnType::kInteger) << "so few years may be numbers";
  short_years.push_back("950705");
  EXPECT_EQ(format(short_years), "%y%m%d");
  EXPECT_FALSE(sampled(short_years).lo) << "which century nobody has said";
  const std::vector<std::string> minutes(8, "2024-03-01 10:20:00");
  EXPECT_EQ(format(minutes), "%Y-%m-%d %H:%M:00");
  EXPECT_EQ(sampled({"10:20", "9:05"}).type, ColumnType::kTime);
  EXPECT_EQ(format({"10:20:30 PM", "09:05:00 AM"}), "%I:%M:%S %p");
  // Two offsets, a day that is none, another order in one field: no format fits all.
  for (const auto& fields :
       {std::vector<std::string>{"2024-03-01T10:20:30+01:00", "2024-07-01T10:20:30+02:00"},
        {"13.1.1962", "31.2.1951"},
        {"13/1/1962", "1/13/1962"},
        {"Dec-2011", "Jan-2012"}}) {
    const DraftColumn c = sampled(fields);
    EXPECT_EQ(c.type, ColumnType::kCategory);
    EXPECT_TRUE(c.note.starts_with(kUnknownNotation)) << c.note;
  }
  EXPECT_EQ(sampled({"20240301", "20240302"}).type, ColumnType::kInteger) << "so few may be numbers";
}

TEST_F(TableDraft, LeavesOpenWhatNothingTellsApart) {
  const DraftColumn dates = sampled({"3/4/2020", "5/6/2020"});
  ASSERT_EQ(dates.choices.size(), 2U);
  EXPECT_TRUE(dates.is_open());
  EXPECT_EQ(sampled({"03/04/20", "05/06/20"}).choices.size(), 3U);
  EXPECT_FALSE(sampled({"13/4/20", "25/6/20"}).lo) << "which century nobody has said";
  const DraftColumn marks = sampled({"1,101", "60,160"});
  ASSERT_EQ(marks.choices.size(), 2U);
  // Another column of the file tells, and so does a number of either kind.
  const auto second = [&](const std::string& bytes) {
    const DataSpec sample = file("sample.csv", bytes);
    return draft_columns(sample, &sample, false).back();
  };
  EXPECT_EQ(second("a,b\n\"1,5\",\"1,101\"\n").notation.decimal_mark, ",");
  EXPECT_EQ(second("a,b\n1.5,\"1,101\"\n").notation.thousands_mark, ",");
  EXPECT_EQ(second("a,b\n\"1,5\",1.101\n").notation.thousands_mark, ".");
  EXPECT_EQ(second("a,b\n1.5,1.101\n").type, ColumnType::kDecimal);
  EXPECT_TRUE(second("a,b\n1.5,1.101\n").choices.empty());
  // Groups of three behind a point alone.
  const DraftColumn points = sampled({"932.073", "12.400"});
  ASSERT_EQ(points.choices.size(), 2U);
  EXPECT_EQ(points.choices[0].type, ColumnType::kDecimal);
  EXPECT_EQ(points.choices[1].notation.thousands_mark, ".");
  EXPECT_EQ(points.choices[1].type, ColumnType::kInteger);
  EXPECT_TRUE(points.is_open());
  EXPECT_EQ(sampled({"932.073", "1.204.332"}).notation.thousands_mark, ".");
  for (const char* other : {"1.5", "0.101", "1234.567", "1.1010"}) {
    EXPECT_EQ(sampled({"932.073", other}).type, ColumnType::kDecimal) << other;
    EXPECT_TRUE(sampled({"932.073", other}).choices.empty()) << other;
  }
  std::vector<std::string> small(40, "932.073");
  small.push_back("12");
  EXPECT_EQ(sampled(small).choices.size(), 2U) << "likely is not certain";
  EXPECT_FALSE(draft("a,b\n932.073,x\n12.400,y\n")[0].choices.empty()) << "of a private file, too";
  EXPECT_EQ(sampled({"1,101", "1,101,000"}).notation.thousands_mark, ",");
  EXPECT_EQ(sampled({"1,101", "0,101"}).notation.decimal_mark, ",");
}

TEST_F(TableDraft, CodesOfBoundsAreContent) {
  const DraftColumn c = sampled({"18", "<5", "7", "90+", "89", "90+"});
  EXPECT_EQ(c.type, ColumnType::kInteger);
  EXPECT_EQ(c.notation.top_code, "90+");
  EXPECT_EQ(c.notation.bottom_code, "<5");
  EXPECT_EQ(c.lo, 4);
  EXPECT_EQ(c.hi, 90);
  EXPECT_EQ(sampled({"18", "90", "90+"}).hi, 91) << "90 stands for itself";
  EXPECT_EQ(sampled({"18", "> 90"}).hi, 91);
  EXPECT_EQ(sampled({"18", "65 & over"}).notation.top_code, "65 & over");
  EXPECT_EQ(sampled({"18", "65 o m\xC3\xA1s"}).hi, 65);
  const DraftColumn pay = sampled({"$5,500", "$100,000+", "$99,000"});
  EXPECT_EQ(pay.notation.top_code, "$100,000+");
  EXPECT_EQ(pay.hi, 100000);
  EXPECT_EQ(sampled({"<0,5", "0,5", "12,5"}).notation.bottom_code, "<0,5");
  for (const auto& fields : {std::vector<std::string>{"18", "90+", "80+"}, {"10-14", "90+"}, {"95", "90+"}})
    EXPECT_EQ(sampled(fields).type, ColumnType::kCategory);
  const auto guesses = draft("age,n\n47,1\n90+,2\n");
  EXPECT_EQ(guesses[0].type, ColumnType::kInteger);
  const std::string text = schema::draft_toml(guesses, "");
  EXPECT_EQ(text.find("90+\n"), std::string::npos);
  EXPECT_NE(text.find("top_code = \"FILL-IN\""), std::string::npos) << text;
}

TEST_F(TableDraft, NumbersWithMarksHaveBoundsAndAGrid) {
  const DraftColumn euros = sampled({"1.234,50 \xE2\x82\xAC", "12,25 \xE2\x82\xAC"});
  EXPECT_EQ(euros.type, ColumnType::kDecimal);
  EXPECT_EQ(euros.decimals, 2);
  EXPECT_EQ(euros.hi, 1300);
  EXPECT_EQ(euros.notation.suffix, " \xE2\x82\xAC");
  EXPECT_EQ(sampled({"202'459.38", "1.50"}).decimals, 2);
  EXPECT_EQ(sampled({"(12)", "7"}).lo, -12);
  EXPECT_EQ(sampled({"$ (12.50)", "$ 7.00"}).notation.negative, "$ (1)");
  EXPECT_EQ(sampled({"$7.00", "$-12.50"}).notation.negative, "$-1");
  EXPECT_EQ(sampled({"7.0%", "(12.5)%"}).notation.negative, "(1)%");
  EXPECT_EQ(sampled({"$7.00", "-$12.50"}).notation.negative, "-1");
  EXPECT_EQ(sampled({"12 %", "7 %"}).type, ColumnType::kInteger);
  for (const auto& fields : {std::vector<std::string>{"12 %", "7"},
                             {"12 %", "7 kg"},
                             {"Ward 1", "Ward 2"},
                             {"V27", "V28"},
                             {"N0", "N1"},
                             {"007 %", "7 %"}})
    EXPECT_EQ(sampled(fields).type, ColumnType::kCategory) << fields[0];
}

}  // namespace
}  // namespace muffle::data::test
