// A release's tables as other programs read them: CSV files and a description.
#include "muffle/release/table_files.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "muffle/core/files.hpp"
#include "release/sample_artifact.hpp"
#include "support/expect_error.hpp"
#include "support/planned_release.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::release {
namespace {

/// Age in three bins and missing; a name with what CSV quotes; a label.
schema::Schema mixed(bool labelled) {
  auto table = std::make_shared<schema::Table>();
  schema::Column age, job, label;
  age.name = "age", age.type = schema::ColumnType::kInteger;
  age.lo = 17, age.hi = 30, age.edges = {17, 25, 30, 31};
  age.missing = true, age.spellings = {"?"};
  job.name = "job, \"main\"";
  job.values = {{"a,b", {}}, {"say \"x\"", {}}};
  label.name = "label", label.role = schema::ColumnRole::kLabel;
  label.values = {{"no", {}}, {"yes", {}}};
  table->columns = {age, job};
  if (labelled) table->columns.insert(table->columns.begin(), label);
  schema::Schema schema{{2}, labelled ? std::size_t{2} : 1, 0.0, 1.0};
  schema.table = table;
  return schema;
}

Artifact release_of(const schema::Schema& schema) {
  const auto at = [](std::uint32_t age, std::uint32_t job) {
    return std::vector<float>{schema::position({age}, 4), schema::position({job}, 2)};
  };
  std::vector<float> x;
  for (const auto& record : {at(0, 0), at(0, 0), at(3, 1), at(2, 0)})
    x.insert(x.end(), record.begin(), record.end());
  const std::int32_t last = schema.classes > 1 ? 1 : 0;
  return test::planned_release(schema, {test::named("p", test::make_map("pairs", {}, schema))}, x,
                               {0, 0, 0, last});
}

TEST(TableFiles, AreCsvWithTheColumnsValuesAndADescription) {
  for (const bool labelled : {true, false}) {
    const test::TemporaryFolder folder;
    const Artifact a = release_of(mixed(labelled));
    write_tables(a, folder / "tables");
    const auto stated = nlohmann::json::parse(read_file(folder / "tables/tables.json"));
    EXPECT_EQ(stated["format"], "muffle-tables");
    EXPECT_EQ(stated["private"], false);
    EXPECT_TRUE(stated["epsilon"].is_null()) << "noise that is not secret promises nothing";
    EXPECT_EQ(stated["records"], 4.0);
    EXPECT_EQ(stated["label"], labelled ? nlohmann::json("label") : nlohmann::json());
    EXPECT_EQ(stated["columns"].size(), labelled ? 3u : 2u);
    EXPECT_EQ(stated["columns"].at(labelled ? 1 : 0)["codes"],
              nlohmann::json({"17..24", "25..29", "30", "?"}));
    ASSERT_EQ(stated["tables"].size(), 3u);
    const NoisyTables all = make_noisy_tables(a);
    for (std::size_t t = 0; t < 3; ++t) {
      const auto& table = stated["tables"][t];
      EXPECT_EQ(table["sigma"], all.tables[t].sigma);
      std::istringstream lines(read_file(folder / "tables" / table["file"].get<std::string>()));
      std::string line;
      std::getline(lines, line);
      for (const double count : all.tables[t].counts) {
        std::getline(lines, line);
        EXPECT_EQ(std::stod(line.substr(line.rfind(',') + 1)), count);
      }
      EXPECT_FALSE(std::getline(lines, line)) << line;
      std::size_t cells = 1;
      for (const auto& side : table["shape"]) cells *= side.get<std::size_t>();
      EXPECT_EQ(cells, all.tables[t].counts.size());
    }
    const std::string pair = read_file(folder / "tables/table-0002.csv");
    EXPECT_EQ(stated["tables"][2]["columns"].back(), "job, \"main\"");
    if (labelled) {
      EXPECT_EQ(pair,
                "label,age,\"job, \"\"main\"\"\",count\n"
                "no,17..24,\"a,b\",2\nno,17..24,\"say \"\"x\"\"\",0\nno,25..29,\"a,b\",0\n"
                "no,25..29,\"say \"\"x\"\"\",0\nno,30,\"a,b\",0\nno,30,\"say \"\"x\"\"\",0\nno,?,\"a,b\",0\n"
                "no,?,\"say \"\"x\"\"\",1\nyes,17..24,\"a,b\",0\nyes,17..24,\"say \"\"x\"\"\",0\n"
                "yes,25..29,\"a,b\",0\nyes,25..29,\"say \"\"x\"\"\",0\nyes,30,\"a,b\",1\n"
                "yes,30,\"say \"\"x\"\"\",0\nyes,?,\"a,b\",0\nyes,?,\"say \"\"x\"\"\",0\n");
    } else {
      EXPECT_EQ(pair.substr(0, pair.find('\n')), "age,\"job, \"\"main\"\"\",count");
    }
  }
}

TEST(TableFiles, TouchTheirOwnAloneAndRemoveAnEarlierExports) {
  namespace fs = std::filesystem;
  const test::TemporaryFolder folder;
  const auto yesterday = fs::file_time_type::clock::now() - std::chrono::hours(24);
  const auto users = folder / "table-of-mine.csv";
  write_file_atomically(users, "x");
  fs::last_write_time(users, yesterday);
  const auto tables = [&] {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.path())) names.insert(entry.path().filename());
    names.erase(users.filename());
    return names;
  };
  Artifact a = release_of(mixed(true));
  a.adjacency = privacy::Adjacency::kAddRemoveOne;
  write_tables(a, folder.path());
  const std::set<std::string> three{"tables.json", "table-0000.csv", "table-0001.csv", "table-0002.csv"};
  EXPECT_EQ(tables(), three);
  EXPECT_EQ(fs::last_write_time(users), yesterday);
  for (const std::string& name : three) {
    const auto time = fs::file_time_type::clock::to_sys(fs::last_write_time(folder / name));
    EXPECT_EQ(time, std::chrono::floor<std::chrono::days>(time)) << name;
  }

  // A file that the next export does not write; and a job that was killed before it wrote one.
  auto stated = nlohmann::json::parse(read_file(folder / "tables.json"));
  stated["tables"].push_back({{"file", "table-0003.csv"}});
  stated["tables"].push_back({{"file", "table-0004.csv"}});
  write_file_atomically(folder / "tables.json", stated.dump());
  write_file_atomically(folder / "table-0003.csv", "old");
  write_tables(a, folder.path());
  EXPECT_EQ(tables(), three);
  EXPECT_EQ(read_file(users), "x");
}

