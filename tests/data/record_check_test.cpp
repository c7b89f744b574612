// Whole files against schema and settings: each misfit by row and column, none with content; what they hold.
#include "muffle/data/record_check.hpp"

#include "data/table_fixture.hpp"
#include "support/expect_error.hpp"

namespace muffle::data::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TableChecks : public Tables {
 protected:
  RecordCheck check(const std::string& bytes, const schema::Table& table, bool header = true) const {
    put("p.csv", bytes);
    DataSpec one = spec("p.csv");
    one.schema.table = std::make_shared<const schema::Table>(table);
    one.header = header;
    return check(one);
  }
  RecordCheck check(const DataSpec& spec) const {
    RecordCheck found = check_records(spec, 0, 20);
    for (std::string& place : found.places) {  // shorter: the folder's name is another each time
      for (std::size_t at; (at = place.find(folder_.path().string() + "/")) != std::string::npos;)
        place.erase(at, folder_.path().string().size() + 1);
    }
    return found;
  }
};

constexpr const char* kHeader = "age,height,job,note,income\n";

TEST_F(TableChecks, PointsAtRowAndColumn) {
  const RecordCheck found = check(std::string(kHeader) +
                                      "20,1.0,clerk,x,<=50K\n"
                                      "100,1.0,clerk,x,<=50K\n"
                                      "-1,x,?,x,>50K.\n"
                                      "\n"
                                      "3.5,,\"plumber\",,rich\n"
                                      "20,1.0,clerk,<=50K\n",
                                  people_table());
  EXPECT_EQ(found.records, 5U);
  EXPECT_THAT(found.places,
              ElementsAre("row 2 of 'p.csv', column 'age': the field is above the column's hi",
                          "row 3 of 'p.csv', column 'age': the field is below the column's lo",
                          "row 3 of 'p.csv', column 'height': the field is not a number",
                          "row 4 of 'p.csv', column 'age': the field is not a whole number",
                          AllOf(HasSubstr("row 4 of 'p.csv', column 'height'"), HasSubstr("is missing")),
                          "row 4 of 'p.csv', column 'job': the field is not one of the column's values",
                          "row 4 of 'p.csv', column 'income': the field is not one of the column's values",
                          "row 5 of 'p.csv' has 4 fields, the file has 5 columns"));
  EXPECT_EQ(found.misfits, found.places.size());
  EXPECT_THAT(found.counts, ElementsAre("column 'age': 1 field is not a whole number",
                                        "column 'age': 1 field is below the column's lo",
                                        "column 'age': 1 field is above the column's hi",
                                        "column 'height': 1 field is not a number",
                                        HasSubstr("column 'height': 1 field is missing"),
                                        "column 'job': 1 field is not one of the column's values",
                                        "column 'income': 1 field is not one of the column's values",
                                        "rows with more or fewer fields than columns: 1"));
}

TEST_F(TableChecks, KeepsTheFirstPlacesAndCountsAll) {
  std::string bytes = kHeader;
  for (int i = 0; i < 1000; ++i) bytes += "100,1.0,clerk,x,<=50K\n";
  const RecordCheck found = check(bytes, people_table());
  EXPECT_EQ(found.places.size(), 20U);
  EXPECT_EQ(found.misfits, 1000U);
  EXPECT_THAT(found.counts, ElementsAre("column 'age': 1000 fields are above the column's hi"));
}

TEST_F(TableChecks, ATextOfManyLinesIsWorthAWord) {
  std::string lines;
  for (int i = 0; i < 101; ++i) lines += "SECRET\n";
  const RecordCheck found =
      check(std::string(kHeader) + "20,1.0,clerk,\"" + lines + "\",<=50K\n", people_table());
  EXPECT_EQ(found.misfits, 0U);
  EXPECT_THAT(found.doubts, ElementsAre(AllOf(HasSubstr("row 1 of "), HasSubstr("span 102 lines"))));
  EXPECT_THAT(check(std::string(kHeader) + "20,1.0,clerk,\"a\nb\",<=50K\n", people_table()).doubts,
              IsEmpty());
}

