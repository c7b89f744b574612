// Records a person: which of them count, and who may know.
#include "data/person_bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "data/person_text.hpp"
#include "data/table_fixture.hpp"
#include "muffle/data/people.hpp"
#include "muffle/schema/plain_text.hpp"
#include "support/expect_error.hpp"

namespace muffle::data::test {
namespace {

using muffle::test::expect_error;
using muffle::test::expect_local_detail;

Row row_of(const std::string& person, float number, std::int64_t label = 0) {
  Row row;
  row.floats = {number};
  row.label = label;
  row.person = person;
  return row;
}

std::vector<bool> kept(const std::vector<Row>& rows, std::uint64_t most, const std::string& key) {
  PersonBound bound(most, key, rows.size());
  for (const Row& row : rows) bound.add(row);
  return bound.kept();
}

/// What counts, as (person, number), sorted.
std::multiset<std::pair<std::string, float>> counted(const std::vector<Row>& rows, std::uint64_t most,
                                                     const std::string& key) {
  const std::vector<bool> which = kept(rows, most, key);
  std::multiset<std::pair<std::string, float>> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (which[i]) out.emplace(rows[i].person, rows[i].floats[0]);
  }
  return out;
}

std::vector<Row> people() {
  std::vector<Row> rows;
  for (int i = 0; i < 400; ++i)
    rows.push_back(row_of("p" + std::to_string(i % 7 * (i % 3)), static_cast<float>(i % 11)));
  return rows;
}

TEST(PersonBound, NobodyHasMoreThanTheBoundAndEverybodyAsManyAsThereAre) {
  const std::vector<Row> rows = people();
  std::map<std::string, std::uint64_t> all;
  for (const Row& row : rows) ++all[row.person];
  for (const std::uint64_t most : {1u, 2u, 17u, 1000u}) {
    std::map<std::string, std::uint64_t> count;
    for (const auto& [person, number] : counted(rows, most, new_person_key())) ++count[person];
    for (const auto& [person, n] : all) EXPECT_EQ(count[person], std::min(n, most)) << person;
  }
}

TEST(PersonBound, NeitherOrderNorOtherPeopleDecide) {
  const std::string key = new_person_key();
  std::vector<Row> rows = people();
  const auto before = counted(rows, 3, key);
  std::reverse(rows.begin(), rows.end());
  EXPECT_EQ(counted(rows, 3, key), before);
  std::rotate(rows.begin(), rows.begin() + 123, rows.end());
  EXPECT_EQ(counted(rows, 3, key), before);
  std::erase_if(rows, [](const Row& row) { return row.person == "p4"; });
  auto without = before;
  without.erase(without.lower_bound({"p4", -1.0f}), without.upper_bound({"p4", 100.0f}));
  EXPECT_EQ(without.size() + 3, before.size());
  EXPECT_EQ(counted(rows, 3, key), without) << "who leaves takes only what was theirs";
}

TEST(PersonBound, AnotherKeyChoosesOthersAndRecordsThatHoldTheSameHaveTheSameChance) {
  std::vector<Row> rows;
  for (int i = 0; i < 9; ++i) rows.push_back(row_of("p", 1.0f));
  rows.push_back(row_of("p", 2.0f));
  int of_the_other = 0;
  constexpr int kKeys = 2000;
  for (int i = 0; i < kKeys; ++i)
    of_the_other += static_cast<int>(counted(rows, 1, new_person_key()).count({"p", 2.0f}));
  // A tenth of the keys, +- 6 standard deviations: a false failure in 10^8 runs. Were equal records one in
  // the order, it would be half of them.
  EXPECT_NEAR(of_the_other, kKeys / 10, 6 * std::sqrt(kKeys * 0.09));
}

TEST(PersonBound, RecordsOfNobodyAndWithoutALabelNeverCount) {
  const std::vector<Row> rows{row_of("", 1), row_of("a", 1, -1), row_of("a", 2)};
  EXPECT_EQ(kept(rows, 2, new_person_key()), (std::vector<bool>{false, false, true}));
  EXPECT_THROW(kept(rows, 2, "short"), InvariantError);
  EXPECT_THROW(kept(rows, 0, new_person_key()), InvariantError);
}

/// Of each person, the numbers of their rows, sorted.
std::map<std::string, std::vector<std::uint16_t>> numbered(const std::vector<Row>& rows, std::uint64_t most,
                                                           const std::string& key) {
  PersonBound bound(most, key, rows.size());
  for (const Row& row : rows) bound.add(row);
  const std::vector<std::uint16_t> numbers = bound.numbers();
  std::map<std::string, std::vector<std::uint16_t>> out;
  for (std::size_t i = 0; i < rows.size(); ++i) out[rows[i].person].push_back(numbers[i]);
  for (auto& [person, own] : out) std::sort(own.begin(), own.end());
  return out;
}

TEST(PersonBound, NumbersCountUpToWhatAPersonHas) {
  const std::vector<Row> rows{row_of("a", 1), row_of("b", 1), row_of("a", 1),
                              row_of("a", 2), row_of("", 7),  row_of("c", 1, -1)};
  using Numbers = std::vector<std::uint16_t>;
  const auto all = numbered(rows, 3, new_person_key());
  EXPECT_EQ(all.at("a"), (Numbers{1, 2, 3})) << "though two of them hold the same";
  EXPECT_EQ(all.at("b"), Numbers{1});
  EXPECT_EQ(all.at(""), Numbers{0});
  EXPECT_EQ(all.at("c"), Numbers{0});
  EXPECT_EQ(numbered(rows, 2, new_person_key()).at("a"), (Numbers{0, 1, 2}));
}

TEST(PersonBound, ARecordsNumberFollowsFromItsPersonsRecordsAndTheKeyAlone) {
  const auto numbers = [](const std::vector<Row>& rows, std::uint64_t most, const std::string& key) {
    PersonBound bound(most, key, rows.size());
    for (const Row& row : rows) bound.add(row);
    const std::vector<std::uint16_t> all = bound.numbers();
    std::multiset<std::tuple<std::string, float, std::uint16_t>> out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].person == "p1") out.emplace(rows[i].person, rows[i].floats[0], all[i]);
    }
    return out;
  };
  const std::string key = new_person_key();
  std::vector<Row> rows = people();
  for (const std::uint64_t most : {3u, 1000u}) {
    const auto before = numbers(rows, most, key);
    ASSERT_GT(before.size(), 10u);
    std::vector<Row> others = rows;
    std::erase_if(others, [](const Row& row) { return row.person == "p4" || row.person == "p0"; });
    std::reverse(others.begin(), others.end());
    EXPECT_EQ(numbers(others, most, key), before) << "neither order nor other people";
    EXPECT_NE(numbers(rows, most, new_person_key()), before);
  }
}

