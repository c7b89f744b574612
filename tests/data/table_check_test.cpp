// Whole files against a schema: each misfit by row and column, none with content.
#include "muffle/data/table_check.hpp"

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
  TableCheck check(const std::string& bytes, const schema::Table& table, bool header = true) const {
    put("p.csv", bytes);
    DataSpec spec;
    spec.schema.table = std::make_shared<const schema::Table>(table);
    spec.header = header;
    TableCheck found = check_table(spec, {(folder_ / "p.csv").string()}, 20);
    for (std::string& place : found.places) {  // shorter: the folder's name is another each time
      for (std::size_t at; (at = place.find(folder_.path().string() + "/")) != std::string::npos;)
        place.erase(at, folder_.path().string().size() + 1);
    }
    return found;
  }
};

constexpr const char* kHeader = "age,height,job,note,income\n";

TEST_F(TableChecks, PointsAtRowAndColumn) {
  const TableCheck found = check(std::string(kHeader) +
                                     "20,1.0,clerk,x,<=50K\n"
                                     "100,1.0,clerk,x,<=50K\n"
                                     "-1,x,?,x,>50K.\n"
                                     "\n"
                                     "3.5,,\"plumber\",,rich\n"
                                     "20,1.0,clerk,<=50K\n",
                                 people_table());
  EXPECT_EQ(found.rows, 5U);
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
  EXPECT_THAT(found.counts, ElementsAre("column 'age': 1 that is not a whole number",
                                        "column 'age': 1 that is below the column's lo",
                                        "column 'age': 1 that is above the column's hi",
                                        "column 'height': 1 that is not a number",
                                        HasSubstr("column 'height': 1 that is missing"),
                                        "column 'job': 1 that is not one of the column's values",
                                        "column 'income': 1 that is not one of the column's values",
                                        "rows with more or fewer fields than columns: 1"));
}

TEST_F(TableChecks, KeepsTheFirstPlacesAndCountsAll) {
  std::string bytes = kHeader;
  for (int i = 0; i < 1000; ++i) bytes += "100,1.0,clerk,x,<=50K\n";
  const TableCheck found = check(bytes, people_table());
  EXPECT_EQ(found.places.size(), 20U);
  EXPECT_EQ(found.misfits, 1000U);
  EXPECT_THAT(found.counts, ElementsAre("column 'age': 1000 that is above the column's hi"));
}

TEST_F(TableChecks, ATextOfManyLinesIsWorthAWord) {
  std::string lines;
  for (int i = 0; i < 101; ++i) lines += "SECRET\n";
  const TableCheck found =
      check(std::string(kHeader) + "20,1.0,clerk,\"" + lines + "\",<=50K\n", people_table());
  EXPECT_EQ(found.misfits, 0U);
  EXPECT_THAT(found.doubts, ElementsAre(AllOf(HasSubstr("row 1 of "), HasSubstr("span 102 lines"))));
  EXPECT_THAT(check(std::string(kHeader) + "20,1.0,clerk,\"a\nb\",<=50K\n", people_table()).doubts,
              IsEmpty());
}

TEST_F(TableChecks, HeadersAreCompared) {
  EXPECT_THAT(check("income,job,height,age\n<=50K,clerk,1.0,20\n", people_table()).places, IsEmpty())
      << "any order; what is ignored need not be there";
  TableCheck found = check("income,job,height,age,age,shoes\n<=50K,clerk,1.0,20,20,9\n", people_table());
  EXPECT_THAT(found.places,
              ElementsAre("the header of 'p.csv' has 'age' twice, has 1 that the schema does not "
                          "know: 'shoes'"));
  found = check("income,job,height\n<=50K,mason,1.0\n", people_table());
  EXPECT_THAT(found.places,
              ElementsAre("the header of 'p.csv' lacks 'age'",
                          "row 1 of 'p.csv', column 'job': the field is not one of the column's values"));
  found = check("20,1.0,clerk,secret,<=50K\n", people_table());
  ASSERT_EQ(found.places.size(), 1U);
  EXPECT_THAT(found.places[0], HasSubstr("names none of the schema's columns"));
  EXPECT_EQ(found.places[0].find("secret"), std::string::npos) << "the line may be a record";
  EXPECT_EQ(found.rows, 0U);
  EXPECT_EQ(check("20,1.0,clerk,x,<=50K\n", people_table(), false).misfits, 0U);
  EXPECT_THAT(check("", people_table()).places, ElementsAre(HasSubstr("is empty")));
}

TEST_F(TableChecks, AMalformedRowEndsTheLookAtItsFile) {
  const TableCheck found =
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
  const TableCheck found = check("from,to,who\n3,3,a\n4,3,a\n300,3,b\n98,97,\n", table);
  EXPECT_THAT(found.places,
              ElementsAre("row 2 of 'p.csv' breaks constraint 1 (of 'from', 'to')",
                          "row 3 of 'p.csv', column 'from': the field is above the column's hi",
                          AllOf(HasSubstr("row 4 of 'p.csv', column 'who'"), HasSubstr("is missing"))));
  EXPECT_THAT(found.counts, testing::Contains("constraint 1 (of 'from', 'to'): rows that break it: 1"));
}

TEST_F(TableChecks, FilesThatCannotBeRead) {
  DataSpec spec;
  spec.schema.table = std::make_shared<const schema::Table>(people_table());
  muffle::test::expect_error(ExitCode::kIo, {"nowhere.csv"},
                             [&] { check_table(spec, {(folder_ / "nowhere.csv").string()}, 20); });
}

}  // namespace
}  // namespace muffle::data::test
