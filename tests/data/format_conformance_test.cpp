// What every record format must do: runs over the table. What is peculiar to one is tested in
// NAME_format_test.cpp.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "data/table_fixture.hpp"
#include "muffle/core/files.hpp"
#include "muffle/data/format.hpp"
#include "muffle/data/record_check.hpp"
#include "support/expect_error.hpp"
#include "support/mutate.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::data::test {
namespace {

using muffle::test::expect_error;
using muffle::test::expect_local_detail;
using schema::RecordKind;
using schema::Records;
namespace fs = std::filesystem;

/// What the records of a case are.
enum class Content { kBytes, kFloats, kTable };

/// d columns: a number, a category that may be missing, categories, and a label of three classes last.
std::shared_ptr<const schema::Table> made_up_table(std::size_t d) {
  schema::Table table;
  for (std::size_t j = 0; j < d; ++j) {
    const std::string name = "column " + std::to_string(j);
    if (j % 3 == 0) {
      table.columns.push_back(number(name, 0, 6, 0.5, 1, {0, 2, 4, 6.5}));
    } else {
      table.columns.push_back(category(name, {{"red", {}}, {"gre,en", {}}, {"\"blue\"", {}}}));
    }
    if (j % 3 != 1) continue;
    table.columns.back().missing = true;
    table.columns.back().spellings = {"?"};
  }
  table.columns.push_back(
      category("class", {{"zero", {}}, {"wone", {}}, {"two.", {}}}, schema::ColumnRole::kLabel));
  return std::make_shared<const schema::Table>(table);
}

/// Record i: its first number is i, its label i mod 3. Of a table: what reading them gives.
Records made_up(std::vector<std::size_t> shape, Content content, std::size_t first, std::size_t n) {
  Records records;
  records.shape = std::move(shape);
  const bool floats = content != Content::kBytes;
  if (content == Content::kTable) {
    const auto table = made_up_table(records.shape[0]);
    std::vector<std::vector<float>> positions(records.shape[0]);
    for (std::size_t j = 0; j < positions.size(); ++j) {
      const schema::ColumnText text(table->columns[j]);
      for (int i = 0; i < 4; ++i) {
        const schema::FieldReading field =
            text.read(table->columns[j].is_number() ? 1.5 * i : i % (j % 3 == 1 ? 4 : 3));
        positions[j].push_back(schema::position(field.cell.value(), table->columns[j].codes()));
      }
    }
    for (std::size_t i = first; i < first + n; ++i) {
      for (std::size_t j = 0; j < positions.size(); ++j) records.floats.push_back(positions[j][(i + j) % 4]);
      records.labels.push_back(static_cast<std::uint8_t>(i % 3));
    }
    return records;
  }
  const std::size_t dims = RecordKind{records.shape, floats, n}.dims();
  for (std::size_t i = first; i < first + n; ++i) {
    for (std::size_t j = 0; j < dims; ++j) {
      if (floats) {
        records.floats.push_back(static_cast<float>(i) + 0.25f * static_cast<float>(j));
      } else {
        records.bytes.push_back(static_cast<std::uint8_t>(i + 7 * j));
      }
    }
    records.labels.push_back(static_cast<std::uint8_t>(i % 3));
  }
  return records;
}

class FormatConformance : public testing::TestWithParam<std::tuple<std::size_t, Content>> {
 protected:
  static const FormatKind& line() { return format_kinds()[std::get<0>(GetParam())]; }
  static const Format& format() { return *line().format; }
  static Content content() { return std::get<1>(GetParam()); }
  static bool floats() { return content() != Content::kBytes; }
  static bool table() { return content() == Content::kTable; }
  static std::vector<std::size_t> shape() {
    return floats() ? std::vector<std::size_t>{3} : std::vector<std::size_t>{1, 2, 3};
  }
  static RecordKind kind(std::uint64_t n) { return kind(shape(), n); }
  static RecordKind kind(const std::vector<std::size_t>& shape, std::uint64_t n) {
    return {shape, floats(), n, table() ? made_up_table(shape[0]) : nullptr};
  }