class People : public Tables {
 protected:
  DataSpec patients(schema::OnError on_error = schema::OnError::kRejectFile) const {
    schema::Table table = people_table();
    table.columns.push_back(category("patient", {}, schema::ColumnRole::kPerson));
    table.columns.back().spellings = {"unknown"};
    DataSpec out = spec("visits.csv");
    out.schema = schema_of(table, on_error);
    return out;
  }
};

TEST_F(People, OfTheFilesOfARankAreBoundedOverAllOfThem) {
  std::string lines = "patient,age,height,job,income\n";
  for (int i = 0; i < 60; ++i)
    lines += fmt::format("{}, {},1.5,?,{}\n", i % 4, i % 97, i % 2 == 0 ? "<=50K" : ">50K");
  put("visits.csv", lines);
  DataSpec bounded = patients();
  const Batch all = read_all(bounded);
  EXPECT_EQ(std::count(all.y.begin(), all.y.end(), schema::kNoClass), 0) << "nobody asked";
  bounded.records_per_person = 3;
  const Batch alone = read_all(bounded);
  EXPECT_EQ(alone.n, 60u) << "records that do not count are still records";
  EXPECT_EQ(std::count(alone.y.begin(), alone.y.end(), schema::kNoClass), 60 - 4 * 3);
  // Ranks that share the file agree on who counts.
  EXPECT_THROW(open_shard(bounded, 0, 2), InvariantError);
  bounded.person_key = new_person_key();
  const Batch whole = read_all(bounded);
  for (const ShardRule rule : {ShardRule::kContiguous, ShardRule::kRoundRobin}) {
    bounded.shards = rule;
    std::vector<std::int32_t> y(60);
    for (int rank = 0; rank < 3; ++rank) {
      const Batch shard = read_all(bounded, rank, 3);
      for (std::size_t i = 0; i < shard.n; ++i) {
        const auto r = static_cast<std::size_t>(rank);
        y.at(rule == ShardRule::kRoundRobin ? r + i * 3 : r * 20 + i) = shard.y[i];
      }
    }
    EXPECT_EQ(y, whole.y);
  }
  bounded.shards = ShardRule::kPerRank;
  bounded.features = "visits-{rank}.csv";
  bounded.person_key.clear();
  put("visits-1.csv", lines);
  const Batch own = read_all(bounded, 1, 2);
  EXPECT_EQ(std::count(own.y.begin(), own.y.end(), schema::kNoClass), 60 - 4 * 3);
}