TEST_F(TableChecks, HeadersAreCompared) {
  EXPECT_THAT(check("income,job,height,age\n<=50K,clerk,1.0,20\n", people_table()).places, IsEmpty())
      << "any order; what is ignored need not be there";
  RecordCheck found = check("income,job,height,age,age,shoes\n<=50K,clerk,1.0,20,20,9\n", people_table());
  EXPECT_THAT(found.places,
              ElementsAre("the header of 'p.csv' has 'age' twice, has 1 name that the schema does not "
                          "know: name 6"));
  found = check("income,job,height\n<=50K,mason,1.0\n", people_table());
  EXPECT_THAT(found.places,
              ElementsAre("the header of 'p.csv' lacks 'age'",
                          "row 1 of 'p.csv', column 'job': the field is not one of the column's values"));
  found = check("20,1.0,clerk,secret,<=50K\n", people_table());
  ASSERT_EQ(found.places.size(), 1U);
  EXPECT_THAT(found.places[0], HasSubstr("names few of the schema's columns, or none"));
  EXPECT_FALSE(found.read);
  EXPECT_THAT(found.holds, IsEmpty()) << "nothing was looked at";
  EXPECT_EQ(found.places[0].find("secret"), std::string::npos) << "the line may be a record";
  EXPECT_EQ(found.records, 0U);
  EXPECT_EQ(check("20,1.0,clerk,x,<=50K\n", people_table(), false).misfits, 0U);
  EXPECT_THAT(check("", people_table()).places, ElementsAre(HasSubstr("is empty")));
}

// A record of a file without a header may have a field that is spelt as a column is named.
TEST_F(TableChecks, WhatIsReadPastIsSaid) {
  const RecordCheck found = check(",age,height,job,income,\n0,20,1.0,clerk,<=50K,\n", people_table());
  EXPECT_EQ(found.misfits, 0U);
  EXPECT_THAT(found.doubts, ElementsAre(AllOf(HasSubstr("columns 1, 6 of"), HasSubstr("have no name"))));
  const RecordCheck above =
      check("a title\nof 2024\nage,height,job,income\n20,1.0,clerk,<=50K\n", people_table());
  EXPECT_THAT(above.places, ElementsAre(HasSubstr("data.skip says how many lines")));
  EXPECT_THAT(check("AGE,height,job,income\n20,1.0,clerk,<=50K\n", people_table()).places,
              ElementsAre(HasSubstr("has 'age' in other capital or small letters")));
}

TEST_F(TableChecks, OfALineThatMayBeARecordNothingIsSaid) {
  for (const char* line : {"secret,1.0,job,needle,<=50K\n", "age,1.0,job,needle,secret\n",
                           "age,1.0,secret,income\n", "secret;job;needle\n"}) {
    RecordCheck found = check(line, people_table());
    ASSERT_EQ(found.places.size(), 1U) << line;
    EXPECT_TRUE(found.refused);
    for (const char* content : {"secret", "needle", "1.0", "'job'", "'age'", "'income'"})
      EXPECT_EQ(found.places[0].find(content), std::string::npos) << found.places[0];
  }
  EXPECT_THAT(check("secret;job;needle\n", people_table()).places[0], HasSubstr("\";\" stands in it"));
  // Nor of single names: they may be fields, too.
  const RecordCheck found = check("age,height,job,income,secret\n", people_table());
  EXPECT_THAT(found.places[0], EndsWith("has 1 name that the schema does not know: name 5"));
}

TEST_F(TableChecks, WhatClampWouldNotTakeIsToldApart) {
  EXPECT_FALSE(check(std::string(kHeader) + "100,1.0,clerk,x,rich\n", people_table()).refused);
  EXPECT_TRUE(check(std::string(kHeader) + "20,1.0,clerk,x,<=50K,1\n", people_table()).refused);
  EXPECT_TRUE(check(std::string(kHeader) + "20,1.0,cl\"erk,x,<=50K\n", people_table()).refused);
  EXPECT_TRUE(check("", people_table()).refused);
  DataSpec one = spec("p.csv");
  put("p.csv", std::string(kHeader) + "20,1.0,clerk,x,<=50K\n");
  one.records = 2;
  RecordCheck found = check(one);
  EXPECT_TRUE(found.refused);
  EXPECT_THAT(found.places, ElementsAre(HasSubstr("holds 1 record, data.records says 2")));
  one.features = "nothing-*.csv";
  EXPECT_THAT(check(one).places, ElementsAre(HasSubstr("no file matches")));
  EXPECT_FALSE(check(one).read);
}