  /// Writes n records in two goes. @returns how to read them.
  DataSpec write(const std::string& name, std::size_t n) { return write(name, shape(), n); }
  DataSpec write(const std::string& name, const std::vector<std::size_t>& shape, std::size_t n) {
    for (const auto& file : format().writers(folder_.path(), name, kind(shape, n))) {
      file.writer->add(made_up(shape, content(), 0, n / 2));
      file.writer->add(made_up(shape, content(), n / 2, n - n / 2));
      file.writer->finish([] {});
    }
    return written(name, shape);
  }
  DataSpec written(const std::string& name, const std::vector<std::size_t>& shape) const {
    DataSpec spec = format().written(name);
    spec.dir = folder_.path().string();
    spec.schema = {shape, 3};
    if (!table()) return spec;
    spec.schema.table = made_up_table(shape[0]);
    spec.schema.lo = 0;
    spec.schema.hi = 1;
    return spec;
  }

  /// The files that write() makes, of a folder those that lie in it, in the order of their names.
  std::vector<std::string> files_of(const std::string& name) const {
    std::vector<std::string> all;
    for (const std::string& file : format().files(name)) {
      if (!format().writes_folder()) {
        all.push_back(file);
        continue;
      }
      for (const auto& entry : fs::recursive_directory_iterator(folder_ / file))
        if (entry.is_regular_file()) all.push_back(fs::relative(entry.path(), folder_.path()).string());
    }
    if (format().writes_folder()) std::sort(all.begin(), all.end());
    return all;
  }

  /// Without a sync, and as a new file: the tests write thousands.
  void put(const std::string& file, const std::string& bytes) {
    fs::remove(folder_ / file);
    std::ofstream(folder_ / file, std::ios::binary) << bytes;
  }

  muffle::test::TemporaryFolder folder_;
};

class PlainFormatConformance : public FormatConformance {};
class TableFormatConformance : public FormatConformance {};

TEST_P(FormatConformance, IsInTheTableByItsName) {
  EXPECT_EQ(format().name(), line().name);
  EXPECT_EQ(&find_format(line().name), &format());
  EXPECT_FALSE(format().summary().empty());
  expect_error(ExitCode::kConfig, {"record format", line().name}, [] { (void)find_format("stone"); });
  std::multiset<std::string> endings;
  for (const FormatKind& kind : format_kinds()) endings.insert(kind.format->files("").back());
  EXPECT_EQ(endings.count(format().files("").back()), 1u) << "written files are known by their names";
  const DataSpec found = written_records(folder_ / format().files("some").back());
  EXPECT_EQ(found.format, line().name);
  EXPECT_FALSE(found.features.empty());
}

TEST_P(FormatConformance, GivesBackTheValuesThatWereWritten) {
  for (const std::size_t n : {0u, 1u, 7u}) {
    const DataSpec spec = write("r", n);
    const Records want = made_up(shape(), content(), 0, n);
    const auto stream = open_records(spec);
    ASSERT_EQ(stream->records(), n);
    EXPECT_EQ(stream->holds_bytes(), !floats());
    Records got;
    Row row;
    for (std::size_t i = 0; i < n; ++i) {
      stream->read(row);
      got.bytes.insert(got.bytes.end(), row.bytes.begin(), row.bytes.end());
      got.floats.insert(got.floats.end(), row.floats.begin(), row.floats.end());
      got.labels.push_back(static_cast<std::uint8_t>(row.label));
    }
    EXPECT_NO_THROW(stream->expect_end());
    EXPECT_EQ(got.bytes, want.bytes);
    EXPECT_EQ(got.floats, want.floats);
    EXPECT_EQ(got.labels, want.labels);
  }
}

TEST_P(FormatConformance, WritesWholeFilesOfTheSizeThatItSaysOrNone) {
  write("a", 500);
  write("b", 500);
  std::uint64_t bytes = 0;
  const std::vector<std::string> of_a = files_of("a"), of_b = files_of("b");
  ASSERT_EQ(of_a.size(), of_b.size());
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    const std::string a = read_file(folder_ / of_a[i]), b = read_file(folder_ / of_b[i]);
    EXPECT_TRUE(a == b) << "equal records make equal files";
    bytes += a.size();
  }
  EXPECT_LE(bytes, format().bytes_on_disk(kind(500)) + 4096);
  {
    const auto files = format().writers(folder_.path(), "c", kind(5));
    for (const auto& file : files) {
      file.writer->add(made_up(shape(), content(), 0, 3));
      expect_error(ExitCode::kInvariant, {"5 records", "3 have come"}, [&] { file.writer->finish([] {}); });
      Records bad = made_up(shape(), content(), 0, 2);
      bad.labels.pop_back();
      expect_error(ExitCode::kInvariant, {"announced"}, [&] { file.writer->add(bad); });
    }
  }
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    const bool part_of_folder = format().writes_folder() && entry.is_directory();
    EXPECT_TRUE(part_of_folder || entry.path().filename().string()[0] != 'c') << entry.path();
  }
  expect_error(ExitCode::kIo, {"/proc/muffle"}, [&] { (void)format().writers("/proc", "muffle", kind(1)); });
}