/// The number of each record among its person's, as the map sees it; 0: it does not count.
std::vector<int> numbers_in(const Batch& batch, const schema::Schema& schema) {
  const std::vector<std::size_t> codes = schema.table->codes();
  std::vector<int> out;
  for (std::size_t i = 0; i < batch.n; ++i) {
    const auto code = schema::cell_at(batch.x[(i + 1) * codes.size() - 1], codes.back()).code;
    out.push_back(batch.y[i] == schema::kNoClass ? 0 : static_cast<int>(code) + 1);
  }
  return out;
}

TEST_F(People, AreNumberedWhereTheSchemaCountsTheirRows) {
  std::string lines = "patient,age,height,job,income\n";
  // Patient k has k rows.
  for (int k = 1; k <= 4; ++k) {
    for (int i = 0; i < k; ++i) lines += fmt::format("{},{},1.5,?,<=50K\n", k, 10 * i);
  }
  put("visits.csv", lines);
  DataSpec spec = patients();
  schema::Table table = *spec.schema.table;
  table.columns.back().rows = 3;
  spec.schema = schema_of(schema::with_rows_counted(table));
  spec.records_per_person = 3;
  spec.person_key = new_person_key();
  const Batch whole = read_all(spec);
  std::vector<int> all = numbers_in(whole, spec.schema);
  std::map<int, int> people;
  for (const int number : all) ++people[number];
  EXPECT_EQ(people, (std::map<int, int>{{0, 1}, {1, 4}, {2, 3}, {3, 2}})) << "of 4, 3 and 2 people at least";
  // Ranks that share the file number alike.
  std::vector<int> shared;
  for (int rank = 0; rank < 3; ++rank) {
    const std::vector<int> own = numbers_in(read_all(spec, rank, 3), spec.schema);
    shared.insert(shared.end(), own.begin(), own.end());
  }
  EXPECT_EQ(shared, all);
  spec.records_per_person = 0;
  EXPECT_THROW(read_all(spec), InvariantError) << "nobody would number them";
}

TEST_F(People, AreCountedByTheirRecords) {
  std::string lines = "patient,age,height,job,income\n";
  for (int k = 1; k <= 5; ++k) {
    for (int i = 0; i < k; ++i) lines += fmt::format("{},{},1.5,?,<=50K\n", k, i);
  }
  put("visits.csv", lines + "unknown,1,1.5,?,<=50K\n");
  EXPECT_EQ(people_by_records(patients(schema::OnError::kClamp), 3), (std::vector<std::uint64_t>{1, 1, 3}));
  EXPECT_EQ(shares_of_people({1, 1, 2}), (std::vector<double>{0.25, 0.25, 0.5}));
  EXPECT_EQ(shares_of_people({0, 0}), (std::vector<double>{0, 0}));
}

