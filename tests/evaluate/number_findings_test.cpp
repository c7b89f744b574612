// What a table's numbers are like, as tables, curves and fields of metrics.json.
#include "evaluate/number_findings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "evaluate/raw_distances.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/ranks.hpp"
#include "muffle/schema/table_toml.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::evaluate {
namespace {

constexpr const char* kNumbers = R"(
[[columns]]
name = "net"
type = "integer"
lo = 0
hi = 1000
bins = 2
[[columns]]
name = "gross"
type = "integer"
lo = 0
hi = 1000
bins = 2
missing = true
[[columns]]
name = "paid"
type = "date"
lo = 1970-02-01
hi = 1970-02-09
bins = 3
)";

class NumberFindings : public testing::Test {
 protected:
  data::DataSpec file(const char* name, int rows, int times) {
    std::string text = "net,gross,paid\n";
    for (int i = 0; i < rows; ++i)
      text += std::to_string(i * 37 % 101) + "," +
              (i % 50 == 0 ? "" : std::to_string(times * (i * 37 % 101) % 1000)) + ",1970-02-0" +
              std::to_string(1 + i % 9) + "\n";
    write_file_atomically(folder_ / name, text);
    data::DataSpec spec;
    spec.format = "csv";
    spec.dir = folder_.path().string();
    spec.features = name;
    describe_table(spec.schema,
                   std::make_shared<const schema::Table>(schema::parse_table_toml(kNumbers, "s")));
    return spec;
  }
  Findings found(bool m_is_private, const Fineness& fine) {
    Subject subject;
    subject.train = file("real.csv", 202, 2);
    subject.train.records = m_is_private ? 0 : 202;
    subject.test = file("others.csv", 101, 2);
    Findings out;
    out.tables.emplace_back();
    add_number_findings(subject, file("made.csv", 202, 31), fine, out);
    return out;
  }

  const test::TemporaryFolder folder_;
};

TEST_F(NumberFindings, AreTablesCurvesAndFields) {
  const Findings out = found(false, {});
  const nlohmann::json json = json_of(out, "marginals");
  const nlohmann::json& numbers = json["marginals"]["numbers"]["columns"];
  EXPECT_DOUBLE_EQ(numbers["net"]["mean"], 50.0);
  EXPECT_DOUBLE_EQ(numbers["net"]["mean_of_real"], 50.0);
  EXPECT_DOUBLE_EQ(numbers["net"]["median"], 50.0);
  EXPECT_DOUBLE_EQ(numbers["net"]["quantile_95_of_real"], 95.0);
  EXPECT_GT(numbers["gross"]["deviation"], numbers["gross"]["deviation_of_real"]);
  EXPECT_FALSE(numbers.contains("paid"));  // a date has no mean that people read
  const nlohmann::json& ranks = json["marginals"]["rank_correlations"];
  EXPECT_DOUBLE_EQ(ranks["pairs"]["net x gross"]["real"], 1.0);
  EXPECT_LT(ranks["pairs"]["net x gross"]["synthetic"], 0.5);
  EXPECT_EQ(ranks["pairs_compared"], 3);
  EXPECT_GT(ranks["mean_difference"], ranks["mean_difference_of_real_test"]);
  // The farthest pair first, in the table too; and the mean is in the first of all tables.
  ASSERT_EQ(out.tables.size(), 3u);
  EXPECT_EQ(out.tables[0].rows.at(0).name, "rank correlations");
  EXPECT_EQ(out.tables[1].rows.at(0).name, "net x gross");
  EXPECT_EQ(out.tables[2].at_a_terminal, 0u);  // the real rows' quantiles are values of records
  ASSERT_EQ(out.series.size(), 3u);
  const FoundSeries& net = out.series[0];
  EXPECT_EQ(net.along, "net");
  ASSERT_EQ(net.lines.size(), 3u);
  EXPECT_TRUE(std::is_sorted(net.at.begin(), net.at.end()));
  for (const FoundSeries::Line& line : net.lines) {
    EXPECT_TRUE(std::is_sorted(line.values.begin(), line.values.end())) << line.name;
    EXPECT_EQ(line.values.back(), 1.0) << line.name;
  }
  EXPECT_NEAR(net.lines[1].values[net.at.size() / 2], 0.5, 0.02);
  for (const FoundSeries& series : out.series) EXPECT_NO_THROW(json_of({{}, {series}, {}, {}}, "x"));
}

TEST_F(NumberFindings, WhatIsDerivedIsComparedAsFilesWouldHaveIt) {
  constexpr const char* kStays = R"toml(
[[columns]]
name = "born"
type = "date"
lo = 1950-01-01
hi = 1999-12-31
[[columns]]
name = "age"
type = "integer"
derive = "years(admitted - born)"
[[columns]]
name = "admitted"
type = "date"
lo = 2020-01-01
hi = 2020-12-31
)toml";
  const auto stays = [&](const char* name, const std::string& rows) {
    write_file_atomically(folder_ / name, "born,age,admitted\n" + rows);
    data::DataSpec spec;
    spec.format = "csv";
    spec.dir = folder_.path().string();
    spec.features = name;
    describe_table(spec.schema, std::make_shared<const schema::Table>(schema::parse_table_toml(kStays, "s")));
    return spec;
  };
  Subject subject;
  subject.train =
      stays("real_stays.csv", "1980-06-15,,2020-06-14\n1970-06-15,,2020-06-15\n1960-01-01,,2020-06-15\n");
  subject.train.records = 3;
  const data::DataSpec made =
      stays("made_stays.csv", "1980-06-15,,2020-06-16\n1970-06-15,,2020-06-15\n1960-01-01,,2020-06-15\n");
  Findings out;
  out.tables.emplace_back();
  add_number_findings(subject, made, {}, out);
  const nlohmann::json json = json_of(out, "marginals");
  const nlohmann::json& age = json["marginals"]["numbers"]["columns"]["age"];
  EXPECT_NEAR(age["mean_of_real"].get<double>(), (39.0 + 50 + 60) / 3, 0.05);
  EXPECT_EQ(age["mean"], 50.0);
  EXPECT_TRUE(json["marginals"]["rank_correlations"]["pairs"].contains("born x age"));
  const std::vector<RawDistance> distances = raw_distances(subject.train, made, {});
  ASSERT_EQ(distances.size(), 3u);
  EXPECT_EQ(distances[1].column, "age");
  EXPECT_NEAR(distances[1].ks, 1.0 / 3, 1e-12);
  EXPECT_EQ(distances[0].ks, 0.0);
}

TEST_F(NumberFindings, SayLessWhereMIsPrivate) {
  const Findings out = found(true, Fineness{2, 2});
  EXPECT_TRUE(out.series.empty());
  const nlohmann::json json = json_of(out, "marginals");
  const double share = json["marginals"]["rank_correlations"]["pairs"]["net x gross"]["synthetic"];
  EXPECT_EQ(share, std::round(share * 100) / 100);
  const double deviation = json["marginals"]["numbers"]["columns"]["net"]["deviation_of_real"];
  EXPECT_EQ(deviation, std::round(deviation));  // 29.15
}

TEST(Ranks, HaveTiesByTheirMeanAndNoneOfMissingValues) {
  const std::vector<double> found = ranks(std::vector<double>{5, std::nan(""), 5, 1});
  EXPECT_EQ(found[0], 1.5);
  EXPECT_TRUE(std::isnan(found[1]));
  EXPECT_EQ(found[3], 0.0);
}

}  // namespace
}  // namespace muffle::evaluate
