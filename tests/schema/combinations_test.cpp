// Columns of which the schema lists what goes together: how lists are read, what rows become.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "muffle/core/files.hpp"
#include "muffle/schema/row_rules.hpp"
#include "muffle/schema/table_toml.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::schema {
namespace {

using test::expect_error;

constexpr const char* kWards = R"(
[[columns]]
name = "ward"
type = "category"
values = ["surgery", "cardio", "other, all"]
missing = ["", "NA"]
[[columns]]
name = "age"
type = "integer"
lo = 0
hi = 9
bins = 2
[[columns]]
name = "icd"
type = "category"
values = ["K35", "S72", "I21", "I50"]
aliases = { I50 = ["I50.1"] }
[[columns]]
name = "emergency"
type = "boolean"
role = "label"
)";
const std::string kByFile = "[[combinations]]\ncolumns = [\"ward\", \"icd\"]\nfile = \"icd.csv\"\n";
constexpr const char* kList =
    "ward,icd\nsurgery,K35\nsurgery,S72\ncardio,I21\ncardio,I50.1\n\"other, all\",S72\n\"other, all\",I50\n";
const std::vector<CodePair> kAllowed{{0, 0}, {0, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 3}};

class Combinations : public testing::Test {
 protected:
  Table read(const std::string& file, const std::string& more = kByFile) const {
    write_file_atomically(folder_ / "icd.csv", file);
    write_file_atomically(folder_ / "s.toml", kWards + more);
    return read_table_toml(folder_ / "s.toml");
  }
  void refused(const std::string& file, std::initializer_list<std::string> parts,
               const std::string& more = kByFile) const {
    expect_error(ExitCode::kConfig, parts, [&] { (void)read(file, more); });
  }

  test::TemporaryFolder folder_;
};

TEST_F(Combinations, AFileOrAListNamesWhatIsAllowedInAnyOrder) {
  const Table table = read(kList);
  ASSERT_EQ(table.constraints.size(), 1u);
  EXPECT_EQ(table.constraints[0].kind, Constraint::Kind::kAmong);
  EXPECT_EQ(table.constraints[0].columns, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(table.constraints[0].allowed, kAllowed);
  // Lines in another order and twice, columns in another order and more of them, another separator and a BOM.
  EXPECT_EQ(read("\uFEFFicd;\"note\";ward\r\nI50;\"a \"\"b\"\"\";other, "
                 "all\r\nK35;;surgery\r\nS72;;\"surgery\"\r\n\r\nI21;;cardio\r\n"
                 "I50; ;cardio\r\nS72;;other, all\r\nK35;;surgery\r\n"),
            table);
  EXPECT_EQ(
      read("",
           "[[combinations]]\ncolumns = [\"ward\", \"icd\"]\nallowed = [[\"cardio\", \"I21\"], [\"cardio\", "
           "\"I50\"], [\"other, all\", \"S72\"], [\"other, all\", \"I50\"], [\"surgery\", \"K35\"], "
           "[\"surgery\", "
           "\"S72\"]]\n"),
      table);
}

TEST_F(Combinations, TheyAreStatedInTheTableSoThatNoFileIsNeededAgain) {
  const Table table = read(kList);
  const nlohmann::json json = nlohmann::json::parse(to_json(table).dump());
  const JsonDocument document{"a.mfl", "a release", "Copy it again."};
  EXPECT_EQ(read_table(JsonFields(json, document)), table);
  EXPECT_EQ(json.dump().find("icd.csv"), std::string::npos) << "no path is in it";
  EXPECT_NE(table_hash(table), table_hash(read("", ""))) << "and ranks and sites compare them";
  EXPECT_EQ(differences(table, read("", "")), "constraints");
  const auto changed = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json other = json;
    other["constraints"][0][key] = value;
    expect_error(ExitCode::kProtocol, {"a.mfl"}, [&] { (void)read_table(JsonFields(other, document)); });
  };
  changed("first", {0, 0, 1, 1, 2, 7});                   // no such code
  changed("first", {0, 0, 1, 1, 2, 3});                   // the missing value
  changed("first", {0, 0, 1, 1, 2});                      // fewer
  changed("first", {2, 2, 1, 1, 0, 0});                   // not in order
  changed("columns", {0, 1});                             // a number
  changed("columns", std::vector<std::size_t>{0, 2, 3});  // three
  changed("second", std::vector<std::string>{"K35"});
}

