// What every metric must do: runs over the table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "muffle/evaluate/metric.hpp"
#include "support/records.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::evaluate {
namespace {

/// Points near five centres of the 2-D mixture, which every metric can look at.
schema::Records points(std::size_t n) {
  schema::Records records;
  records.shape = {2};
  for (std::size_t i = 0; i < n; ++i) {
    records.floats.push_back(static_cast<float>(i % 5));
    records.floats.push_back(0.01f * static_cast<float>(i % 7));
    records.labels.push_back(static_cast<std::uint8_t>(i % 5));
  }
  return records;
}

class MetricConformance : public testing::TestWithParam<std::size_t> {
 protected:
  static const MetricKind& line() { return metric_kinds()[GetParam()]; }
  const std::unique_ptr<Metric> metric_ = line().make();
};

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
  schema::Records tests = points(49);
  tests.labels[0] = 1;  // wrong: scores are no round numbers
  test::write_records(folder / "test-images.idx", tests);
  Settings settings;
  settings.metrics = {line().name};
  EXPECT_EQ(settings.chosen().size(), 1u);
  data::Settings data;
  data.dir = folder.path().string();
  data.test_features = "test-images.idx", data.test_labels = "test-labels.idx";
  data.schema = {.shape = {2}, .classes = 5, .hi = 5};
  settings::Problems problems;
  evaluate::problems(settings, data, false, problems);
  sample_problems(settings, data.schema, 100, {"idx"}, problems);
  EXPECT_TRUE(problems.empty()) << testing::PrintToString(problems.take());

  std::vector<nlohmann::json> found;
  for (const data::FormatKind& kind : data::format_kinds()) {
    if (!kind.format->cannot_hold(points(1).kind()).empty()) continue;
    const auto samples = folder / samples_file({kind.name});
    test::write_records(samples, points(100));
    bool beaten = false;
    const Subject subject{samples, data.test(), data, 1, [&] { beaten = true; }};
    std::string table;
    found.push_back(score(settings, subject, [&](const std::string& text) { table += text; }));
    EXPECT_TRUE(table.ends_with('\n')) << table;
    EXPECT_TRUE(beaten);
    EXPECT_EQ(found.back().contains("warning"), settings.reads_real_records());
    EXPECT_EQ(found.back(), found.front()) << "the same records in another format";
    // All digits of a share of the test records would tell how many there are.
    for (const auto& classifier : found.back().value("classifiers", nlohmann::json::object())) {
      for (const auto& score : classifier) EXPECT_LE(score.dump().size(), std::strlen("0.1234")) << score;
    }
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
