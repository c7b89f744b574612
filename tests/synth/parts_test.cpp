// Samples in several files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "muffle/core/files.hpp"
#include "muffle/data/format.hpp"
#include "muffle/data/people.hpp"
#include "muffle/synth/listed_samples.hpp"
#include "support/temporary_folder.hpp"
#include "synth/sample_files.hpp"

namespace muffle::synth {
namespace {

namespace fs = std::filesystem;

/// 1,234 records of one column with two categories: "a" and, of every 100th record, "b".
class Parts : public testing::Test {
 protected:
  static constexpr std::uint64_t kCount = 1234;

  Parts() {
    for (const data::FormatKind& kind : data::format_kinds()) formats_.push_back(kind.format);
    describe(1);
    draw_.class_share = {1.0};
    draw_.spec.count = kCount;
  }

  /// A table of so many columns, all alike.
  void describe(std::size_t columns) {
    schema::Table table;
    table.columns.resize(columns);
    for (std::size_t j = 0; j < columns; ++j) {
      table.columns[j].name = j == 0 ? "letter" : "letter " + std::to_string(j);
      table.columns[j].values = {{"a", {}}, {"b", {}}};
    }
    draw_.info.schema.shape = {columns};
    draw_.info.schema.lo = 0;
    draw_.info.schema.hi = 1;
    draw_.info.schema.table = std::make_shared<const schema::Table>(table);
  }

  std::string sample(std::vector<std::string> formats, std::uint64_t files) {
    draw_.spec.formats = std::move(formats);
    draw_.spec.files = files;
    SampleFiles out(folder_.path(), draw_, formats_);
    for (std::uint64_t tile = 0; tile < draw_.tiles(); ++tile) {
      std::string bytes;
      for (std::uint64_t i = 0; i < draw_.tile_records(tile); ++i) {
        const float at = (tile * kTileRecords + i) % 100 == 99 ? 0.75f : 0.25f;
        for (std::size_t j = 0; j < draw_.info.schema.dims(); ++j)
          bytes.append(reinterpret_cast<const char*>(&at), sizeof at);
      }
      out.add(bytes);
    }
    return out.finish("model", "settings", [] {});
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::vector<float> read(const std::string& file) const {
    data::DataSpec spec = data::written_records(folder_ / file);
    spec.schema = draw_.info.schema;
    const auto stream = data::open_records(spec);
    std::vector<float> out;
    data::Row row;
    for (std::uint64_t i = 0; i < stream->records(); ++i) {
      stream->read(row);
      out.push_back(row.floats[0]);
    }
    return out;
  }

  std::vector<const schema::RecordFormat*> formats_;
  Draw draw_;
  const test::TemporaryFolder folder_;
};

TEST_F(Parts, HoldAllRecordsInTheirOrderEach) {
  sample({"csv"}, 1);
  const std::vector<float> want = read("samples.csv");
  ASSERT_EQ(want.size(), kCount);
  EXPECT_EQ(want[99], schema::position({1, 0.5f}, 2));
  sample({"csv", "csv-gz"}, 7);
  for (int i = 0; i < 7; ++i) {
    const std::string name = "samples-0000" + std::to_string(i) + "-of-00007.csv";
    EXPECT_EQ(read(name), want) << "whichever is named, all of them are read";
    EXPECT_EQ(read(name + ".gz"), want);
  }
  const std::vector<std::string> names = files();
  EXPECT_EQ(names.size(), 15u) << "7 of each format, and their description; the single file went away";
  const std::string first = read_file(folder_ / "samples-00000-of-00007.csv");
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 1 + 1234 / 7);
  EXPECT_TRUE(first.starts_with("letter\n"));
}

// Numbers of keys go on from part to part, and from one sampling to the next.
TEST_F(Parts, EveryRecordHasAKeyOfItsOwn) {
  schema::Table table = *draw_.info.schema.table;
  schema::Column& key = table.columns.emplace_back();
  key.name = "id";
  key.type = schema::ColumnType::kKey;
  key.notation.prefix = "P,";
  key.digits = 4;
  draw_.info.schema.table = std::make_shared<const schema::Table>(table);
  const auto keys = [&](std::uint64_t parts) {
    std::vector<std::string> out;
    for (std::uint64_t part = 0; part < parts; ++part) {
      std::istringstream lines(read_file(folder_ / (draw_.spec.file_name(part) + ".csv")));
      std::string line;
      std::getline(lines, line);
      EXPECT_EQ(line, "letter,id");
      while (std::getline(lines, line)) out.push_back(line.substr(2));
    }
    return out;
  };
  sample({"csv"}, 1);
  const std::vector<std::string> first = keys(1);
  ASSERT_EQ(first.size(), kCount);
  EXPECT_EQ(first.front(), "\"P,0001\"");
  EXPECT_EQ(first.back(), "\"P,1234\"");
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), kCount);
  EXPECT_EQ(read("samples.csv").size(), kCount) << "they are read past";
  sample({"csv"}, 7);
  EXPECT_EQ(keys(7), first);
  EXPECT_EQ(nlohmann::json::parse(read_file(folder_ / "samples.json"))["skip_keys"], 0);