TEST_P(FormatConformance, EveryRuleDealsEveryRecordExactlyOnceInOrder) {
  for (const std::size_t m : {0u, 1u, 4u, 13u}) {
    DataSpec spec = write("r", m);
    spec.records = m;
    const Batch whole = read_all(spec, 0, 1, 1);
    ASSERT_EQ(whole.n, m);
    for (const ShardRule rule : {ShardRule::kContiguous, ShardRule::kRoundRobin}) {
      spec.shards = rule;
      for (int ranks = 1; ranks <= 5; ++ranks) {
        std::vector<float> numbers(whole.x.size());
        std::vector<int> seen(m, 0);
        for (int rank = 0; rank < ranks; ++rank) {
          const Batch shard = read_all(spec, rank, ranks, 2);
          for (std::size_t i = 0; i < shard.n; ++i) {
            const auto k = static_cast<std::size_t>(ranks), r = static_cast<std::size_t>(rank);
            const std::size_t record = rule == ShardRule::kRoundRobin ? r + i * k : r * m / k + i;
            ++seen.at(record);
            EXPECT_EQ(shard.y[i], static_cast<int>(record % 3));
            const std::size_t dims = spec.schema.dims();
            std::copy_n(shard.x.begin() + static_cast<std::ptrdiff_t>(i * dims), dims,
                        numbers.begin() + static_cast<std::ptrdiff_t>(record * dims));
          }
        }
        EXPECT_EQ(seen, std::vector<int>(m, 1)) << ranks << " ranks";
        EXPECT_EQ(numbers, whole.x);
      }
    }
  }
}

TEST_P(FormatConformance, ACheckReadsAllAndSaysWhatThereIs) {
  DataSpec spec = write("r", 9);
  if (!table()) spec.schema.hi = 1e6;
  RecordCheck found = check_records(spec, 0, 20);
  EXPECT_EQ(found.misfits, 0u) << testing::PrintToString(found.places);
  EXPECT_EQ(found.records, 9u);
  ASSERT_FALSE(found.holds.empty());
  std::vector<std::uint64_t> labels;
  for (const auto& count : found.holds.back().counts) labels.push_back(count.second);
  EXPECT_EQ(labels, (std::vector<std::uint64_t>{3, 3, 3}));
  spec.records = 10;
  found = check_records(spec, 0, 20);
  EXPECT_TRUE(found.refused && found.misfits == 1);
  if (table()) return;
  spec.records = 9;
  spec.schema.classes = 2;
  found = check_records(spec, 0, 2);
  EXPECT_EQ(found.misfits, 3u);
  EXPECT_EQ(found.places.size(), 2u) << "the first of them";
  EXPECT_FALSE(found.refused);
}

