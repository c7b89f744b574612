#include "muffle/schema/table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "muffle/schema/key_text.hpp"
#include "muffle/schema/schema.hpp"
#include "muffle/schema/table_text.hpp"
#include "muffle/schema/table_toml.hpp"
#include "support/expect_error.hpp"

namespace muffle::schema {
namespace {

using ::testing::HasSubstr;

constexpr const char* kVisits = R"(
[[columns]]
name = "age"
type = "integer"
lo = 0
hi = 99
bins = 10
unit = "years"
missing = ["NA", ""]
[[columns]]
name = "weight"
type = "decimal"
lo = 0
hi = 200
decimals = 1
bins = [0, 50, 80, 200]
[[columns]]
name = "ward"
type = "category"
values = ["north", "south"]
aliases = { north = ["N", "Nord"] }
[[columns]]
name = "admitted"
type = "date"
lo = 2000-01-01
hi = "2009-12-31"
[[columns]]
name = "left"
type = "datetime"
lo = "2000-01-01 00:00:00"
hi = "2009-12-31 23:59:00"
step = 60
time_of_day = false
[[columns]]
name = "cost"
type = "integer"
lo = 0
hi = 1000000
bins = 8
spacing = "logarithmic"
[[columns]]
name = "note"
type = "ignore"
[[columns]]
name = "who"
type = "category"
role = "person"
[[columns]]
name = "ill"
type = "boolean"
role = "label"
)";

Table visits() { return parse_table_toml(kVisits, "visits.toml"); }

std::string written(const ColumnText& column, std::string_view field) {
  const FieldReading reading = column.read(field);
  EXPECT_EQ(reading.misfit, Misfit::kNone) << field;
  std::string out;
  if (reading.cell) column.write(*reading.cell, out);
  return out;
}

TEST(TableToml, ReadsEveryTypeAndRole) {
  const Table table = visits();
  ASSERT_EQ(table.columns.size(), 9u);
  EXPECT_EQ(table.features(), (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(table.label(), 8u);
  EXPECT_EQ(table.person(), 7u);
  EXPECT_EQ(table.codes(), (std::vector<std::size_t>{11, 3, 2, 256, 256, 8}));
  EXPECT_EQ(table.columns[0].unit, "years");
  EXPECT_EQ(table.columns[5].edges.front(), 0.0);
  EXPECT_EQ(table.columns[5].edges.at(1), 1.0) << "0 has a bin of its own";
  EXPECT_EQ(table.columns[8].values.at(1).name, "true");
}

TEST(TableToml, APersonOfATypeOfNumbersIsANumber) {
  const Table texts = visits();
  EXPECT_FALSE(texts.columns[7].numeric);
  for (const char* type : {"integer", "decimal"}) {
    std::string toml = kVisits;
    const std::string as_text = "name = \"who\"\ntype = \"category\"";
    toml.replace(toml.find(as_text), as_text.size(), fmt::format("name = \"who\"\ntype = \"{}\"", type));
    const Table numbers = parse_table_toml(toml, "visits.toml");
    EXPECT_TRUE(numbers.columns[7].numeric);
    EXPECT_NE(table_hash(numbers), table_hash(texts)) << "other rows count";
    const nlohmann::json json = to_json(numbers);
    const JsonDocument document{"a.mfl", "a release", "Copy it again."};
    EXPECT_EQ(read_table(JsonFields(json, document, "table.")), numbers);
    EXPECT_EQ(differences(numbers, texts), "column 'who': type");
  }
}

TEST(TableToml, FieldsComeBackAsTheyWere) {
  const Table table = visits();
  const std::vector<std::pair<std::size_t, std::vector<std::string>>> cases{
      {0, {"0", "7", "99", "NA"}},
      {1, {"0.0", "49.9", "50.0", "73.2", "200.0"}},
      {2, {"north", "south"}},
      {3, {"2000-01-01", "2004-02-29", "2009-12-31"}},
      {4, {"2000-01-01T00:00:00", "2003-07-09T12:34:00", "2009-12-31T23:59:00"}},
      {5, {"0", "1", "17", "999999", "1000000"}}};
  for (const auto& [j, fields] : cases) {
    const ColumnText column(table.columns[j]);
    for (const std::string& field : fields) EXPECT_EQ(written(column, field), field);
  }
  EXPECT_EQ(written(ColumnText(table.columns[2]), " Nord "), "north");
  EXPECT_EQ(written(ColumnText(table.columns[0]), ""), "NA") << "written by the first spelling";
  EXPECT_EQ(written(ColumnText(table.columns[1]), "12.34"), "12.3") << "to the nearest of the grid";
}

TEST(TableToml, FieldsSurviveAsPositions) {
  for (const Column& c : visits().columns) {
    if (!c.is_feature()) continue;
    const ColumnText column(c);
    for (std::uint32_t code = 0; code < c.codes(); ++code) {
      for (const float fraction : {0.01f, 0.5f, 0.99f}) {
        std::string field, again;
        column.write({code, fraction}, field);
        const FieldReading reading = column.read(field);
        ASSERT_TRUE(reading.cell) << c.name << " " << field;
        EXPECT_EQ(reading.cell->code, code) << c.name << " " << field;
        if (c.type == ColumnType::kDatetime) continue;  // more values than float32 tells apart
        column.write(cell_at(position(*reading.cell, c.codes()), c.codes()), again);
        EXPECT_EQ(field, again) << c.name;
      }
    }
  }
}

TEST(TableToml, MisfitsAreNamedAndClamped) {
  const Table table = visits();
  const auto read = [&](std::size_t j, std::string_view field) {
    return ColumnText(table.columns[j]).read(field);
  };
  EXPECT_EQ(read(0, "seven").misfit, Misfit::kNotANumber);
  EXPECT_EQ(read(0, "7.5").misfit, Misfit::kNotANumber);
  EXPECT_EQ(read(0, "seven").cell->code, table.columns[0].missing_code()) << "becomes the missing value";
  EXPECT_EQ(read(0, "-1").misfit, Misfit::kBelow);
  EXPECT_EQ(read(0, "-1").cell->code, 0u);
  EXPECT_EQ(read(0, "1e9").misfit, Misfit::kAbove);
  EXPECT_EQ(read(0, "1e9").cell->code, 9u);
  EXPECT_EQ(read(1, "").misfit, Misfit::kAbsent);
  EXPECT_FALSE(read(1, "").cell) << "nothing can take its place";
  EXPECT_EQ(read(1, "nan").misfit, Misfit::kNotANumber);
  EXPECT_EQ(read(2, "West").misfit, Misfit::kUnknown);
  EXPECT_EQ(read(3, "2001-02-29").misfit, Misfit::kNotANumber);
  EXPECT_EQ(read(3, "1999-12-31").misfit, Misfit::kBelow);
  EXPECT_EQ(read(4, "2001-02-28T25:00:00").misfit, Misfit::kNotANumber);
}

TEST(TableToml, NumbersOfNumericFiles) {
  const Table table = visits();
  const ColumnText age(table.columns[0]), ward(table.columns[2]);
  EXPECT_EQ(age.number(*age.read(31.0).cell), 31.0);
  EXPECT_TRUE(std::isnan(age.number(*age.read(std::nan("")).cell)));
  EXPECT_EQ(age.read(31.5).misfit, Misfit::kNotANumber);
  EXPECT_EQ(ward.read(1.0).cell->code, 1u);
  EXPECT_EQ(ward.read(2.0).misfit, Misfit::kUnknown);
  EXPECT_EQ(ward.read(-1.0).misfit, Misfit::kUnknown);
}

TEST(TableToml, NumbersThatAreTextsOfAColumnMeanThese) {
  const auto column = [](const std::string& rest) {
    return ColumnText(parse_table_toml("[[columns]]\nname = \"a\"\n" + rest, "s").columns[0]);
  };
  const ColumnText grade = column("type = \"category\"\nvalues = [\"1\", \"2\", \"x\"]\nmissing = \"-9\"\n");
  EXPECT_TRUE(grade.numbers_are_texts());
  for (const auto& [number, text] : {std::pair{1.0, "1"}, {2.0, "2"}, {-9.0, "-9"}})
    EXPECT_EQ(grade.read(number).cell->code, grade.read(text).cell->code) << text;
  for (const double none : {0.0, 3.0, 1.5}) EXPECT_EQ(grade.read(none).misfit, Misfit::kUnknown) << none;
  const ColumnText index = column("type = \"category\"\nvalues = [\"0\", \"1\", \"x\"]\n");
  EXPECT_FALSE(index.numbers_are_texts()) << "text and index say the same";
  EXPECT_EQ(index.read(2.0).cell->code, 2u);
  EXPECT_EQ(column("type = \"category\"\nvalues = [\"01\", \"1\"]\n").read(1.0).misfit, Misfit::kUnknown);
  const ColumnText age = column("type = \"integer\"\nlo = -99\nhi = 99\nmissing = [\"\", \"-9\"]\n");
  EXPECT_EQ(age.read(-9.0).cell->code, age.column().missing_code()) << "as in a CSV file";
}

// A bin without a value is refused, so the tool's own may have none, whatever decimals do in binary.
TEST(TableToml, BinsOfDecimalsHoldEquallyManyValues) {
  int columns = 0;
  for (const int decimals : {0, 1, 2, 3, 6}) {
    const double unit = std::pow(10.0, -decimals);
    for (const std::int64_t lo : {-37, -7, 0, 1, 3, 17, 974}) {
      for (const std::int64_t steps : {1, 2, 3, 5, 10, 15, 16, 17, 31, 100, 999, 12345}) {
        for (const std::int64_t step : {1, 2, 3, 7}) {
          const auto decimal = [&](std::int64_t units) {
            return fmt::format("{:.{}f}", static_cast<double>(units) * unit, decimals);
          };
          const std::string column = fmt::format(
              "[[columns]]\nname = \"a\"\ntype = \"decimal\"\nlo = {}\nhi = {}\nstep = {}\ndecimals = {}\n",
              decimal(lo), decimal(lo + steps * step), decimal(step), decimals);
          for (const std::uint64_t bins : {3, 16, 100}) {
            const Column c = parse_table_toml(column + fmt::format("bins = {}\n", bins), "s").columns[0];
            const Grid grid(c);
            const std::uint64_t values = static_cast<std::uint64_t>(steps) + 1;
            ASSERT_EQ(grid.count(), values) << column;
            ASSERT_FALSE(c.learned);
            ASSERT_EQ(c.bins(), std::min(bins, values)) << column;
            for (std::uint32_t b = 0; b < c.bins(); ++b) {
              const std::uint64_t held = grid.first(b + 1) - grid.first(b);
              ASSERT_TRUE(held == values / c.bins() || held == values / c.bins() + 1) << column << b;
            }
          }
          const Column learned = parse_table_toml(column, "s").columns[0];
          const Grid fine(learned);
          ASSERT_TRUE(learned.learned);
          ASSERT_EQ(fine.first(1), 1u) << "the least value has a cell of its own: " << column;
          ASSERT_EQ(fine.first(learned.bins() - 1), fine.count() - 1) << "so has the largest: " << column;
          if (lo < 0 && -lo % step == 0 && -lo / step <= steps) {
            const std::uint32_t zero = fine.bin(fine.index(0.0));
            ASSERT_EQ(fine.first(zero + 1) - fine.first(zero), 1u) << "and zero: " << column;
          }
          if (lo >= 0) {
            ASSERT_NO_THROW(parse_table_toml(column + "spacing = \"logarithmic\"\n", "s")) << column;
          }
          ++columns;
        }
      }
    }
  }
  EXPECT_EQ(columns, 5 * 7 * 12 * 4);
}

TEST(TableToml, RefusesWhatContradictsItself) {
  const auto refused = [](const std::string& text, std::initializer_list<std::string> parts) {
    muffle::test::expect_error(ExitCode::kConfig, parts, [&] { (void)parse_table_toml(text, "s.toml"); });
  };
  const std::string a = "[[columns]]\nname = \"a\"\ntype = \"integer\"\n";
  refused("", {"s.toml", "no [[columns]]"});
  refused("x = = 1", {"s.toml", "line 1", "TOML"});
  refused("[[column]]\nname = 'a'", {"no key 'column'", "did you mean 'columns'"});
  refused(a + "lo = 0\n", {"column 'a' needs 'hi'"});
  refused(a + "lo = \"FILL-IN\"\nhi = 1\n", {"line 4", "'lo' is still \"FILL-IN\""});
  refused(a + "lo = 2\nhi = 1\n", {"column 'a'", "lo not above hi"});
  refused(a + "lo = 0\nhi = 9\nbins = [0, 5, 5, 10]\n", {"edges must be finite and ascend"});
  refused(a + "lo = 0\nhi = 9\nbins = [1, 10]\n", {"edges must span"});
  refused(a + "lo = 0\nhi = 9\nbins = [0, 0.2, 0.5, 10]\n", {"holds no value"});
  // No double is 2^53 + 1: it may not become 0, nor its neighbour.
  refused(a + "lo = 9007199254740993\nhi = 9007199254740999\n",
          {"(1) line 4: column 'a': lo has more digits", "(2) line 5"});
  refused(a + "lo = 0\nhi = 9\nbins = [0, 9007199254740993]\n", {"line 6: column 'a': bins has more digits"});
  refused(a + "lo = 0\nhi = 9\nstep = 9007199254740993\n", {"step has more digits"});
  refused(a + "lo = 0\nhi = 9\nvalues = [\"x\"]\n", {"'values' is for categories"});
  refused(a + "lo = 0\nhi = 9\nbims = 3\n", {"line 6", "did you mean 'bins'"});
  refused(a + "lo = 0\nhi = 9\nstep = 2\n", {"whole number of steps"});
  refused(a + "lo = -1\nhi = 9\nspacing = \"logarithmic\"\n", {"logarithmic bins need lo >= 0"});
  refused(a + "lo = 0\nhi = 9\n" + a + "lo = 0\nhi = 9\n", {"column 'a' is there twice"});
  refused("[[columns]]\nname = \"a\"\ntype = \"real\"\n", {"type must be one of", "\"decimal\""});
  refused("[[columns]]\nname = \"a\"\ntype = \"category\"\n", {"needs 'values'"});
  refused("[[columns]]\nname = \"a\"\ntype = \"category\"\nvalues = [\"x\", \"x\"]\n",
          {"\"x\" stands for two"});
  refused("[[columns]]\nname = \"a\"\ntype = \"category\"\nvalues = [\"x\"]\nmissing = [\"x\"]\n",
          {"\"x\" stands for two"});
  refused("[[columns]]\nname = \"a\"\ntype = \"ignore\"\n", {"no column is left to learn from"});
  refused(a + "lo = 0\nhi = 9\nrole = \"label\"\n", {"a label must be categories"});
}

TEST(TableToml, KeysSayHowTheyAreWrittenAndNothingElse) {
  const std::string key = "[[columns]]\nname = \"id\"\ntype = \"key\"\n";
  const auto parsed = [&](const std::string& says) {
    return parse_table_toml(key + says + kVisits, "s.toml");
  };
  const auto written = [](const Table& table, std::uint64_t number) {
    std::string out;
    KeyText(table.columns[0]).write(number, out);
    return out;
  };
  const Table plain = parsed(""), padded = parsed("prefix = \"P-\"\ndigits = 6\nsuffix = \"/x\"\n");
  EXPECT_EQ(written(plain, 12), "12");
  EXPECT_EQ(KeyText(plain.columns[0]).largest(), 999'999'999'999'999'999u);
  EXPECT_EQ(written(padded, 12), "P-000012/x");
  EXPECT_EQ(KeyText(padded.columns[0]).largest(), 999'999u);
  EXPECT_EQ(padded.codes(), visits().codes()) << "it is no number of a record";
  EXPECT_EQ(padded.label(), *visits().label() + 1);

  EXPECT_NE(table_hash(plain), table_hash(padded));
  EXPECT_EQ(differences(plain, padded), "column 'id': notation");
  const nlohmann::json json = to_json(padded);
  const JsonDocument document{"a.mfl", "a release", "Copy it again."};
  EXPECT_EQ(read_table(JsonFields(json, document, "table.")), padded);

  const auto refused = [&](const std::string& says, std::initializer_list<std::string> parts) {
    muffle::test::expect_error(ExitCode::kConfig, parts, [&] { (void)parsed(says); });
  };
  for (const char* other : {"lo = 0", "values = [\"x\"]", "missing = true", "role = \"person\"", "bins = 3"})
    refused(std::string(other) + "\n", {"line 4: column 'id'", "says nothing of such a column"});
  for (const char* digits : {"0", "19", "2.5", "\"6\""})
    refused(std::string("digits = ") + digits + "\n", {"digits needs a whole number from 1 to 18"});
  refused(
      "[[constraints]]\nkind = \"implies\"\nif = { column = \"ill\", is = [\"true\"] }\nthen = { column = "
      "\"id\", is = [\"1\"] }\n",
      {"constraint 1"});
  muffle::test::expect_error(
      ExitCode::kConfig, {"column 'age': only keys, and people with 'rows', have 'digits'"}, [&] {
        std::string text = kVisits;
        (void)parse_table_toml(text.replace(text.find("unit"), 0, "digits = 3\n"), "s.toml");
      });
  muffle::test::expect_error(ExitCode::kConfig, {"no column is left to learn from"},
                             [&] { (void)parse_table_toml(key, "s.toml"); });
  Table strange = padded;
  strange.columns[0].notation.top_code = "9+";
  strange.columns[0].missing = true;
  strange.columns[0].role = ColumnRole::kPerson;
  EXPECT_THAT(strange.problems(),
              testing::ElementsAre(HasSubstr("always there"), HasSubstr("no other notation"),
                                   HasSubstr("has a role and is a key")));
}

TEST(TableToml, TextsAreTrimmedAndComposedAsFieldsAre) {
  // "o" with a diaeresis, as one character, and as two.
  const std::string composed = "K\xC3\xB6ln", decomposed = "Ko\xCC\x88ln";
  const auto table = [](const std::string& town, const std::string& none) {
    return parse_table_toml(fmt::format(R"(
[[columns]]
name = " town "
type = "category"
values = [" a", "{0}", "c "]
aliases = {{ "{0} " = ["\u00A0 B \u00A0"], a = ["a", " A"] }}
missing = " {1} "
[[columns]]
name = "n"
type = "integer"
lo = 0
hi = 9
missing = [" NA", "-9 "]
[[constraints]]
kind = "implies"
if = {{ column = "town", is = [" {0}", "{1}"] }}
then = {{ column = " n", is = ["NA "] }}
)",
                                        town, none),
                            "t");
  };
  const Table one = table(composed, "\xC3\xA9"), other = table(decomposed, "e\xCC\x81");
  EXPECT_EQ(table_hash(one), table_hash(other)) << "sites compare what it says, not its bytes";
  EXPECT_EQ(one.columns[0].values[1].name, composed);
  const ColumnText town(other.columns[0]), n(other.columns[1]);
  const auto code = [](const ColumnText& column, std::string_view field) {
    const FieldReading reading = column.read(field);
    return reading.misfit == Misfit::kNone ? static_cast<int>(reading.cell->code) : -1;
  };
  for (const auto& [field, wanted] : {std::pair{std::string("a"), 0},
                                      {" a ", 0},
                                      {"A", 0},
                                      {composed, 1},
                                      {decomposed + "\t", 1},
                                      {"\u00A0" + decomposed + " \u3000", 1},
                                      {"\u2009c\u00A0", 2},
                                      {"B", 1},
                                      {"c", 2},
                                      {"\xC3\xA9", 3},
                                      {" e\xCC\x81", 3},
                                      {"", -1},
                                      {"Koln", -1},
                                      {"K\xFFln", -1}})
    EXPECT_EQ(code(town, field), wanted) << field;
  EXPECT_EQ(code(n, "NA"), static_cast<int>(one.columns[1].missing_code()));
  EXPECT_EQ(code(n, "-9"), static_cast<int>(one.columns[1].missing_code()));

  muffle::test::expect_error(ExitCode::kConfig, {"\"a\" stands for two"}, [] {
    parse_table_toml("[[columns]]\nname = \"y\"\ntype = \"category\"\nvalues = [\"a\", \" a\"]\n", "t");
  });
  // A table that no schema's file made.
  Table made = one;
  made.columns[0].values[0].aliases = {decomposed};
  EXPECT_THAT(made.problems(), testing::ElementsAre(HasSubstr("is not in NFC")));
  made.columns[0].values[0].aliases = {};
  made.columns[1].spellings = {"NA", " NA"};
  EXPECT_THAT(made.problems(), testing::ElementsAre(HasSubstr("blanks around it")));
}

TEST(TableJson, ComesBackAndTellsTablesApart) {
  Schema schema;
  describe_table(schema, std::make_shared<const Table>(visits()));
  EXPECT_EQ(schema.shape, std::vector<std::size_t>{6});
  EXPECT_EQ(schema.classes, 2u);
  const nlohmann::json spelling = to_json(schema);
  const JsonDocument document{"a.mfl", "a release", "Copy it again."};
  const Schema again = read_schema(JsonFields(spelling, document, "schema."));
  ASSERT_TRUE(again.table);
  EXPECT_EQ(*again.table, *schema.table);
  EXPECT_EQ(table_hash(*again.table), table_hash(*schema.table));
  Table other = *schema.table;
  other.columns[0].hi = 100;
  other.columns[2].values.push_back({"west", {}});
  EXPECT_NE(table_hash(other), table_hash(*schema.table));
  const std::string differ = differences(*schema.table, other);
  EXPECT_THAT(differ, HasSubstr("column 'age': bounds"));
  EXPECT_THAT(differ, HasSubstr("column 'ward': values"));
  EXPECT_EQ(column_hashes(other).size(), 9u);
}

TEST(TableJson, ALabelThatIsAColumnIsANumberOfARecord) {
  Schema labelled, schema;
  describe_table(labelled, std::make_shared<const Table>(visits()));
  describe_table(schema, std::make_shared<const Table>(with_label_as_column(visits())));
  EXPECT_EQ(schema.shape, std::vector<std::size_t>{labelled.shape.front() + 1});
  EXPECT_EQ(schema.classes, 1u);
  EXPECT_FALSE(schema.table->label());
  EXPECT_EQ(schema.table->target(), labelled.table->label());
  EXPECT_TRUE(schema.table->problems().empty());
  EXPECT_EQ(as_described(*schema.table), *labelled.table);
  EXPECT_NE(table_hash(*schema.table), table_hash(*labelled.table));
  const JsonDocument document{"a.mfl", "a release", "Copy it again."};
  const nlohmann::json spelling = to_json(schema);
  EXPECT_EQ(*read_schema(JsonFields(spelling, document, "schema.")).table, *schema.table);
  Table both = *schema.table;
  both.columns.push_back(both.columns[*both.target()]);
  both.columns.back().name = "again";
  both.columns.back().role = ColumnRole::kLabel;
  EXPECT_THAT(both.problems(), testing::ElementsAre(HasSubstr("role label")));
}

TEST(TableJson, RefusesStrangers) {
  Schema schema;
  describe_table(schema, std::make_shared<const Table>(visits()));
  const nlohmann::json good = to_json(schema);
  const JsonDocument document{"a.mfl", "a release", "Copy it again."};
  const auto refused = [&](auto&& change, std::initializer_list<std::string> parts) {
    nlohmann::json bad = good;
    change(bad);
    muffle::test::expect_error(ExitCode::kProtocol, parts,
                               [&] { (void)read_schema(JsonFields(bad, document, "schema.")); });
  };
  refused([](auto& j) { j["shape"] = {7u}; }, {"table", "other columns"});
  refused([](auto& j) { j["table"]["columns"][0]["type"] = "real"; }, {"type"});
  refused([](auto& j) { j["table"]["columns"][0]["edges"] = nlohmann::json::array(); },
          {"columns", "no bins"});
  refused([](auto& j) { j["table"]["columns"][1]["step"] = 1e-300; }, {"columns", "step"});
  refused([](auto& j) { j["table"]["columns"][0]["name"] = 3; }, {"name"});
  refused([](auto& j) { j["table"].erase("constraints"); }, {"constraints"});
  refused([](auto& j) { j["table"]["columns"] = nlohmann::json::array(); }, {"columns"});
  refused(
      [](auto& j) {
        j["table"]["constraints"].push_back({{"kind", "compare"}, {"columns", {0u, 99u}}, {"op", "<"}});
      },
      {"columns"});
}

}  // namespace
}  // namespace muffle::schema
