// What every metric must do: runs over the table.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "muffle/core/files.hpp"
#include "muffle/evaluate/metric.hpp"
#include "support/digits.hpp"
#include "support/networks.hpp"
#include "support/planned_release.hpp"
#include "support/records.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::evaluate {
namespace {

schema::Schema schema_of(std::vector<std::size_t> shape, double hi) {
  schema::Schema schema;
  schema.shape = std::move(shape), schema.classes = 5, schema.hi = hi;
  return schema;
}

/// Two columns and a label of five values.
schema::Schema table_schema() {
  const auto column = [](std::string name, std::size_t values, schema::ColumnRole role) {
    schema::Column c;
    c.name = std::move(name);
    c.role = role;
    for (std::size_t i = 0; i < values; ++i) c.values.push_back({std::to_string(i), {}});
    return c;
  };
  schema::Table table;
  table.columns = {column("a", 5, schema::ColumnRole::kFeature), column("b", 7, schema::ColumnRole::kFeature),
                   column("y", 5, schema::ColumnRole::kLabel)};
  schema::Schema schema;
  describe_table(schema, std::make_shared<const schema::Table>(std::move(table)));
  return schema;
}

/// Records of five classes that metrics can look at: points near centres of the 2-D mixture, rows of a table,
/// or images.
schema::Records records_of(const schema::Schema& schema, std::size_t n) {
  schema::Records records;
  records.shape = schema.shape;
  for (std::size_t i = 0; i < n; ++i) {
    records.labels.push_back(static_cast<std::uint8_t>(i % 5));
    for (std::size_t j = 0; schema.is_image() && j < schema.dims(); ++j)
      records.bytes.push_back(static_cast<std::uint8_t>(50 * (i % 5) + (i + j) % 7));
    if (schema.is_image()) continue;
    if (schema.table) {
      for (std::size_t j = 0; j < 2; ++j) {
        const std::size_t codes = schema.table->codes()[j];
        const auto code = static_cast<std::uint32_t>((i + j * i * i) % codes);
        records.floats.push_back(schema::position({code, 0.5f}, codes));
      }
      continue;
    }
    records.floats.push_back(static_cast<float>(i % 5));
    records.floats.push_back(0.01f * static_cast<float>(i % 7));
  }
  return records;
}

class MetricConformance : public testing::TestWithParam<std::size_t> {
 protected:
  static const MetricKind& line() { return metric_kinds()[GetParam()]; }
  const std::unique_ptr<Metric> metric_ = line().make();
};

/// Of the release's own records no score is finer than 1 in 100 where m is private, in JSON or table.
void expect_coarse_own_scores(const Settings& settings, Subject subject) {
  subject.train.records = 0;
  std::string table, other_table;
  nlohmann::json own = score(settings, subject, [&](const std::string& text) { table += text; });
  Settings without = settings;
  const bool reads_own = settings.chosen().front()->reads_own_records();
  EXPECT_EQ(without.leave_out_own().size(), reads_own ? 1 : 0);
  for (const Metric* metric : without.chosen()) EXPECT_FALSE(metric->reads_own_records());
  const nlohmann::json others =
      score(without, subject, [&](const std::string& text) { other_table += text; });
  const auto found = [](const nlohmann::json& all) {
    return test::unrounded(all.value("findings", nlohmann::json()).dump(), 2, 2);
  };
  EXPECT_EQ(found(own), found(others)) << own;
  for (const auto& [key, value] : others.items()) own.erase(key);
  EXPECT_EQ(own.empty(), !reads_own);
  EXPECT_EQ(test::unrounded(own.dump(), 2, 2), std::vector<std::string>{}) << own;
  EXPECT_EQ(test::unrounded(table, 2, 2), test::unrounded(other_table, 2, 2)) << table;
}

TEST_P(MetricConformance, KeysAreItsOwnAndACopyKeepsTheirValues) {
  EXPECT_EQ(metric_->kind(), line().name);
  const auto keys_of = [](Metric& metric) {
    settings::Keys keys("evaluate");
    metric.declare(keys);
    return keys.take();
  };
  for (const settings::Key& key : keys_of(*metric_)) {
    EXPECT_TRUE(key.name.starts_with("evaluate.")) << key.name;
    EXPECT_FALSE(key.help.empty()) << key.name;
    const settings::Value number{.kind = settings::Value::Kind::kInteger, .integer = 17, .shown = ""};
    EXPECT_TRUE(!key.set(number).empty() || key.get() == "17") << key.name;
  }
  const std::unique_ptr<Metric> copy = metric_->clone();
  const auto mine = keys_of(*metric_), its = keys_of(*copy);
  ASSERT_EQ(mine.size(), its.size());
  for (std::size_t i = 0; i < mine.size(); ++i) EXPECT_EQ(mine[i].get(), its[i].get());
}

TEST_P(MetricConformance, ScoresSamplesOfEveryFormat) {
  const test::TemporaryFolder folder;
  Settings settings;
  settings.metrics = {line().name};
  settings::Keys keys("evaluate");
  declare(keys, settings);
  for (const settings::Key& key : keys.take()) {
    if (key.name == "evaluate.also_real")
      key.set({.kind = settings::Value::Kind::kBool, .boolean = true, .shown = ""});
    if (key.name == "evaluate.frechet_network") key.set({.text = test::small_network(), .shown = ""});
  }
  EXPECT_EQ(settings.chosen().size(), 1u);
  data::Settings data;
  data.dir = folder.path().string();
  data.features = "train-images.idx", data.test_features = "test-images.idx";
  data.labels = "train-labels.idx", data.test_labels = "test-labels.idx";
  settings::Problems problems;
  for (const schema::Schema& schema : {schema_of({2}, 5), schema_of({1, 4, 4}, 255), table_schema()}) {
    data.schema = schema;
    if (schema.table) {
      data.format = "csv";
      data.features = "train.csv", data.test_features = "test.csv";
      data.labels = data.test_labels = "";
    }
    problems = {};
    evaluate::problems(settings, data, false, problems);
    sample_problems(settings, schema, 100, {data.format}, problems);
    if (problems.empty()) break;
  }
  ASSERT_TRUE(problems.empty()) << testing::PrintToString(problems.take());
  const schema::Records made = records_of(data.schema, 100);
  schema::Records real = records_of(data.schema, 49);
  real.labels[0] = 1;  // wrong: scores are no round numbers
  test::write_records(folder / data.test_features, real, data.schema.table);
  test::write_records(folder / data.features, records_of(data.schema, 53), data.schema.table);

  if (!data.schema.table)
    write_file_atomically(folder / "release.mfl",
                          release::artifact_bytes(test::random_release(
                              data.schema, test::make_map("rff", {{"count", "20"}}, data.schema), 50)));

  std::vector<nlohmann::json> found;
  std::vector<std::string> tables;
  for (const data::FormatKind& kind : data::format_kinds()) {
    schema::RecordKind held = made.kind();
    held.table = data.schema.table;
    const std::string file = samples_file({kind.name});
    // Samples that are a folder are not read.
    if (!kind.format->cannot_hold(held).empty() || file.empty()) continue;
    const auto samples = folder / file;
    test::write_records(samples, made, data.schema.table);
    int beats = 0;  // some take a while, each time another
    data::DataSpec train = data;
    train.records = 53;
    const Subject subject{samples,
                          data.test(),
                          train,
                          1,
                          [&] {
                            if (++beats < 300)
                              std::this_thread::sleep_for(std::chrono::milliseconds(2 * found.size()));
                          },
                          folder / "release.mfl"};
    std::string& table = tables.emplace_back();
    found.push_back(score(settings, subject, [&](const std::string& text) { table += text; }));
    EXPECT_TRUE(table.ends_with('\n')) << table;
    // What programs, reports and people are given is one thing: each number is in its table.
    for (const nlohmann::json& one : found.back().at("findings").at(line().name).at("tables")) {
      EXPECT_FALSE(one.at("rows").empty()) << one;
      for (const nlohmann::json& row : one.at("rows")) EXPECT_EQ(row.size(), one.at("columns").size() + 1);
      EXPECT_NE(table.find(one.at("title").get<std::string>()), std::string::npos);
      EXPECT_NE(table.find(one.at("rows")[0][0].get<std::string>()), std::string::npos);
    }
    EXPECT_GT(beats, 0);
    EXPECT_EQ(found.back().contains("warning"), settings.reads_real_records());
    EXPECT_EQ(found.back(), found.front()) << "the same records in another format";
    // All digits of a score would tell how many real records there are, and times do.
    if (!settings.reads_real_records()) continue;
    EXPECT_EQ(test::unrounded(found.back().dump()), std::vector<std::string>{}) << found.back();
    EXPECT_EQ(test::unrounded(table), std::vector<std::string>{}) << table;
    EXPECT_EQ(table, tables.front()) << "the same records, but for the time that it took";
    if (found.size() == 1) expect_coarse_own_scores(settings, subject);
  }
  const std::size_t left_out = settings.leave_out_real().size();
  EXPECT_EQ(settings.metrics.size(), 1 - left_out);
}

INSTANTIATE_TEST_SUITE_P(Metrics, MetricConformance, testing::Range(std::size_t{0}, metric_kinds().size()),
                         [](const auto& line) {
                           std::string name = metric_kinds()[line.param].name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Metrics, UnknownNamesAndSamplesThatCannotBeReadAreProblems) {
  Settings settings;
  settings::Keys keys("evaluate");
  declare(keys, settings);
  const settings::Value item{.text = "luck", .shown = ""},
      list{.kind = settings::Value::Kind::kArray, .items = {item}, .shown = ""};
  EXPECT_NE(keys.take().front().set(list).find(metric_kinds().back().name), std::string::npos);
  EXPECT_EQ(samples_file({"png"}), "");
  settings::Problems problems;
  schema::Schema schema;
  schema.shape = {2};
  sample_problems(settings, schema, 10, {"png"}, problems);
  EXPECT_FALSE(problems.empty());
}

}  // namespace
}  // namespace muffle::evaluate