// The same fields, one by one, as a release reads them: what stands behind the first row is a row.
TEST_F(TableChecks, CommentsAreOverWithTheFirstRow) {
  DataSpec one = spec("p.csv");
  one.comment = "#";
  put("p.csv", std::string("#a\n") + kHeader + "#20,1.0,clerk,x,<=50K\n20,1.0,clerk,x,<=50K\n");
  EXPECT_THAT(check(one).places,
              ElementsAre("row 1 of 'p.csv', column 'age': the field is not a whole number"));
  put("p.csv", std::string("#a\n") + kHeader + "20,1.0,clerk,x,<=50K\n#b\n");
  EXPECT_TRUE(check(one).refused);
}

TEST_F(TableChecks, SaysWhatThereIs) {
  schema::Table table = people_table();
  schema::Column born = number("born", 0, 20000, 1, 0, {0, 10000, 20001});
  born.type = schema::ColumnType::kDate;
  table.columns.insert(table.columns.begin() + 4, born);
  const RecordCheck found = check(
      "age,height,job,note,born,income\n"
      "20,\"1,5\",clerk,x,31.12.2001,<=50K\n"
      "130,1.75,?,x,2001-12-31,<=50K\n"
      "21,\"1.001,5\",?,x,12/31/2001,3\n"
      "22,tall,?,x,soon,\n",
      table);
  EXPECT_THAT(found.counts, testing::IsSupersetOf(
                                {"column 'height': fields with a decimal comma, where a point is needed (or "
                                 "decimal_mark = \",\" in the schema): 2",
                                 "column 'born': dates in another order than YYYY-MM-DD (format = "
                                 "\"%d.%m.%Y\" in the schema says which): 2",
                                 "column 'height': 3 fields are not a number"}));
  std::vector<std::string> held;
  for (const HeldValues& h : found.holds) {
    held.push_back(h.name + " " + h.least + "-" + h.largest + " of " + h.bounds);
    for (const auto& [name, n] : h.counts) held.back() += " " + name + "=" + std::to_string(n);
  }
  EXPECT_THAT(held, ElementsAre("column 'age' 20-130 of 0 to 99", "column 'height' 1.8-1.8 of 0.0 to 2.5",
                                "column 'born' 2001-12-31-2001-12-31 of 1970-01-01 to 2024-10-04",
                                "column 'income' - of  <=50K=2 >50K=0 none of them=2"));
}

/// Records that are no table's, in IDX files.
class PlainChecks : public testing::Test {
 protected:
  RecordCheck check(const std::vector<float>& numbers, const std::vector<std::uint8_t>& labels,
                    std::size_t classes, double hi) {
    const std::size_t n = labels.size(), dims = numbers.size() / n;
    const std::size_t shape[] = {n, dims}, count[] = {n};
    write_idx(folder_ / "x.idx", shape, std::span(numbers));
    write_idx(folder_ / "y.idx", count, std::span(labels));
    DataSpec spec;
    spec.dir = folder_.path().string();
    spec.features = "x.idx";
    spec.labels = "y.idx";
    spec.schema = {.shape = {dims}, .classes = classes, .hi = hi};
    return check_records(spec, 0, 20);
  }

  muffle::test::TemporaryFolder folder_;
};

TEST_F(PlainChecks, LabelsThatCountFromOneAreFound) {
  const RecordCheck found = check({0, 1, 2, 3}, {1, 2, 3, 3}, 3, 3);
  EXPECT_EQ(found.misfits, 2U);
  EXPECT_FALSE(found.refused);
  EXPECT_THAT(found.counts, ElementsAre("records with a label that is none of 0 to 2 (data.classes = 3): 2"));
  ASSERT_EQ(found.holds.size(), 2U);
  EXPECT_EQ(found.holds[1].counts, (std::vector<std::pair<std::string, std::uint64_t>>{
                                       {"0", 0}, {"1", 1}, {"2", 1}, {"3 (no class)", 2}}));
  EXPECT_THAT(found.doubts, ElementsAre(HasSubstr("do they count from 1?")));
}