TEST_P(FormatConformance, OneFileARankIsWhollyItsOwn) {
  for (int r = 0; r < 3; ++r) write("r-" + std::to_string(r), static_cast<std::size_t>(2 * r));
  DataSpec spec = written("r-{rank}", shape());
  spec.records = 6;  // of all ranks together: not one rank's business
  expect_error(ExitCode::kData, {"{rank}", "per-rank"}, [&] { open_shard(spec, 0, 3); });
  spec.shards = ShardRule::kPerRank;
  for (int r = 0; r < 3; ++r) EXPECT_EQ(read_all(spec, r, 3).n, static_cast<std::size_t>(2 * r));
}

TEST_P(FormatConformance, StreamsInBoundedMemory) {
  // 16 MiB of numbers, of tables 2 MiB; a reader may hold its buffers and a record. Arrays: a buffer a
  // column.
  const std::size_t columns = table() ? 16 : 4096, n = table() ? 32768u : floats() ? 1024u : 4096u;
  const std::size_t bound = table() && format().is_text() ? 1u << 20 : 4u << 20;
  const auto live = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  // Pictures have sides.
  const bool vectors = format().cannot_hold(kind({columns}, n)).empty();
  const std::vector<std::size_t> shape =
      vectors ? std::vector<std::size_t>{columns} : std::vector<std::size_t>{1, 64, columns / 64};
  std::size_t before = live(), most = 0;
  const auto watch = [&] { most = std::max(most, live() - std::min(live(), before)); };
  for (const auto& file : format().writers(folder_.path(), "r", kind(shape, n))) {
    for (std::size_t i = 0; i < n; i += 16) {
      file.writer->add(made_up(shape, content(), i, 16));
      watch();
    }
    file.writer->finish(watch);
  }
  EXPECT_LE(most, bound) << "writing";
  DataSpec spec = written("r", shape);
  if (!table()) spec.schema.hi = 1e6;
  before = live(), most = 0;
  Batch batch;
  for (int rank = 0; rank < 2; ++rank) {  // rank 1 passes over half of the file
    const auto source = open_shard(spec, rank, 2);
    std::size_t seen = 0;
    for (source->next(16, batch); batch.n > 0; source->next(16, batch), watch()) seen += batch.n;
    EXPECT_EQ(seen, n / 2);
  }
  EXPECT_LE(most, bound) << "reading";
}

TEST_P(FormatConformance, TruncationAtEveryByteIsSeen) {
  DataSpec spec = write("r", 4);
  spec.records = 4;
  spec.schema.on_error = schema::OnError::kRejectFile;
  if (!floats()) spec.schema.hi = 255;
  for (const std::string& file : files_of("r")) {
    const std::string good = read_file(folder_ / file);
    // Text may lack the end of its last line.
    const std::size_t end = good.ends_with('\n') ? good.size() - 1 : good.size();
    for (std::size_t n = 0; n < end; ++n) {
      put(file, good.substr(0, n));
      const std::string message =
          expect_error(ExitCode::kData, {file.substr(0, file.find('/'))}, [&] { read_all(spec); });
      ASSERT_FALSE(message.empty()) << n << " bytes of " << good.size();
    }
    put(file, good);
  }
}

TEST_P(FormatConformance, DamagedFilesParseOrAreBadData) {
  const DataSpec spec = write("r", 20);
  muffle::test::Mutator mutate(2);
  int refused = 0;
  const std::vector<std::string> files = files_of("r");
  const std::size_t times = 3000 / (1 + files.size());
  for (const std::string& file : files) {
    const std::string good = read_file(folder_ / file);
    for (std::size_t i = 0; i < times; ++i) {
      put(file, mutate(good));
      try {
        (void)read_all(spec, 0, 1, 3);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::kData) << error.what();
        ++refused;
      }
    }
    put(file, good);
  }
  EXPECT_GT(refused, 300);
}

