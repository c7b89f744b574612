// Rows of a person: what a schema says of them, and who each synthetic row is of.
#include "muffle/schema/person_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "muffle/schema/schema.hpp"
#include "muffle/schema/table_toml.hpp"
#include "support/expect_error.hpp"

namespace muffle::schema {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kStays = R"(
[[columns]]
name = "patient"
type = "category"
role = "person"
rows = 3
prefix = "P"
digits = 4
[[columns]]
name = "ward"
type = "category"
values = ["north", "south"]
)";

Table parsed(std::string text, const std::string& from = "", const std::string& to = "") {
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return parse_table_toml(text, "s.toml");
}

TEST(RowsOfAPerson, AreSaidByThePersonsColumn) {
  const Table table = parsed(kStays);
  EXPECT_EQ(table.columns[0].rows, 3u);
  EXPECT_EQ(table.columns[0].digits, 4);
  EXPECT_TRUE(table.columns[0].is_sampled());
  EXPECT_FALSE(table.columns[0].is_feature());
  EXPECT_EQ(table.person(), 0u);
  EXPECT_FALSE(table.counted_person());
  EXPECT_FALSE(parsed(kStays, "rows = 3\nprefix = \"P\"\ndigits = 4\n", "").columns[0].is_sampled());
}

TEST(RowsOfAPerson, AreCategoriesOfAReleaseThatCountsThem) {
  const Table table = parsed(kStays), counted = with_rows_counted(table);
  EXPECT_EQ(counted.features(), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(counted.codes(), (std::vector<std::size_t>{3, 2}));
  EXPECT_EQ(counted.person(), 0u);
  EXPECT_EQ(counted.counted_person(), 0u);
  EXPECT_THAT(counted.problems(), ElementsAre());
  EXPECT_EQ(as_described(counted), table);
  const Table unknown = parsed(kStays, "rows = 3", "rows = 3\nmissing = [\"?\"]");
  EXPECT_EQ(with_rows_counted(unknown).codes(), counted.codes()) << "records of nobody do not count";
  EXPECT_EQ(as_described(with_rows_counted(unknown)), unknown);
  EXPECT_NE(table_hash(counted), table_hash(table));
  const Table without = parsed(kStays, "rows = 3\nprefix = \"P\"\ndigits = 4\n", "");
  EXPECT_EQ(with_rows_counted(without), without);
  EXPECT_THAT(differences(table, without), HasSubstr("column 'patient': rows"));
  for (const Table& one : {table, counted, without}) {
    const JsonDocument document{"a.mfl", "a release", "Copy it again."};
    const nlohmann::json json = to_json(one);
    EXPECT_EQ(read_table(JsonFields(json, document, "table.")), one);
  }
  Table strange = counted;
  strange.columns[0].values.pop_back();
  EXPECT_THAT(strange.problems(), ElementsAre(HasSubstr("not those of rows that are counted")));
  strange = counted;
  strange.columns[0].rows = 1;
  strange.columns[0].values.resize(1);
  EXPECT_THAT(strange.problems(), ElementsAre(HasSubstr("rows must be a number from 2 to 1000")));
}

TEST(RowsOfAPerson, ThatMeanNothingAreRefused) {
  const auto refused = [](const std::string& from, const std::string& to, const std::string& why) {
    muffle::test::expect_error(ExitCode::kConfig, {why}, [&] { parsed(kStays, from, to); });
  };
  for (const char* rows : {"1", "0", "1001", "2.5", "\"released\""})
    refused("rows = 3", std::string("rows = ") + rows, "rows needs a whole number from 2 to 1000");
  refused("rows = 3\n", "", "'prefix' says nothing of such a column");
  refused("rows = 3\nprefix = \"P\"\n", "", "only keys, and people with 'rows', have 'digits'");
  refused("digits = 4", "digits = 19", "digits needs a whole number");
  refused("values = [", "rows = 3\nvalues = [", "column 'ward': only a column of role \"person\" has 'rows'");
  muffle::test::expect_error(ExitCode::kConfig, {"column 'patient' is the person: no rule holds of it"}, [] {
    parsed(std::string(kStays) +
               "[[constraints]]\nkind = \"implies\"\nif = { column = \"patient\", is = [\"\"] }\nthen = { "
               "column = "
               "\"ward\", is = [\"north\"] }\n",
           "rows = 3", "rows = 3\nmissing = true");
  });
  muffle::test::expect_error(ExitCode::kConfig, {"no column is left to learn from"}, [] {
    const std::string all(kStays);
    parsed(all.substr(0, all.rfind("[[columns]]")));
  });
}

TEST(Permutations, HoldEveryNumberOnceAndDependOnTheSeed) {
  for (const std::uint64_t n : {1u, 2u, 3u, 5u, 64u, 1000u, 4097u}) {
    const Permutation one(n, 7, 0), other(n, 8, 0);
    std::set<std::uint64_t> seen;
    std::uint64_t same = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      seen.insert(one(i));
      same += one(i) == other(i) ? 1 : 0;
    }
    EXPECT_EQ(seen.size(), n);
    EXPECT_LT(*seen.rbegin(), n);
    if (n >= 1000) {
      EXPECT_LT(same, n / 10);
    }
  }
}