TEST(TableFiles, AreNotWrittenOverWhatNoExportWrote) {
  const auto refused = [](const std::string& name, const std::string& text) {
    const test::TemporaryFolder folder;
    write_file_atomically(folder / name, text);
    for (int i = 0; i < 2; ++i) {
      test::expect_error(ExitCode::kConfig, {name, "in the way"}, [&] {
        if (i == 0) require_place_for_tables(folder.path());
        if (i == 1) write_tables(release_of(mixed(true)), folder.path());
      });
    }
    EXPECT_EQ(read_file(folder / name), text);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  };
  refused("table-0017.csv", "the user's");
  refused("tables.json", "{}");
  refused("tables.json", "no JSON");
  refused("tables.json", R"({"format": "muffle-tables", "tables": [{"file": "../../etc/passwd"}]})");
  refused("tables.json", R"({"format": "muffle-tables", "tables": [{"file": "table-/../x.csv"}]})");
}

TEST(TableFiles, NeedTablesAndAFolder) {
  const test::TemporaryFolder folder;
  test::expect_error(ExitCode::kConfig, {"\"pairs\""},
                     [&] { write_tables(testing_artifact::sample_artifact(), folder / "t"); });
  EXPECT_FALSE(std::filesystem::exists(folder / "t"));
  write_file_atomically(folder / "file", "x");
  test::expect_error(ExitCode::kIo, {"file"},
                     [&] { write_tables(release_of(mixed(true)), folder / "file"); });
}

}  // namespace
}  // namespace muffle::release