TEST_F(Combinations, WhatIsWrongWithAListIsNamedWithItsLine) {
  refused("ward;diagnosis\nsurgery;K35\n",
          {"combinations 1", "first line of", "icd.csv", "must name the columns 'ward' and 'icd'"});
  refused("", {"must name the columns"});
  refused("ward,icd\nsurgery,K35\nsurgry,S72\ncardio,Z00\n",
          {"icd.csv' line 3: \"surgry\" is not among the values of column 'ward'",
           "line 4: \"Z00\" is not among the values of column 'icd'"});
  refused("ward,icd\nsurgery,K35,9\n", {"icd.csv' line 2 has 3 fields, and the first line 2"});
  refused("ward,icd\n\"surgery,K35\n", {"line 2 has a quote that is not closed"});
  refused("ward,icd\n\"surgery\"x,K35\n", {"line 2 has text behind a closing quote"});
  refused("ward,icd\nNA,K35\n", {"line 2: \"NA\" is a missing value of column 'ward'", "leave it out"});
  refused("ward,icd\nsurgery,K35\nsurgery,S72\ncardio,I21\ncardio,I50\n",
          {"the list of combinations of 'ward', 'icd'",
           "\"other, all\" of column 'ward' goes with no value of column 'icd'",
           "leave it out of the column's values"});
  expect_error(ExitCode::kIo, {"nowhere.csv"}, [&] {
    (void)read(kList, "[[combinations]]\ncolumns = [\"ward\", \"icd\"]\nfile = \"nowhere.csv\"\n");
  });
  // A diagnosis that no ward has stays possible where the ward is missing.
  EXPECT_EQ(read("ward,icd\nsurgery,K35\nsurgery,S72\ncardio,I21\n\"other, all\",S72\n").constraints.size(),
            1u);
}

TEST_F(Combinations, WhatCannotBeCombinedIsRefused) {
  const auto with = [](const std::string& rest) { return "[[combinations]]\n" + rest; };
  refused(kList, {"needs columns = [\"A\", \"B\"]", "of three"},
          with("columns = [\"ward\", \"icd\", \"emergency\"]\nfile = \"icd.csv\"\n"));
  refused(kList, {"there is no column 'wards'; did you mean 'ward'"},
          with("columns = [\"wards\", \"icd\"]\nfile = \"icd.csv\"\n"));
  refused(kList, {"column 'age' is a number, and only categories are combined"},
          with("columns = [\"age\", \"icd\"]\nfile = \"icd.csv\"\n"));
  refused(kList, {"needs either 'file'", "or 'allowed'"}, with("columns = [\"ward\", \"icd\"]\n"));
  refused(kList, {"no key 'files'; did you mean 'file'"},
          with("columns = [\"ward\", \"icd\"]\nfiles = \"icd.csv\"\n"));
  refused(kList, {"the list of combinations of 'icd', 'icd': names column 'icd' twice"},
          with("columns = [\"icd\", \"icd\"]\nallowed = [[\"K35\", \"K35\"]]\n"));
  refused(kList, {"combined twice"}, kByFile + kByFile);
  refused(kList, {"'allowed' needs two values"},
          with("columns = [\"ward\", \"icd\"]\nallowed = [[\"surgery\", \"K35\"], [\"cardio\"]]\n"));
  expect_error(ExitCode::kConfig, {"names no file that can be read here"},
               [] { (void)parse_table_toml(kWards + kByFile, "s.toml"); });
}

TEST_F(Combinations, RowsBecomeOnesThatAreAllowedAndAllowedOnesStay) {
  const Table table = read(kList);
  const RowRules rules(table);
  EXPECT_EQ(constraint_name(table, 0), "the list of combinations of 'ward', 'icd'");
  std::map<std::uint32_t, std::set<std::uint32_t>> made;  // of surgery: from which diagnosis, which
  for (std::uint32_t ward = 0; ward < 4; ++ward) {
    for (std::uint32_t icd = 0; icd < 4; ++icd) {
      std::vector<float> row{position({ward, 0.5f}, 4), position({0, 0.3f}, 2), position({icd, 0.5f}, 4)};
      const std::vector<float> before = row;
      const bool allowed = ward == 3 || std::ranges::count(kAllowed, CodePair(ward, icd)) == 1;
      EXPECT_EQ(rules.all_broken(row, 0).empty(), allowed);
      rules.mend(row, 0);
      EXPECT_EQ(row == before, allowed) << ward << " " << icd;
      EXPECT_EQ(row[0], before[0]) << "the first column stays";
      EXPECT_TRUE(rules.all_broken(row, 0).empty());
      if (ward == 0) made[icd].insert(cell_at(row[2], 4).code);
    }
  }
  EXPECT_EQ(made[2], (std::set<std::uint32_t>{0})) << "the next code, round the end";
}