TEST_F(People, AreOneAtZeroWhateverItsSign) {
  std::string lines = "patient,age,height,job,income\n";
  for (const char* person : {"0.0", "-0.0", "0.0", "-0", "0", "-", "-1.0", "1.0", "-0.5", "0.5", "-.", "."})
    lines += fmt::format("{},1,1,?,<=50K\n", person);
  put("visits.csv", lines);
  DataSpec bounded = patients();
  bounded.records_per_person = 1;
  const Batch all = read_all(bounded);
  EXPECT_EQ(std::count(all.y.begin(), all.y.end(), schema::kNoClass), 3) << "0.0 counts once, and 0";
}

TEST(PersonText, IsTheNumberInAColumnOfNumbersAndElseTheText) {
  schema::Column numbers = category("patient", {}, schema::ColumnRole::kPerson), texts = numbers;
  numbers.numeric = true;
  for (const char* one : {"7", "+7", "07", " 7 ", "7.0", "7.", "70e-1", "0.7E+1"}) {
    EXPECT_EQ(person_text(numbers, one), person_text(numbers, 7.0)) << one;
    EXPECT_EQ(person_text(texts, one), schema::plain_text(one)) << one;
  }
  // To the last digit, of numbers that no double tells apart; and what is no number is a text.
  const std::set<std::string> different{
      "7",   "-7",  "0.7", "70", "7e0.5", "7 0",          "123456789012345678901", "123456789012345678902",
      "0x7", "nan", "e7",  ".",  "7e",    "7e99999999999"};
  std::set<std::string> persons;
  for (const std::string& one : different) persons.insert(person_text(numbers, one));
  EXPECT_EQ(persons.size(), different.size());
  for (const schema::Column& column : {numbers, texts}) {
    EXPECT_EQ(person_text(column, "-0.0"), person_text(column, "0.0"));
    EXPECT_EQ(person_text(column, ""), "");
    EXPECT_EQ(person_text(column, std::nan("")), "");
  }
  EXPECT_EQ(person_text(numbers, "-0.0"), person_text(numbers, 0.0));
  numbers.spellings = {"-9"};
  for (const char* missing : {"-9", "-9.0", "-09"}) EXPECT_EQ(person_text(numbers, missing), "") << missing;
}

TEST_F(People, OfAColumnOfNumbersAreOneHoweverSpelt) {
  std::string lines = "patient,age,height,job,income\n";
  for (const char* person : {"+1", "1.0", "1", "01", "2"}) lines += fmt::format("{},1,1,?,<=50K\n", person);
  put("visits.csv", lines);
  DataSpec bounded = patients();
  bounded.records_per_person = 1;
  const auto counted = [&] {
    const Batch all = read_all(bounded);
    return 5 - std::count(all.y.begin(), all.y.end(), schema::kNoClass);
  };
  EXPECT_EQ(counted(), 5) << "of texts";
  schema::Table table = *bounded.schema.table;
  table.columns.back().numeric = true;
  bounded.schema = schema_of(table);
  EXPECT_EQ(counted(), 2);
}

TEST_F(People, MustBeKnownWhereTheyAreCounted) {
  put("visits.csv", "patient,age,height,job,income\n7,1,1,?,<=50K\n unknown ,1,1,?,<=50K\n");
  DataSpec bounded = patients();
  EXPECT_EQ(read_all(bounded).y, (std::vector<std::int32_t>{0, 0}));
  bounded.records_per_person = 1;
  expect_local_detail(ExitCode::kData, {"visits.csv", "does not fit"}, {"row 2 of", "'patient'", "missing"},
                      [&] { read_all(bounded); });
  bounded.schema.on_error = schema::OnError::kClamp;
  EXPECT_EQ(read_all(bounded).y, (std::vector<std::int32_t>{0, schema::kNoClass}));
  put("visits.csv", "age,height,job,income\n1,1,?,<=50K\n");
  expect_error(ExitCode::kData, {"lacks 'patient'"}, [&] { read_all(bounded); });
}

}  // namespace
}  // namespace muffle::data::test