TEST_P(FormatConformance, SharedFilesHoldThePublicNumberOfRecordsAndTheSchemasShape) {
  DataSpec spec = write("r", 10);
  spec.records = 11;
  for (const ShardRule rule : {ShardRule::kContiguous, ShardRule::kRoundRobin}) {
    spec.shards = rule;
    expect_error(ExitCode::kData, {format().files("r").back(), "10 records", "says 11"},
                 [&] { open_shard(spec, 0, 2); });
  }
  spec.records = 10;
  spec.schema = written("r", {5}).schema;
  if (!table()) spec.schema.shape = {5};
  expect_error(ExitCode::kData, {format().files("r").back()}, [&] { open_shard(spec, 0, 2); });
  spec = written("absent", shape());
  expect_error(ExitCode::kIo, {"absent"}, [&] { open_shard(spec, 0, 1); });
  EXPECT_NO_THROW((void)format().labels_problem(spec));
}

TEST_P(PlainFormatConformance, WhatDoesNotFitTheSchemaIsRefusedByRecordOnItsOwnRankOnly) {
  const DataSpec good = write("r", 200);
  const auto refused = [&](const DataSpec& spec, const std::string& record, const std::string& what) {
    (void)expect_local_detail(ExitCode::kData, {}, {"record " + record + " ", what}, [&] { read_all(spec); });
    return expect_error(ExitCode::kData, {format().files("r").back(), "does not fit", "on_error"},
                        [&] { read_all(spec); });
  };
  DataSpec spec = good;
  spec.schema.on_error = schema::OnError::kRejectFile;
  spec.schema.classes = 2;
  const std::string label = refused(spec, "2", "one of the classes");
  spec.schema.lo = -1, spec.schema.hi = floats() ? 0.5 : 35;
  EXPECT_EQ(refused(spec, "1", "outside the bounds"), label) << "which of the two is wrong is private";
  EXPECT_NO_THROW(read_all(spec, 0, 200)) << "not rank 0's record";
  spec.schema.on_error = schema::OnError::kClamp;
  const Batch clamped = read_all(spec);
  EXPECT_EQ(clamped.y[2], schema::kNoClass);
  EXPECT_EQ(clamped.x[7 * spec.schema.dims() - 1], 1.0f);
  for (const float v : clamped.x) EXPECT_TRUE(v >= 0 && v <= 1);
  spec = good;
  spec.schema.classes = 1;
  spec.labels.clear();
  EXPECT_EQ(read_all(spec).y, std::vector<std::int32_t>(200, 0)) << "unlabelled";
}

TEST_P(FormatConformance, HandsOutStoredBytesWhereItHasThem) {
  DataSpec spec = write("r", 9);
  const Batch scaled = read_all(spec);
  const auto source = open_shard(spec, 0, 1);
  source->hand_out_bytes();
  Batch batch;
  source->next(9, batch);
  ASSERT_EQ(batch.as_bytes(), !floats());
  if (!floats()) {
    batch.x.clear();
    for (const std::uint8_t v : batch.bytes) batch.x.push_back((*batch.scale)[v]);
  }
  EXPECT_EQ(batch.x, scaled.x);
  EXPECT_EQ(batch.y, scaled.y);
  source->next(9, batch);
  EXPECT_EQ(batch.n, 0u) << "an exhausted source stays empty";
  EXPECT_THROW(source->next(0, batch), InvariantError);
  if (table()) return;
  spec.schema.hi = 3;
  spec.schema.on_error = schema::OnError::kRejectFile;
  const auto refusing = open_shard(spec, 0, 1);
  refusing->hand_out_bytes();
  EXPECT_THROW(refusing->next(9, batch), DataError) << "the bounds are checked as ever";
}