TEST_F(Combinations, WithTheLabelTheOtherColumnChanges) {
  const Table table = read("icd,emergency\nK35,true\nS72,true\nI21,true\nI21,false\nI50,false\n",
                           "[[combinations]]\ncolumns = [\"icd\", \"emergency\"]\nfile = \"icd.csv\"\n");
  const RowRules rules(table);
  for (const std::int64_t label : {0, 1}) {
    for (std::uint32_t icd = 0; icd < 4; ++icd) {
      std::vector<float> row{0.1f, 0.1f, position({icd, 0.5f}, 4)};
      rules.mend(row, label);
      const std::uint32_t now = cell_at(row[2], 4).code;
      EXPECT_TRUE(label == 0 ? now >= 2 : now <= 2) << icd << " " << label;
    }
  }
}

// What R's write.csv2 and Excel write.
TEST_F(Combinations, QuotedHeadersWithAnySeparatorAreRead) {
  const Table table = read(kList);
  for (const char separator : {',', ';', '\t'}) {
    std::string file =
        "\"ward\"_\"icd\"\n\"surgery\"_\"K35\"\n\"surgery\"_\"S72\"\n\"cardio\"_\"I21\"\n"
        "\"cardio\"_\"I50\"\n\"other, all\"_\"S72\"\n\"other, all\"_\"I50\"\n";
    std::ranges::replace(file, '_', separator);
    EXPECT_EQ(read(file), table) << separator;
  }
}

TEST_F(Combinations, OnlyTheFirstProblemsOfALongListAreNamedAndItsLinesAreBounded) {
  std::string file = "ward,icd\n";
  for (int i = 0; i < 12; ++i) file += "surgery,Z00\n";
  refused(file, {"line 2: ", "line 6: ", "; and 7 more"});
  file = "ward,icd\n";
  for (int i = 0; i < 1'000'001; ++i) file += "cardio,I50\n";
  refused(file, {"line 1000002 is one too many", "1000000 at most"});
}

// A release states its schema, and institutions send it in a message of 4 MiB.
TEST_F(Combinations, AllListsTogetherAreBounded) {
  Table table;
  for (const char* name : {"a", "b", "c"}) {
    Column& column = table.columns.emplace_back();
    column.name = name;
    column.type = ColumnType::kCategory;
    for (int v = 0; v < 600; ++v) column.values.push_back({std::to_string(v), {}});
  }
  const auto list = [&](std::size_t first, std::size_t second, std::uint32_t each) {
    Constraint& c = table.constraints.emplace_back();
    c.kind = Constraint::Kind::kAmong;
    c.columns = {first, second};
    for (std::uint32_t x = 0; x < 600; ++x) {
      std::set<std::uint32_t> with;
      for (std::uint32_t k = 0; k < each; ++k) with.insert((x + k) % 600);
      for (const std::uint32_t y : with) c.allowed.emplace_back(x, y);
    }
  };
  list(0, 1, 300);
  EXPECT_EQ(table.problems(), std::vector<std::string>{});
  list(1, 2, 34);
  EXPECT_EQ(table.problems(),
            std::vector<std::string>{"the list of combinations of 'b', 'c': with it the lists "
                                     "allow more than 200000 combinations"});
  expect_error(ExitCode::kProtocol, {"allow more than"}, [&] {
    (void)read_table(
        JsonFields(nlohmann::json::parse(to_json(table).dump()), {"a.mfl", "a release", "Copy it again."}));
  });
  table.constraints.pop_back();
  list(1, 2, 1);
  list(0, 2, 1);
  ASSERT_EQ(table.problems().size(), 1u);
  EXPECT_NE(table.problems()[0].find("of 'a', 'c': with it the lists are about more than 1048576 pairs"),
            std::string::npos)
      << table.problems()[0];
}

TEST_F(Combinations, RecordsThemselvesAreNoList) {
  write_file_atomically(folder_ / "icd.csv", kList);
  write_file_atomically(folder_ / "s.toml", kWards + kByFile);
  std::filesystem::create_symlink("icd.csv", folder_ / "link.csv");
  const auto is_records = [&](const std::filesystem::path& file) {
    return std::filesystem::equivalent(file, folder_ / "link.csv");
  };
  expect_error(
      ExitCode::kConfig,
      {"combinations 1", "'icd.csv' is a file with records", "published as it is", "a public source"},
      [&] { (void)read_table_toml(folder_ / "s.toml", is_records); });
}

