// CSV of tables: dialects, headers, files that are several, and all that can be wrong with them.
#include <zlib.h>

#include <cstring>

#include "data/csv_rows.hpp"
#include "data/table_fixture.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/data/record_check.hpp"
#include "support/expect_error.hpp"
#include "support/mutate.hpp"

namespace muffle::data::test {
namespace {

using muffle::test::expect_error;
using muffle::test::expect_local_detail;
using Codes = std::vector<std::vector<int>>;

constexpr const char* kHeader = "age,height,job,note,income\n";

std::string gzipped(const std::string& bytes) {
  std::string out(compressBound(bytes.size()) + 64, '\0');
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

class Csv : public Tables {};

TEST_F(Csv, ComposedAndDecomposedTextsAreOne) {
  schema::Table table = people_table();
  table.columns[0].name = "\xC3\xA4ge";
  table.columns[2].values[0].name = "caf\xC3\xA9";
  DataSpec one = spec();
  one.schema = schema_of(table);
  put("people.csv",
      "a\xCC\x88ge,height,job,note,income\n20,1,caf\xC3\xA9,,<=50K\n20,1,cafe\xCC\x81,,<=50K\n"
      "20,1,\" cafe\xCC\x81 \",,<=50K\n");
  EXPECT_EQ(codes(one), Codes(3, {1, 1, 0, 0}));
  // A person, too.
  table.columns[2] = category("job", {}, schema::ColumnRole::kPerson);
  one.schema = schema_of(table);
  one.records_per_person = 1;
  const Batch all = read_all(one);
  EXPECT_EQ(std::count(all.y.begin(), all.y.end(), schema::kNoClass), 2);
}

// The columns padded, or as R's write.table writes them; samples too.
TEST_F(Csv, BlanksMayStandBetweenFields) {
  DataSpec blanks = spec();
  blanks.separator = kBlankSeparator;
  for (const char* bytes :
       {"age height job note income\n20 1.0 clerk x <=50K\n99 2.5 \"cook, chef\" \"\" >50K\n",
        "  age\theight   job  note income \r\n 20  1.0  clerk\tx    <=50K\r\n\r\n 99\t\t2.5  cook \"a\t b\" "
        ">50K. ",
        "age height job note income\n\"1\" 20 1 clerk x <=50K\n\"2\" 99 2.5 cook NA >50K\n"}) {
    put("people.csv", bytes);
    EXPECT_EQ(codes(blanks), Codes({{1, 1, 0, 0}, {3, 2, 1, 1}})) << bytes;
  }
  put("people.csv", "age height job note income\n20 1.0  x <=50K\n");
  expect_local_detail(ExitCode::kData, {"data.separator"}, {"row 1 of", "has 4 fields"},
                      [&] { codes(blanks); });
}

TEST_F(Csv, ReadsEverySpellingOfTheSameRows) {
  const Codes want{{1, 1, 0, 0}, {3, 2, 1, 1}, {0, 0, 3, 0}, {2, 1, 2, 1}};
  const std::string rows[] = {"20,1.0,clerk,x,<=50K", "99,2.5,\"cook, chef\",,>50K",
                              "0,0.0,?,\"a\n\"\"b\"\"\",<=50K.", "59,1.9,\"n\"\"urse\",y,>50K."};
  const auto lines = [&](const std::string& end) {
    std::string all;
    for (const std::string& row : rows) all += row + end;
    return all;
  };
  const std::string plain = kHeader + lines("\n");
  std::string crlf = plain;
  for (std::size_t at = 0; (at = crlf.find('\n', at)) != std::string::npos; at += 2) crlf.insert(at, 1, '\r');
  for (const std::string& bytes :
       {plain, crlf, kHeader + lines("\r"), "\xEF\xBB\xBF" + plain, plain.substr(0, plain.size() - 1),
        "\n" + plain + "\n\r\n  \n", gzipped(plain),
        gzipped(plain.substr(0, 40)) + gzipped(plain.substr(40))}) {
    put("people.csv", bytes);
    EXPECT_EQ(codes(spec()), want);
  }
  put("people.csv", "\xEF\xBB\xBF" + lines("\n"));
  DataSpec bare = spec();
  bare.header = false;
  EXPECT_EQ(codes(bare), want);
  put("people.csv", "income, note ,\"job\",height,age\n<=50K,,clerk,1.0,20\n");
  EXPECT_EQ(codes(spec()), Codes({want[0]})) << "columns in any order";
  put("people.csv", "income,job,height,age\n<=50K,clerk,1.0,20\n");
  EXPECT_EQ(codes(spec()), Codes({want[0]})) << "what is ignored need not be there";
}

TEST_F(Csv, TakesOtherSeparatorsCommentsAndBlanksAroundFields) {
  for (const char separator : {';', '\t', '|'}) {
    std::string bytes = std::string(kHeader) + "20, 1.0 ,clerk,,<=50K\n,,,,\n";
    std::replace(bytes.begin(), bytes.end(), ',', separator);
    put("people.csv", bytes);
    DataSpec other = spec();
    other.separator = separator;
    other.schema.on_error = schema::OnError::kClamp;
    EXPECT_EQ(codes(other), Codes({{1, 1, 0, 0}, {0, 0, 3, -1}})) << "separator " << separator;
  }
  put("adult.test",
      "|1x3 Cross \"validator\n\n|, \n20, 1.0, clerk, , <=50K.\n 99, 2.5, \"cook\" , |x, >50K.\n");
  DataSpec adult = spec("adult.test");
  adult.header = false;
  adult.comment = "|";
  EXPECT_EQ(codes(adult), Codes({{1, 1, 0, 0}, {3, 2, 1, 1}}));
}

// What pandas, R, spreadsheets and portals put around a table.
TEST_F(Csv, ColumnsWithoutANameAtEitherEndAreReadPast) {
  const Codes want{{1, 1, 0, 0}, {3, 2, 1, 1}};
  for (const char* bytes :
       {",age,height,job,note,income\n0,20,1.0,clerk,x,<=50K\n1,99,2.5,cook,,>50K\n",
        "\"\",\"age\",\"height\",\"job\",\"note\",\"income\"\n\"1\",20,1.0,\"clerk\",\"x\",\"<=50K\"\n"
        "\"2\",99,2.5,\"cook\",\"\",\">50K\"\n",
        "Unnamed: 0.1,Unnamed: 0,age,height,job,income\n0,0,20,1.0,clerk,<=50K\n5,5,99,2.5,cook,>50K\n",
        // A separator ends every line, the header or the rows alone, or is there twice.
        "age,height,job,income,\n20,1.0,clerk,<=50K,\n99,2.5,cook,>50K,\n",
        "age,height,job,income,\n20,1.0,clerk,<=50K\n99,2.5,cook,>50K\n",
        "age,height,job,income\n20,1.0,clerk,<=50K,\n99,2.5,cook,>50K,\n",
        "age,height,job,income,,\n20,1.0,clerk,<=50K,,\n99,2.5,cook,>50K,,\n",
        // R's write.table: the header has no name for the rows' names.
        "\"age\",\"height\",\"job\",\"note\",\"income\"\n\"1\",20,1.0,\"clerk\",\"x\",\"<=50K\"\n"
        "\"2\",99,2.5,\"cook\",\"\",\">50K\"\n"}) {
    put("people.csv", bytes);
    EXPECT_EQ(codes(spec()), want) << bytes;
    EXPECT_EQ(check_records(spec(), 0, 20).misfits, 0U) << bytes;
  }
  put("people.csv", "age,height,job,note,income,\n20,1.0,clerk,x,<=50K,,y\n");
  expect_local_detail(ExitCode::kData, {"no row"}, {"has 7 fields"}, [&] { codes(spec()); });
  put("people.csv", "age,height,job,note,income\n20,1.0,clerk,x,<=50K,y\n");
  expect_local_detail(ExitCode::kData, {"no row"}, {"has 6 fields"}, [&] { codes(spec()); });
  put("people.csv", "age,height,job,note,income\n1,20,1.0,clerk,x,<=50K\n1,99,2.5,cook,,>50K\n");
  expect_local_detail(ExitCode::kData, {"no row"}, {"has 6 fields"}, [&] { codes(spec()); });
  put("people.csv", "age,,height,job,note,income\n20,,1.0,clerk,x,<=50K\n");
  expect_error(ExitCode::kData, {"has 1 name that the schema does not know"}, [&] { codes(spec()); });
  // A schema that knows the name has the column.
  schema::Table table = people_table();
  table.columns[0].name = "Unnamed: 0";
  DataSpec named = spec();
  named.schema = schema_of(table);
  put("people.csv", "Unnamed: 0,height,job,income\n20,1.0,clerk,<=50K\n");
  EXPECT_EQ(codes(named), Codes({{1, 1, 0, 0}}));
}

TEST_F(Csv, LinesAboveTheHeaderAreSkipped) {
  const std::string rows = "20,1.0,clerk,x,<=50K\n";
  const Codes want{{1, 1, 0, 0}};
  DataSpec three = spec();
  three.skip = 3;
  for (const char* end : {"\n", "\r\n", "\r"}) {
    std::string above = "Report \"of, 2024\n\n# \xFF\n";
    for (std::size_t at = 0; (at = above.find('\n', at)) != std::string::npos; at += std::strlen(end))
      above.replace(at, 1, end);
    put("people.csv", above + kHeader + rows);
    EXPECT_EQ(codes(three), want);
    put("people.csv", "\xEF\xBB\xBF" + above + kHeader + rows);
    EXPECT_EQ(codes(three), want);
  }
  put("people.csv", "a title\n\nof 2024\n" + rows);
  DataSpec bare = three;
  bare.header = false;
  EXPECT_EQ(codes(bare), want);
  put("people.csv", "one line");
  expect_error(ExitCode::kData, {"is empty"}, [&] { codes(three); });
  put("people.csv", std::string("a title\nof 2024,x\n") + kHeader + rows);
  expect_error(ExitCode::kData, {"names few", "A later line is: data.skip"}, [&] { codes(spec()); });
}

TEST_F(Csv, ALineThatNamesTheSeparatorIsPassedOver) {
  DataSpec semicolon = spec();
  semicolon.separator = ';';
  for (const char* line : {"sep=;\n", "sep=;\r\n", "\"sep=;\"\n", "SEP=;\r"}) {
    put("people.csv", std::string(line) + "age;height;job;income\n20;1.0;clerk;<=50K\n");
    EXPECT_EQ(codes(semicolon), Codes({{1, 1, 0, 0}})) << line;
    expect_error(ExitCode::kData, {"\";\" stands between fields", "data.separator"}, [&] { codes(spec()); });
  }
  put("people.csv", std::string("sep=,\n") + kHeader);
  EXPECT_EQ(codes(spec()), Codes());
}

TEST_F(Csv, TextInOtherEncodings) {
  schema::Table table = people_table();
  table.columns[0].name = "\xC3\xA4ge";                          // a umlaut
  table.columns[2].values[0].name = "caf\xC3\xA9 \xE2\x82\xAC";  // e acute, euro
  const auto in = [&](const std::string& encoding) {
    DataSpec one = spec();
    one.schema = schema_of(table);
    one.encoding = encoding;
    return one;
  };
  const Codes want{{1, 1, 0, 0}, {3, 1, 1, 1}};
  const std::string rest = ",height,job,income\r\n20,1,\"caf", tail = "\",<=50K\r\n99,1,cook,>50K\r\n";
  put("people.csv", "\xE4ge" + rest + "\xE9 \x80" + tail);
  EXPECT_EQ(codes(in("windows-1252")), want);
  expect_local_detail(ExitCode::kData, {"no row", "data.encoding"}, {"not UTF-8"},
                      [&] { codes(in("utf-8")); });
  put("people.csv", gzipped("\xE4ge" + rest + "\xE9 \xA4" + tail));
  EXPECT_EQ(codes(in("iso-8859-15")), want);
  const auto utf16 = [&](bool big, bool mark) {
    std::string out;
    for (const char16_t c : (mark ? u"\uFEFF" : u"") + std::u16string(u"\u00E4ge") +
                                std::u16string(rest.begin(), rest.end()) + u"\u00E9 \u20AC" +
                                std::u16string(tail.begin(), tail.end())) {
      const char low = static_cast<char>(c & 0xFF), high = static_cast<char>(c >> 8);
      out += big ? high : low;
      out += big ? low : high;
    }
    return out;
  };
  for (const bool big : {false, true}) {
    put("people.csv", utf16(big, true));
    EXPECT_EQ(codes(in("utf-16")), want);
    EXPECT_EQ(codes(in(big ? "utf-16be" : "utf-16le")), want);
  }
  put("people.csv", utf16(false, false));
  EXPECT_EQ(codes(in("utf-16le")), want);
  const std::string cut = utf16(false, true);
  put("people.csv", cut.substr(0, cut.size() - 1));
  expect_error(ExitCode::kData, {"no text in data.encoding = \"utf-16\""}, [&] { codes(in("utf-16")); });
  // Latin-1 has every byte; windows-1252 lacks a few.
  put("people.csv", "\xE4ge,height,job,income\n20,1,\x81,<=50K\n");
  expect_local_detail(ExitCode::kData, {"no text in data.encoding = \"windows-1252\""}, {"after 27 bytes"},
                      [&] { codes(in("windows-1252")); });
  expect_error(ExitCode::kData, {"does not fit"}, [&] { codes(in("latin-1")); });
  // As long as several buffers, whose ends fall inside characters.
  std::string many = "\xC3\xA4ge,height,job,income\n";
  for (int i = 0; i < 40'000; ++i)
    many += i % 2 == 0 ? "20,1,caf\xC3\xA9 \xE2\x82\xAC,<=50K\n" : "99,1,cook,>50K\n";
  put("people.csv", many);
  const Codes same = codes(in("utf-8"));
  EXPECT_EQ(same.size(), 40'000U);
  EXPECT_TRUE(codes(in("UTF-8")) == same) << "by iconv";
  for (const char* unknown : {"latin-42", "", "utf-8//IGNORE"})
    expect_error(ExitCode::kData, {"iconv knows"}, [&] { codes(in(unknown)); });
}

TEST_F(Csv, ANameInOtherLettersIsAHint) {
  put("people.csv", "Age,height,JOB,income\n20,1.0,clerk,<=50K\n");
  expect_error(ExitCode::kData, {"lacks 'age', 'job'", "has 'age', 'job' in other capital or small letters"},
               [&] { codes(spec()); });
  put("people.csv", "AGE,HEIGHT,JOB,INCOME\n20,1.0,clerk,<=50K\n");
  expect_error(ExitCode::kData, {"has 'age', 'height', 'job', 'income' in other"}, [&] { codes(spec()); });
}

// A record may not decide whether it is one: behind the header, or without one behind the first row, every
// line is.
TEST_F(Csv, ARecordThatBeginsLikeACommentIsARow) {
  DataSpec one = spec();
  one.comment = "#";
  one.schema.on_error = schema::OnError::kClamp;
  put("people.csv", std::string("# by hand\n") + kHeader +
                        "#20,1.0,clerk,,<=50K\n20,1.0,clerk,,<=50K\n#20,1,clerk,,<=50K\n");
  EXPECT_EQ(open_records(one)->records(), 3U);
  EXPECT_EQ(codes(one), Codes({{0, 1, 0, -1}, {1, 1, 0, 0}, {0, 1, 0, -1}}));
  put("people.csv", std::string(kHeader) + "20,1.0,clerk,,<=50K\n# no row of these columns\n");
  expect_local_detail(ExitCode::kData, {"no row"}, {"row 2 of", "1 field,"}, [&] { read_all(one); });
  one.header = false;
  put("people.csv", "#20,1.0,clerk,,<=50K\n20,1.0,clerk,,<=50K\n#20,1,clerk,,<=50K\n");
  EXPECT_EQ(codes(one), Codes({{1, 1, 0, 0}, {0, 1, 0, -1}}));
}

TEST_F(Csv, GoesOverAllFilesThatMatchInTheOrderOfTheirNames) {
  put("v-2.csv", std::string(kHeader) + "2,0,?,,<=50K\n");
  put("v-10.csv", "height,age,job,income\n0,30,?,<=50K\n0,50,?,<=50K\n");
  put("v-3.csv", kHeader);
  put("v-4.csv", gzipped(std::string(kHeader) + "70,0,?,,>50K\n"));
  put("w-1.csv", "no table at all");
  const DataSpec all = spec("v-*.csv");
  const Codes want{{1, 0, 3, 0}, {2, 0, 3, 0}, {0, 0, 3, 0}, {3, 0, 3, 1}};
  EXPECT_EQ(codes(all), want);
  for (const ShardRule rule : {ShardRule::kContiguous, ShardRule::kRoundRobin}) {
    for (int ranks = 2; ranks <= 5; ++ranks) {
      DataSpec shared = all;
      shared.shards = rule;
      Codes found(4);
      for (int rank = 0; rank < ranks; ++rank) {
        const Codes some = codes(shared, rank, ranks);
        for (std::size_t i = 0; i < some.size(); ++i) {
          const auto r = static_cast<std::size_t>(rank), k = static_cast<std::size_t>(ranks);
          found.at(rule == ShardRule::kRoundRobin ? r + i * k : r * 4 / k + i) = some[i];
        }
      }
      EXPECT_EQ(found, want);
    }
  }
  put("a[1].csv", std::string(kHeader) + "2,0,?,,<=50K\n");
  EXPECT_EQ(codes(spec("a[1].csv")).size(), 1u) << "a file of that very name";
}

TEST_F(Csv, ReadsSetsOfPartsByTheNameOfAnyOne) {
  for (const char* part : {"s-00000-of-00002.csv", "s-00001-of-00002.csv"})
    put(part, std::string(kHeader) + "2,0,?,,<=50K\n");
  put("s.csv", "another");
  DataSpec parts = written_records(folder_ / "s-00001-of-00002.csv");
  parts.schema = schema_of(people_table());
  EXPECT_EQ(codes(parts).size(), 2u);
  std::filesystem::remove(folder_ / "s-00001-of-00002.csv");
  expect_error(ExitCode::kData, {"2 parts", "-of-00002.csv", "missing"}, [&] { read_all(parts); });
}

TEST_F(Csv, ClampsWhatDoesNotFitAndCountsWhatNothingCanTakeThePlaceOf) {
  put("people.csv",
      std::string(kHeader) + "-3,9.9,baker,,<=50K\n250,x,,,>50K\n7,1,clerk,,rich\n,1,clerk,,>50K\n");
  DataSpec clamp = spec();
  clamp.schema.on_error = schema::OnError::kClamp;
  EXPECT_EQ(codes(clamp), Codes({{0, 2, 3, 0}, {3, 0, 3, -1}, {0, 1, 0, -1}, {0, 1, 0, -1}}));
  const auto stream = open_records(clamp);
  Row row;
  for (int i = 0; i < 4; ++i) stream->read(row);
  const std::string misfits = stream->misfits();
  for (const char* part : {"'age': 1 field is below", "'age': 1 field is above", "'age': 1 field is missing",
                           "'height': 1 field is above", "'height': 1 field is not a number",
                           "'job': 1 field is not one of", "'income': 1 field is not one of"})
    EXPECT_THAT(misfits, testing::HasSubstr(part));
  EXPECT_THAT(misfits, testing::Not(testing::HasSubstr("baker")));
}

/// What is wrong with a file, and who may know what.
struct Bad {
  const char* name;
  std::string bytes;
  std::vector<std::string> open;   ///< in the public message
  std::vector<std::string> local;  ///< in the rank's own log
  bool header = true;
};

std::vector<Bad> bad_files() {
  const std::string header = kHeader, good = header + "20,1.0,clerk,SECRET,<=50K\n";
  const std::vector<std::string> line{"no row", "CSV"}, field{"does not fit", "on_error"};
  const std::string row2 = "row 2 of";
  return {
      {"a column too many", good + "20,1.0,clerk,,<=50K,SECRET\n", line, {row2, "6 fields", "5 columns"}},
      {"a column too few", good + "20,1.0,clerk,SECRET\n", line, {row2, "4 fields", "5 columns"}},
      {"one field", good + "SECRET\n", line, {row2, "1 field,"}},
      {"another separator", header + "20;1.0;clerk;SECRET;<=50K\n", line, {"row 1 of", "1 field,"}},
      {"a bare quote", good + "20,1.0,SEC\"RET,,<=50K\n", line, {row2, "quote inside field 3"}},
      {"two bare quotes", good + "20,1.0,SEC\"RET\",,<=50K\n", line, {row2, "quote inside field 3"}},
      {"text behind a quote", good + "20,1.0,\"cook\"SECRET,,<=50K\n", line, {row2, "field 3", "behind"}},
      {"a quote that is not doubled", good + "20,1.0,\"SEC\"RET\",,<=50K\n", line, {row2, "field 3"}},
      {"a quote that is never closed",
       good + "20,1.0,\"clerk,SECRET,<=50K\n" + good,
       line,
       {row2, "never closed"}},
      {"a quote that opens at the end", good + "20,1.0,\"", line, {row2, "field 3", "never closed"}},
      {"an unknown category", good + "20,1.0,SECRET,,<=50K\n", field, {row2, "'job'", "not one of"}},
      {"an unknown label", good + "20,1.0,clerk,,SECRET\n", field, {row2, "'income'", "not one of"}},
      {"below its bounds", good + "-1,1.0,clerk,SECRET,<=50K\n", field, {row2, "'age'", "below"}},
      {"above its bounds", good + "20,2.6,clerk,SECRET,<=50K\n", field, {row2, "'height'", "above"}},
      {"no number", good + "SECRET,1.0,clerk,,<=50K\n", field, {row2, "'age'", "whole number"}},
      {"a fraction of a whole number", good + "20.5,1.0,clerk,,<=50K\n", field, {row2, "'age'", "whole"}},
      {"NaN", good + "20,NaN,clerk,SECRET,<=50K\n", field, {row2, "'height'", "not a number"}},
      {"infinity", good + "20,inf,clerk,SECRET,<=50K\n", field, {row2, "'height'", "not a number"}},
      {"a decimal comma", header + "20,\"1,5\",clerk,SECRET,<=50K\n", field, {"row 1 of", "'height'"}},
      {"a number that overflows", good + "1e999,1.0,clerk,SECRET,<=50K\n", field, {row2, "'age'"}},
      {"a missing value", good + ",1.0,clerk,SECRET,<=50K\n", field, {row2, "'age'", "is missing"}},
      {"Latin-1",
       good + "20,1.0,clerk,SECR\xC9T,<=50K\n",
       line,
       {row2, "not UTF-8 (is data.encoding \"windows-1252\" or \"utf-16\"?) in field 4"}},
      {"an overlong character", good + "20,1.0,clerk,\xC0\x80,<=50K\n", line, {row2, "not UTF-8"}},
      {"a surrogate", good + "20,1.0,clerk,\xED\xA0\x80,<=50K\n", line, {row2, "not UTF-8"}},
      {"a character that is cut off", good + "20,1.0,clerk,\xE2\x82,<=50K\n", line, {row2, "not UTF-8"}},
      {"a NUL byte", good + std::string("20,1.0,\"cl,\0erk\",,<=50K\n", 24), line, {row2, "NUL", "field 3"}},
      {"UTF-16",
       std::string("\xFF\xFE"
                   "a\0g\0e\0",
                   8),
       line,
       {"the header of", "not UTF-8"}},
      {"a spreadsheet", "PK\x03\x04 and more", line, {"the header of", "save it as CSV"}},
      {"JSON", "[{\"age\": 31, \"job\": \"cook\"}]", line, {"the header of", "a JSON file"}},
      {"Parquet", std::string("PAR1\x15\0\x15", 7), line, {"the header of", "a Parquet file"}},
      {"columns named as Parquet and bzip2 begin",
       "PAR1,BZhigh\n1,2\n",
       {"names few of the schema's columns"},
       {}},
      {"a first column named as bzip2 begins",
       "BZhigh,PAR1\n1,2\n",
       {"names few of the schema's columns"},
       {}},
      {"bzip2 -1", "BZh11AY&SY\x11", line, {"the header of", "bzip2"}},
      {"bzip2", "BZh91AY&SY\x11", line, {"the header of", "bzip2"}},
      {"a web page", "<!DOCTYPE html>", line, {"the header of", "a web page"}},
      {"a NumPy file", "\x93NUMPY\1", line, {"the header of", "data.format = \"npz\""}},
      {"a field above 1 MiB",
       good + "20,1.0,clerk," + std::string((1 << 20) + 1, 'S') + ",<=50K\n",
       line,
       {row2, "longer than 1 MiB"}},
      {"a field above 4 MiB",
       good + "20,1.0,clerk," + std::string(6 << 20, 'S') + ",<=50K\n",
       line,
       {row2, "longer than 4 MiB"}},
      {"an empty file", "", {"is empty", "data.header"}, {}},
      {"blank lines alone", "\n\r\n \n", {"is empty"}, {}},
      {"no header, but a name in a row", "age,1.0,clerk,SECRET,<=50K\n", {"first line", "data.header"}, {}},
      {"no header", "20,1.0,clerk,SECRET,<=50K\n", {"first line", "data.header"}, {}},
      {"a header where there should be none", good, field, {"row 1 of", "'age'"}, false},
      {"columns that are there twice", "age,age,height,height,job,income\n", {"'age', 'height' twice"}, {}},
      {"missing columns", "height,note,income\n", {"lacks 'age', 'job'"}, {}},
      {"unknown columns",
       "age,height,job,note,income,SURPRISE\n",
       {"has 1 name that the schema does not know"},
       {"name 6"}},
      {"a truncated .gz", gzipped(good).substr(0, 50), {"truncated"}, {}},
      {"a damaged .gz", gzipped(good).replace(30, 4, "????"), {"damaged"}, {}},
      {"text behind a .gz", gzipped(good) + "SECRET", {"after the end"}, {}},
      {"binary", std::string("\x80\0\1\2\3\4\5", 7), line, {"the header of"}},
  };
}

TEST_F(Csv, RefusesBadFilesAndSaysWhereWithoutAWordOfWhatIsThere) {
  EXPECT_GE(bad_files().size(), 30u);
  for (const Bad& bad : bad_files()) {
    SCOPED_TRACE(bad.name);
    put("people.csv", bad.bytes);
    DataSpec one = spec();
    one.header = bad.header;
    std::string message, detail;
    try {
      read_all(one);
    } catch (const DataError& error) {
      message = error.what();
      detail = error.local_detail();
    }
    EXPECT_THAT(message, testing::HasSubstr("people.csv"));
    for (const std::string& part : bad.open) EXPECT_THAT(message, testing::HasSubstr(part));
    for (const std::string& part : bad.local) EXPECT_THAT(detail, testing::HasSubstr(part));
    for (const std::string& part : bad.local) EXPECT_THAT(message, testing::Not(testing::HasSubstr(part)));
    for (const char* content : {"SECRET", "SEC", "RET", "SSS", "1.0", "clerk"})
      EXPECT_THAT(message + detail, testing::Not(testing::HasSubstr(content)));
  }
}

TEST_F(Csv, RefusesFilesThatAreNotThereOrDoNotBelongTogether) {
  expect_error(ExitCode::kData, {"no file matches", "visits-*.csv"}, [&] { read_all(spec("visits-*.csv")); });
  expect_error(ExitCode::kIo, {"visits.csv"}, [&] { read_all(spec("visits.csv")); });
  put("v-1.csv", std::string(kHeader) + "20,1.0,clerk,,<=50K\n");
  put("v-2.csv", "age,height,job,note,wage\n20,1.0,clerk,,<=50K\n");
  expect_local_detail(ExitCode::kData, {"v-2.csv", "different columns", "lacks 'income'"}, {"name 5"},
                      [&] { read_all(spec("v-*.csv")); });
  DataSpec labels = spec("v-1.csv");
  labels.labels = "v-2.csv";
  expect_error(ExitCode::kData, {"data.labels", "column"}, [&] { read_all(labels); });
  DataSpec none = spec("v-1.csv");
  none.schema = {{3}, 2};
  expect_error(ExitCode::kData, {"csv", "data.schema"}, [&] { read_all(none); });
  DataSpec other = spec("v-1.csv");
  other.format = "idx";
  expect_error(ExitCode::kData, {"idx", "does not hold", "\"csv\""}, [&] { read_all(other); });
}

TEST_F(Csv, BadRowsOfOtherRanksAreTheirs) {
  put("people.csv", std::string(kHeader) + "20,1.0,clerk,,<=50K\n20,1.0,\xFF,,<=50K\n20,,,\n");
  EXPECT_EQ(codes(spec(), 0, 3).size(), 1u);
  expect_local_detail(ExitCode::kData, {"no row"}, {"row 2 of", "not UTF-8"},
                      [&] { read_all(spec(), 1, 3); });
  expect_local_detail(ExitCode::kData, {"no row"}, {"row 3 of", "4 fields"}, [&] { read_all(spec(), 2, 3); });
}

TEST_F(Csv, RowsAreCountedAsTheyAreRead) {
  muffle::test::Mutator mutate(5, {"\"", ",", "\n", "\r\n", "\"\"", " ", "|", "\xC3\xA9"});
  const std::string good =
      std::string(kHeader) + "20,1.0,\"cook, chef\",\"a\nb\",<=50K\n|c\n\n99,2.5,?,,>50K\n";
  int read = 0;
  for (int i = 0; i < 4000; ++i) {
    put("r.csv", mutate(good));
    const CsvDialect dialect{',', '|'};
    CsvRows counted((folder_ / "r.csv").string(), dialect), taken((folder_ / "r.csv").string(), dialect);
    bool could_count = false;
    try {
      while (counted.skip()) {
      }
      could_count = true;
    } catch (const DataError&) {  // of the last row alone
    }
    try {
      while (taken.read()) {
      }
    } catch (const DataError&) {
      EXPECT_LE(taken.rows(), counted.rows());
      continue;
    }
    EXPECT_TRUE(could_count);
    EXPECT_EQ(taken.rows(), counted.rows());
    ++read;
  }
  EXPECT_GT(read, 500);
}

// Two stray quotes make one legal field of all the rows between them; one makes it of the rest of the file.
TEST_F(Csv, StrayQuotesThatSwallowRowsAreTold) {
  const auto bytes = [](int swallowed, const std::string& end) {
    std::string all = std::string(kHeader) + "20,1.0,clerk,\"SECRET,<=50K\n";
    for (int i = 1; i < swallowed; ++i) all += "20,1.0,clerk,x,<=50K\n";
    return all + "20,1.0,clerk," + end + ",<=50K\n20,1.0,clerk,x,<=50K\n";
  };
  const auto told = [&](const std::string& text) {
    put("people.csv", text);
    CsvRows rows((folder_ / "people.csv").string(), {});
    while (rows.skip()) {
    }
    EXPECT_EQ(codes(spec()).size(), rows.rows() - 1) << "legal";
    return rows.long_rows();
  };
  EXPECT_EQ(told(bytes(100, "x\"")), "");
  const std::string text = told(bytes(101, "x\""));
  EXPECT_THAT(text, testing::HasSubstr("row 2 of"));  // of the lines, the header among them
  EXPECT_THAT(text, testing::HasSubstr("span 102 lines"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("SECRET")));
  put("people.csv", bytes(5, "x"));
  expect_local_detail(ExitCode::kData, {"no row"}, {"row 1 of", "field 4", "never closed"},
                      [&] { open_shard(spec(), 0, 1); });
}

TEST_F(Csv, RowsWithoutQuotesAreTakenApartAsLibcsvDoes) {
  muffle::test::Mutator mutate(6, {",", " ", "\t", "\n", "\r\n", ",,", " ,", "\xC3\xA9"});
  const std::string good = "age, height ,\tjob\t,note\n20,1.0, a b ,\n,,,x\r\n \t99,2.5,?, \n";
  const auto field = [](void* text, std::size_t n, void* all) {
    static_cast<std::vector<std::string>*>(all)->emplace_back(static_cast<const char*>(text), n);
  };
  const auto row = [](int, void* all) {
    static_cast<std::vector<std::string>*>(all)->emplace_back("end of row");
  };
  int compared = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string bytes = mutate(good);
    std::erase(bytes, '"');
    std::erase(bytes, '\0');
    if (valid_utf8(bytes) < bytes.size()) continue;
    const char separator = i % 2 == 0 ? ',' : '\t';
    put("r.csv", bytes);
    std::vector<std::string> want, got;
    csv_parser parser;
    ASSERT_EQ(csv_init(&parser, CSV_STRICT), 0);
    csv_set_delim(&parser, static_cast<unsigned char>(separator));
    csv_parse(&parser, bytes.data(), bytes.size(), field, row, &want);
    csv_fini(&parser, field, row, &want);
    csv_free(&parser);
    for (CsvRows rows((folder_ / "r.csv").string(), {separator}); rows.read();) {
      for (const std::string_view text : rows.fields()) got.emplace_back(text);
      got.emplace_back("end of row");
    }
    EXPECT_EQ(got, want) << bytes;
    ++compared;
  }
  EXPECT_GT(compared, 1000);
}

/// Small grids and large ones, with values below 0 and 1, as the schema spells them.
TEST_F(Csv, WritesNumbersAsTheSchemaSpellsThem) {
  schema::Table table;
  table.columns = {number("a", -50, 200000, 1, 0, {-50, 0, 5, 200001}),
                   number("b", -3, 3000, 0.01, 2, {-3, 0, 0.5, 3000.01}),
                   number("c", -1e-3, 1e-3, 1e-8, 8, {-1e-3, 0, 1e-3 + 1e-8}),
                   number("d", 0, 2.5, 0.1, 1, {0, 1, 2.6}),
                   number("e", -1e14, 1e14, 1, 0, {-1e14, 0, 1e14}),
                   number("day", -800, 300000, 1, 0, {-800, 300001})};
  table.columns.back().type = schema::ColumnType::kDate;
  const schema::Schema schema = schema_of(table);
  const CounterStream random(4, Stream::kTest);
  const std::vector<schema::ColumnText> texts(table.columns.begin(), table.columns.end());
  schema::Records some{{table.columns.size()}, {}, {}, std::vector<std::uint8_t>(4000)};
  std::string want = "a,b,c,d,e,day\n";
  for (std::uint64_t i = 0; i < some.count() * table.columns.size(); ++i) {
    const schema::ColumnText& text = texts[i % texts.size()];
    some.floats.push_back(static_cast<float>(random.uniform(i)));
    text.write(schema::cell_at(some.floats.back(), text.column().codes()), want);
    want += (i + 1) % texts.size() == 0 ? '\n' : ',';
  }
  schema::RecordKind kind = some.kind();
  kind.table = schema.table;
  const auto files = find_format("csv").writers(folder_.path(), "w", kind);
  files.front().writer->add(some);
  files.front().writer->finish([] {});
  EXPECT_EQ(read_file(folder_ / "w.csv"), want);
}

TEST_F(Csv, WritesTheColumnsInTheirOrderAndQuotesWhereItMust) {
  const schema::Schema schema = schema_of(people_table());
  const auto at = [](std::uint32_t code, std::size_t codes) {
    return schema::position({code, 0.51f}, codes);
  };
  const schema::Records some{
      {3},
      {},
      {at(1, 4), at(1, 3), at(1, 4), at(3, 4), at(2, 3), at(3, 4), at(0, 4), at(0, 3), at(2, 4)},
      {0, 1, 1}};
  const auto write = [&](const schema::Schema& s, const schema::Records& records) {
    schema::RecordKind kind = records.kind();
    kind.table = s.table;
    const auto files = find_format("csv").writers(folder_.path(), "w", kind);
    files.front().writer->add(records);
    files.front().writer->finish([] {});
    return read_file(folder_ / "w.csv");
  };
  EXPECT_EQ(write(schema, some),
            "age,height,job,income\n30,1.5,\"cook, chef\",<=50K\n80,2.3,?,>50K\n10,0.5,\"n\"\"urse\",>50K\n");
  DataSpec back = written_records(folder_ / "w.csv");
  back.schema = schema;
  const Codes want{{1, 1, 1, 0}, {3, 2, 3, 1}, {0, 0, 2, 1}};
  EXPECT_EQ(codes(back), want);
  // As the files of the records are written: another separator, no header, all texts in quotes.
  schema::RecordKind kind = some.kind();
  kind.table = schema.table;
  for (const bool header : {false, true}) {
    kind.text = {.separator = ';', .header = header, .quote_texts = true};
    const auto files = find_format("csv").writers(folder_.path(), "w", kind);
    files.front().writer->add(some);
    files.front().writer->finish([] {});
    const std::string names = "\"age\";\"height\";\"job\";\"income\"\n";
    const std::string rows =
        "30;1.5;\"cook, chef\";\"<=50K\"\n80;2.3;\"?\";\">50K\"\n10;0.5;\"n\"\"urse\";\">50K\"\n";
    EXPECT_EQ(read_file(folder_ / "w.csv"), (header ? names : "") + rows);
    DataSpec like;
    like.separator = ';';
    like.header = header;
    DataSpec other = written_records(folder_ / "w.csv", like);
    other.schema = schema;
    EXPECT_EQ(codes(other), want) << "without the ignored column";
  }
  kind.text = {.separator = kBlankSeparator, .header = true, .quote_texts = false};
  {
    const auto files = find_format("csv").writers(folder_.path(), "w", kind);
    files.front().writer->add(some);
    files.front().writer->finish([] {});
    EXPECT_EQ(
        read_file(folder_ / "w.csv"),
        "age height job income\n30 1.5 \"cook, chef\" <=50K\n80 2.3 ? >50K\n10 0.5 \"n\"\"urse\" >50K\n");
    DataSpec like;
    like.separator = kBlankSeparator;
    DataSpec other = written_records(folder_ / "w.csv", like);
    other.schema = schema;
    EXPECT_EQ(codes(other), want);
  }
  schema::Table one;
  one.columns.push_back(category(" a\nb", {{"", {}}, {"x", {}}}));
  const schema::Schema single = schema_of(one);
  EXPECT_EQ(write(single, {{1}, {}, {at(0, 2), at(1, 2)}, {0, 0}}), "\" a\nb\"\n\"\"\nx\n");
  back.schema = single;
  EXPECT_EQ(read_all(back).n, 2u) << "a row of one empty field is none of the blank lines";
}

}  // namespace
}  // namespace muffle::data::test