TEST_P(TableFormatConformance, WhatDoesNotFitTheSchemaIsRefusedByRecordAndColumnOnItsOwnRankOnly) {
  DataSpec spec = write("r", 200);
  schema::Table narrow = *spec.schema.table;
  narrow.columns.back().values.pop_back();  // record 2's label
  spec.schema.table = std::make_shared<const schema::Table>(narrow);
  spec.schema.on_error = schema::OnError::kRejectFile;
  const auto refused = [&](const std::string& record, const std::string& column) {
    (void)expect_local_detail(ExitCode::kData, {format().files("r").back()},
                              {"row " + record + " ", "'" + column + "'"}, [&] { read_all(spec); });
    return expect_error(ExitCode::kData, {"does not fit", "on_error"}, [&] { read_all(spec); });
  };
  const std::string label = refused("3", "class");
  narrow.columns[0].hi = 1;  // record 1's number
  narrow.columns[0].edges = {0, 1.5};
  spec.schema.table = std::make_shared<const schema::Table>(narrow);
  EXPECT_EQ(refused("2", "column 0"), label) << "which of the two is wrong is private";
  EXPECT_NO_THROW(read_all(spec, 0, 200)) << "not rank 0's record";
  spec.schema.on_error = schema::OnError::kClamp;
  const Batch clamped = read_all(spec);
  EXPECT_EQ(clamped.y[2], schema::kNoClass);
  EXPECT_EQ(clamped.y[1], 1);
  for (const float v : clamped.x) EXPECT_TRUE(v >= 0 && v <= 1);
}

using Case = std::tuple<std::size_t, Content>;

/// Each format with every content that it can hold.
std::vector<Case> cases(std::initializer_list<Content> contents) {
  std::vector<Case> all;
  for (std::size_t i = 0; i < format_kinds().size(); ++i) {
    for (const Content content : contents) {
      const auto shape =
          content == Content::kBytes ? std::vector<std::size_t>{1, 2, 3} : std::vector<std::size_t>{2};
      const RecordKind kind{shape, content != Content::kBytes, 1,
                            content == Content::kTable ? made_up_table(2) : nullptr};
      if (format_kinds()[i].format->cannot_hold(kind).empty()) all.emplace_back(i, content);
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  static constexpr const char* kNames[] = {"_bytes", "_floats", "_table"};
  std::string name = format_kinds()[std::get<0>(info.param)].name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name + kNames[static_cast<std::size_t>(std::get<1>(info.param))];
}

INSTANTIATE_TEST_SUITE_P(Formats, FormatConformance,
                         testing::ValuesIn(cases({Content::kBytes, Content::kFloats, Content::kTable})),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Formats, PlainFormatConformance,
                         testing::ValuesIn(cases({Content::kBytes, Content::kFloats})), name_of);
INSTANTIATE_TEST_SUITE_P(Formats, TableFormatConformance, testing::ValuesIn(cases({Content::kTable})),
                         name_of);

TEST(Formats, HoldTablesOrOtherRecordsAsTheySay) {
  for (const FormatKind& line : format_kinds()) {
    const RecordKind table{{2}, true, 1, made_up_table(2)};
    EXPECT_EQ(line.format->cannot_hold(table).empty(), line.format->holds_tables()) << line.name;
    const bool plain = line.format->cannot_hold({{2}, false, 1}).empty() ||
                       line.format->cannot_hold({{2}, true, 1}).empty() ||
                       line.format->cannot_hold({{1, 2, 2}, false, 1}).empty();
    EXPECT_EQ(plain, line.format->holds_plain()) << line.name;
    EXPECT_EQ(line.format->schema_problem(schema_of(*made_up_table(2))).empty(), line.format->holds_tables());
  }
}

TEST(Formats, WritersRefuseWhatTheyCannotHold) {
  const muffle::test::TemporaryFolder folder;
  for (const FormatKind& kind : format_kinds()) {
    const RecordKind floats{{2}, true, 1};
    if (kind.format->cannot_hold(floats).empty()) continue;  // csv, say, holds tables alone
    expect_error(ExitCode::kConfig, {}, [&] { (void)kind.format->writers(folder.path(), "r", floats); });
  }
  expect_error(ExitCode::kData, {"stone.txt", "-images.idx"}, [] { (void)written_records("/a/stone.txt"); });
}

}  // namespace
}  // namespace muffle::data::test