constexpr const char* kStar = R"(
[[columns]]
name = "ward"
type = "category"
values = ["gyn", "uro"]
[[columns]]
name = "sex"
type = "category"
values = ["male", "female"]
[[columns]]
name = "icd"
type = "category"
values = ["O80", "N40"]
[[combinations]]
columns = ["ward", "icd"]
allowed = [["gyn", "O80"], ["uro", "N40"]]
[[combinations]]
columns = ["sex", "icd"]
allowed = [["male", "N40"], ["female", "O80"]]
)";

// Both lists would move the diagnosis, and none goes with (gyn, male).
TEST_F(Combinations, ListsThatMoveTheSameColumnAreMendedOutwards) {
  const Table table = parse_table_toml(kStar, "star.toml");
  const RowRules rules(table);
  ASSERT_EQ(rules.contradiction(), "");
  for (std::uint32_t ward = 0; ward < 2; ++ward) {
    for (std::uint32_t sex = 0; sex < 2; ++sex) {
      for (std::uint32_t icd = 0; icd < 2; ++icd) {
        std::vector<float> row{position({ward, 0.5f}, 2), position({sex, 0.5f}, 2), position({icd, 0.5f}, 2)};
        rules.mend(row, 0);
        EXPECT_TRUE(rules.all_broken(row, 0).empty());
        EXPECT_EQ(cell_at(row[0], 2).code, ward) << "the first list's first column stays";
      }
    }
  }
}

/// Columns a, b, c, d of `values` codes each. @param lists  of columns, and what is added to the code of the
/// first for the two codes of the second that go with it
Table shifted(std::uint32_t values, const std::vector<std::array<std::uint32_t, 4>>& lists, bool labelled) {
  Table table;
  for (const char* name : {"a", "b", "c", "d", "note"}) {
    Column& column = table.columns.emplace_back();
    column.name = name;
    column.type = ColumnType::kCategory;
    for (std::uint32_t v = 0; v < values; ++v) column.values.push_back({std::to_string(v), {}});
  }
  if (labelled) table.columns[3].role = ColumnRole::kLabel;
  for (const auto& [first, second, one, other] : lists) {
    Constraint& c = table.constraints.emplace_back();
    c.kind = Constraint::Kind::kAmong;
    c.columns = {first, second};
    std::set<CodePair> pairs;
    for (std::uint32_t x = 0; x < values; ++x)
      pairs.insert({{x, (x + one) % values}, {x, (x + other) % values}});
    c.allowed.assign(pairs.begin(), pairs.end());
  }
  return table;
}

// Mended by lists alone, each with its own ones: none becomes the row that is kept for the worst case.
TEST_F(Combinations, ChainsStarsAndRingsAreMendedAndTheirOtherColumnsStay) {
  using Lists = std::vector<std::array<std::uint32_t, 4>>;
  const Lists chain{{0, 1, 0, 1}, {1, 2, 2, 2}, {2, 3, 0, 3}},
      backwards{{2, 3, 1, 1}, {1, 2, 0, 2}, {0, 1, 3, 4}}, star{{0, 3, 0, 0}, {1, 3, 1, 1}, {2, 3, 2, 2}},
      ring{{0, 1, 0, 1}, {1, 2, 0, 1}, {0, 2, 1, 2}};
  for (const Lists& lists : {chain, backwards, star, ring}) {
    for (const bool labelled : {false, true}) {
      const Table table = shifted(5, lists, labelled);
      ASSERT_EQ(table.problems(), std::vector<std::string>{});
      const RowRules rules(table);
      std::set<std::vector<float>> made;
      for (std::uint32_t i = 0; i < 625; ++i) {
        std::vector<float> row{position({i % 5, 0.5f}, 5), position({i / 5 % 5, 0.5f}, 5),
                               position({i / 25 % 5, 0.5f}, 5)};
        if (!labelled) row.push_back(position({i / 125, 0.5f}, 5));
        row.push_back(position({i % 4, 0.25f}, 5));
        const float note = row.back();
        rules.mend(row, labelled ? i / 125 : 0);
        EXPECT_TRUE(rules.all_broken(row, labelled ? i / 125 : 0).empty());
        EXPECT_EQ(row.back(), note);
        made.insert(row);
      }
      EXPECT_GE(made.size(), 5u);
    }
  }
}

TEST_F(Combinations, ListsThatNoRowKeepsAreRefusedByName) {
  const Table table = shifted(5, {{0, 1, 0, 0}, {1, 2, 0, 0}, {0, 2, 1, 1}}, false);
  ASSERT_EQ(table.problems().size(), 1u);
  EXPECT_EQ(table.problems()[0],
            "the lists of combinations contradict each other: muffle finds no row that keeps them all");
}

}  // namespace
}  // namespace muffle::schema