  draw_.spec.skip_keys = kCount;
  sample({"csv"}, 3);
  const std::vector<std::string> second = keys(3);
  EXPECT_EQ(second.front(), "\"P,1235\"");
  EXPECT_EQ(second.back(), "\"P,2468\"");
  EXPECT_EQ(nlohmann::json::parse(read_file(folder_ / "samples.json"))["skip_keys"], kCount);

  const auto found = [&] {
    settings::Problems out;
    problems(draw_.spec, draw_.info.schema, formats_, out);
    return out.take();
  };
  draw_.spec.skip_keys = 9999 - kCount;
  EXPECT_THAT(found(), testing::IsEmpty());
  ++draw_.spec.skip_keys;
  EXPECT_THAT(found(),
              testing::ElementsAre(testing::HasSubstr("is 10000, and the keys of column 'id' have 4")));
  describe(1);
  EXPECT_THAT(found(),
              testing::ElementsAre(testing::HasSubstr("sample.skip_keys is of tables with a column")));
}

// Which person a row is of does not depend on the file that it is in.
TEST_F(Parts, RowsOfOnePersonHaveOneName) {
  schema::Table table = *draw_.info.schema.table;
  schema::Column& who = table.columns.emplace_back();
  who.name = "who";
  who.role = schema::ColumnRole::kPerson;
  who.rows = 3;
  who.notation.prefix = "P";
  who.digits = 5;
  describe_table(draw_.info.schema, std::make_shared<const schema::Table>(schema::with_rows_counted(table)));
  draw_.persons = std::make_shared<const schema::PersonRows>(std::vector<double>{0.5, 0.3, 0.2}, kCount, 1);
  const auto people = [&](std::uint64_t parts) {
    std::vector<std::string> out;
    for (std::uint64_t part = 0; part < parts; ++part) {
      std::istringstream lines(read_file(folder_ / (draw_.spec.file_name(part) + ".csv")));
      std::string line;
      std::getline(lines, line);
      EXPECT_EQ(line, "letter,who");
      while (std::getline(lines, line)) out.push_back(line.substr(2));
    }
    return out;
  };
  sample({"csv"}, 1);
  const std::vector<std::string> all = people(1);
  ASSERT_EQ(all.size(), kCount);
  std::map<std::string, std::size_t> rows;
  for (const std::string& one : all) ++rows[one];
  EXPECT_EQ(rows.size(), draw_.persons->persons());
  EXPECT_EQ(rows.begin()->first, "P00001");
  std::vector<std::uint64_t> with(3, 0);
  for (const auto& [one, own] : rows) ++with.at(own - 1);
  EXPECT_EQ(with, draw_.persons->people());
  sample({"csv"}, 7);
  EXPECT_EQ(people(7), all);
  sample({"npz"}, 1);
  data::DataSpec spec = data::written_records(folder_ / "samples.npz");
  spec.schema = draw_.info.schema;
  EXPECT_EQ(data::people_by_records(spec, 3), draw_.persons->people());

  draw_.spec.skip_keys = kCount;
  sample({"csv"}, 3);
  const std::vector<std::string> second = people(3);
  EXPECT_EQ(*std::min_element(second.begin(), second.end()), "P01235");
  draw_.persons = nullptr;
  EXPECT_THROW(sample({"csv"}, 1), InvariantError);
}

TEST_F(Parts, OfEarlierRunsGoAway) {
  std::ofstream(folder_ / "samples-of-mine.csv") << "mine";
  sample({"csv"}, 3);
  sample({"csv"}, 2);
  EXPECT_EQ(files(), (std::vector<std::string>{"samples-00000-of-00002.csv", "samples-00001-of-00002.csv",
                                               "samples-of-mine.csv", "samples.json"}));
  sample({"csv-gz"}, 1);
  EXPECT_EQ(files(), (std::vector<std::string>{"samples-of-mine.csv", "samples.csv.gz", "samples.json"}));
}

TEST_F(Parts, OfATableOfTwoColumnsHaveNoPicture) {
  describe(2);
  sample({"csv"}, 1);
  EXPECT_EQ(files(), (std::vector<std::string>{"samples.csv", "samples.json"}));
}

TEST_F(Parts, AreKnownOnlyAllTogether) {
  sample({"csv"}, 3);
  const fs::path first = folder_ / "samples-00000-of-00003.csv",
                 last = folder_ / "samples-00002-of-00003.csv";
  ASSERT_TRUE(listed_samples(first));
  EXPECT_EQ(nlohmann::json::parse(read_file(folder_ / "samples.json"))["files"].size(), 3u);
  const std::string good = read_file(last);
  std::ofstream(last) << "letter\nb\n";
  EXPECT_FALSE(listed_samples(first)) << "somebody put records in the place of a part";
  std::ofstream(last) << good;
  EXPECT_TRUE(listed_samples(first));
}

TEST_F(Parts, AreRefusedWhereAFormatHasNone) {
  SampleSpec spec;
  spec.formats = {"npz"};
  spec.files = 2;
  settings::Problems problems_found;
  problems(spec, formats_, problems_found);
  EXPECT_FALSE(problems_found.empty());
  settings::Problems too_many;
  spec.formats = {"csv"};
  spec.count = 1;
  problems(spec, formats_, too_many);
  EXPECT_FALSE(too_many.empty());
  settings::Problems none;
  spec.count = 2;
  problems(spec, formats_, none);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace muffle::synth