TEST_F(PlainChecks, NumbersOfAnotherScaleAreFound) {
  const RecordCheck found = check({0, 0.25, 1, 0.5}, {0, 1}, 2, 255);
  EXPECT_EQ(found.misfits, 0U) << "they fit";
  EXPECT_EQ(found.holds[0].least + " " + found.holds[0].largest, "0 1");
  EXPECT_THAT(
      found.doubts,
      ElementsAre(EndsWith(
          "a small part of 0 to 255 (data.lo to data.hi): perhaps those are the bounds of other numbers")));
  EXPECT_THAT(check({0, 0.25, 1, 0.5}, {0, 1}, 2, 1).doubts, IsEmpty());
  const RecordCheck outside = check({0, 0.25, 1.5, 0.5}, {0, 1}, 2, 1);
  EXPECT_THAT(outside.places, ElementsAre(HasSubstr("record 1 (counting from 0)")));
  EXPECT_EQ(outside.holds[0].largest, "1.5");
}

TEST_F(TableChecks, AMalformedRowEndsTheLookAtItsFile) {
  const RecordCheck found =
      check(std::string(kHeader) + "100,1.0,clerk,x,<=50K\n20,1.0,cl\"erk,x,<=50K\n-5,1.0,clerk,x,<=50K\n",
            people_table());
  EXPECT_THAT(found.places,
              ElementsAre(HasSubstr("row 1 of"),
                          AllOf(HasSubstr("row 2 of 'p.csv' has a quote"), HasSubstr("was not looked at"))));
  EXPECT_THAT(found.counts, testing::Contains(HasSubstr("files with a row that is no CSV: 1")));
}

TEST_F(TableChecks, ConstraintsAndPersons) {
  schema::Table table;
  table.columns.push_back(number("from", 0, 99, 1, 0, {0, 50, 100}));
  table.columns.push_back(number("to", 0, 99, 1, 0, {0, 10, 100}));
  table.columns.push_back(category("who", {}, schema::ColumnRole::kPerson));
  schema::Constraint rule;
  rule.columns = {0, 1};
  rule.op = schema::Constraint::Op::kAtMost;
  table.constraints.push_back(rule);
  ASSERT_THAT(table.problems(), IsEmpty());
  const RecordCheck found = check("from,to,who\n3,3,a\n4,3,a\n300,3,b\n98,97,\n", table);
  EXPECT_THAT(found.places,
              ElementsAre("row 2 of 'p.csv' breaks constraint 1 (of 'from', 'to')",
                          "row 3 of 'p.csv', column 'from': the field is above the column's hi",
                          AllOf(HasSubstr("row 4 of 'p.csv', column 'who'"), HasSubstr("is missing"))));
  EXPECT_THAT(found.counts, testing::Contains("constraint 1 (of 'from', 'to'): rows that break it: 1"));
}

TEST_F(TableChecks, CombinationsThatAreNotListedAreNamedWithoutTheirValues) {
  schema::Table table;
  table.columns.push_back(category("ward", {{"surgery", {}}, {"cardio", {}}}));
  table.columns.push_back(category("icd", {{"K35", {}}, {"I21", {"I21.0"}}}));
  table.columns[1].missing = true;
  table.columns[1].spellings = {""};
  schema::Constraint rule;
  rule.kind = schema::Constraint::Kind::kAmong;
  rule.columns = {0, 1};
  rule.allowed = {{0, 0}, {1, 1}};
  table.constraints.push_back(rule);
  ASSERT_THAT(table.problems(), IsEmpty());
  const RecordCheck found = check("ward,icd\nsurgery,K35\nsurgery,I21.0\ncardio,\ncardio,K35\n", table);
  EXPECT_THAT(found.places, ElementsAre("row 2 of 'p.csv' breaks the list of combinations of 'ward', 'icd'",
                                        "row 4 of 'p.csv' breaks the list of combinations of 'ward', 'icd'"));
  EXPECT_THAT(found.counts, ElementsAre("the list of combinations of 'ward', 'icd': rows that break it: 2"));
}

TEST_F(TableChecks, FilesThatCannotBeRead) {
  muffle::test::expect_error(ExitCode::kIo, {"nowhere.csv"},
                             [&] { check_records(spec("nowhere.csv"), 0, 20); });
}

}  // namespace
}  // namespace muffle::data::test