/// Of each person, the rows; and that they are numbered.
std::map<std::uint64_t, std::set<std::size_t>> people_of(const PersonRows& rows, std::uint64_t n) {
  std::map<std::uint64_t, std::set<std::size_t>> out;
  for (std::uint64_t i = 0; i < n; ++i) {
    const PersonRows::Place at = rows.at(i);
    EXPECT_LT(at.person, rows.persons());
    EXPECT_TRUE(out[at.person].insert(at.number).second) << i;
  }
  for (const auto& [person, numbers] : out) EXPECT_EQ(*numbers.rbegin() + 1, numbers.size()) << person;
  return out;
}

TEST(PersonRows, PeopleHaveTheirSharesOfRowsInWholeNumbers) {
  for (const std::vector<double>& law : std::vector<std::vector<double>>{
           {0.7, 0.2, 0.1}, {1.0, 0.0, 0.0}, {0.0, 0.0, 1.0}, {0.1, 0.0, 0.9}, {0.3333, 0.3333, 0.3334}}) {
    for (const std::uint64_t n : {1u, 2u, 7u, 1000u, 5003u}) {
      const PersonRows rows(law, n, 3);
      const auto people = people_of(rows, n);
      EXPECT_EQ(people.size(), rows.persons());
      std::vector<std::uint64_t> with(law.size(), 0);
      for (const auto& [person, numbers] : people) ++with.at(numbers.size() - 1);
      EXPECT_EQ(with, rows.people());
      // Rounding is of single people: each number down, and what is left goes to a few.
      const auto all = static_cast<double>(people.size());
      for (std::size_t k = 0; n >= 1000 && k < law.size(); ++k)
        EXPECT_NEAR(static_cast<double>(with[k]), all * law[k], 3) << n;
    }
  }
  EXPECT_THROW(PersonRows(std::vector<double>{0, 0}, 5, 1), InvariantError);
}

TEST(PersonRows, NeitherPlaceNorNameTellsOfTheirNumber) {
  constexpr std::uint64_t kRows = 20'000;
  const PersonRows rows(std::vector<double>{0.5, 0.5}, kRows, 1);
  double first_half = 0, low_names = 0;
  for (std::uint64_t i = 0; i < kRows; ++i) {
    const PersonRows::Place at = rows.at(i);
    if (at.number == 0) continue;
    first_half += i < kRows / 2 ? 1 : 0;
    low_names += at.person < rows.persons() / 2 ? 1 : 0;
  }
  // A third of the rows are second ones: a half of these 6,667 each, +- 6 standard deviations. No chance is
  // in it: the seed is fixed.
  EXPECT_NEAR(first_half, kRows / 6.0, 245);
  EXPECT_NEAR(low_names, kRows / 6.0, 245);
  const PersonRows other(std::vector<double>{0.5, 0.5}, kRows, 2);
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) same += rows.at(i).person == other.at(i).person ? 1 : 0;
  EXPECT_LT(same, 10);
}

}  // namespace
}  // namespace muffle::schema
