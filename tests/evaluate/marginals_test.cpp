#include "evaluate/marginals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "evaluate/raw_distances.hpp"
#include "muffle/core/files.hpp"
#include "muffle/evaluate/metric.hpp"
#include "muffle/schema/table_toml.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::evaluate {
namespace {

using Set = std::vector<std::size_t>;

TEST(ColumnSets, AllOfThemOrAPublicChoice) {
  const auto all = column_sets(5, 3, 0, 1);
  EXPECT_EQ(all.size(), 10u);
  EXPECT_EQ(all.front(), (Set{0, 1, 2}));
  EXPECT_EQ(all.back(), (Set{2, 3, 4}));
  EXPECT_EQ(column_sets(5, 3, 10, 7), all);
  const auto some = column_sets(40, 4, 25, 7);
  EXPECT_EQ(some.size(), 25u);
  EXPECT_EQ(some, column_sets(40, 4, 25, 7));
  EXPECT_NE(some, column_sets(40, 4, 25, 8));
  for (const Set& set : some) EXPECT_TRUE(std::is_sorted(set.begin(), set.end()) && set.back() < 40u);
  EXPECT_TRUE(column_sets(2, 3, 0, 1).empty());
}

constexpr const char* kColumns = R"(
[[columns]]
name = "a"
type = "integer"
lo = 0
hi = 9
bins = 2
[[columns]]
name = "b"
type = "category"
values = ["x", "y"]
[[columns]]
name = "c"
type = "boolean"
role = "label"
)";

class TotalVariation : public testing::Test {
 protected:
  data::DataSpec file(const std::string& name, const std::string& rows) {
    write_file_atomically(folder_ / name, "a,b,c\n" + rows);
    data::DataSpec spec;
    spec.format = "csv";
    spec.dir = folder_.path().string();
    spec.features = name;
    describe_table(spec.schema,
                   std::make_shared<const schema::Table>(schema::parse_table_toml(kColumns, "s")));
    return spec;
  }
  static double tvd(const data::DataSpec& one, const data::DataSpec& other, Set set) {
    return total_variation(one, other, std::vector<Set>{std::move(set)}, {}).at(0).tvd;
  }

  const test::TemporaryFolder folder_;
};

TEST_F(TotalVariation, IsHalfTheSumOfDifferencesOfShares) {
  const auto one = file("one.csv", "0,x,false\n1,x,false\n7,y,true\n9,x,true\n");
  const auto other = file("other.csv", "4,x,false\n8,y,true\n");
  EXPECT_DOUBLE_EQ(tvd(one, other, {0}), 0.0) << "halves of both lie in each bin";
  EXPECT_DOUBLE_EQ(tvd(one, other, {1}), 0.25) << "3/4 and 1/2";
  EXPECT_DOUBLE_EQ(tvd(one, other, {0, 1}), 0.25);
  EXPECT_DOUBLE_EQ(tvd(one, other, {0, 1, 2}), 0.25) << "the label is a column, the last one";
  EXPECT_DOUBLE_EQ(tvd(one, one, {0, 1, 2}), 0.0);
  const auto apart = file("apart.csv", "0,y,true\n");
  EXPECT_DOUBLE_EQ(tvd(one, apart, {0, 1, 2}), 1.0);
}

TEST_F(TotalVariation, ManySetsAreOneReadingEachAndNoOther) {
  const auto one = file("one.csv", "0,x,false\n1,x,false\n7,y,true\n");
  const auto other = file("other.csv", "0,x,true\n1,x,false\n7,y,true\n");
  const std::vector<Set> sets{{2}, {0}, {0, 2}};
  const auto all = total_variation(one, other, sets, {});
  ASSERT_EQ(all.size(), 3u);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    EXPECT_EQ(all[i].columns, sets[i]);
    EXPECT_DOUBLE_EQ(all[i].tvd, tvd(one, other, sets[i]));
  }
  EXPECT_NEAR(all[0].tvd, 1.0 / 3.0, 1e-15);
}

TEST_F(TotalVariation, RowsWithoutAClassAreLeftOutAndATableNeedsRows) {
  const auto one = file("one.csv", "0,x,false\n1,x,maybe\n");
  const auto other = file("other.csv", "0,x,false\n");
  EXPECT_DOUBLE_EQ(tvd(one, other, {0, 1, 2}), 0.0);
  muffle::test::expect_error(ExitCode::kData, {"without rows", "none.csv"},
                             [&] { (void)tvd(one, file("none.csv", ""), {0}); });
  muffle::test::expect_error(ExitCode::kData, {"has rows, but none fits the schema", "odd.csv"},
                             [&] { (void)tvd(one, file("odd.csv", "1,x,maybe\n"), {0}); });
}

TEST(RawDistance, IsThatOfTheDistributionFunctionsWhateverTheBins) {
  const RawDistance none = raw_distance({1, 2, 2, 5}, {5, 2, 1, 2}, 10);
  EXPECT_EQ(none.ks, 0.0);
  EXPECT_EQ(none.wasserstein, 0.0);
  // A quarter is apart from 0 to 1, and from 1 to 4.
  const RawDistance some = raw_distance({0, 1, 4, 4}, {1, 4, 4, 4}, 10);
  EXPECT_DOUBLE_EQ(some.ks, 0.25);
  EXPECT_DOUBLE_EQ(some.wasserstein, (0.25 * 1 + 0.25 * 3) / 10);
  EXPECT_EQ(raw_distance({}, {}, 1).ks, 0.0);
  EXPECT_EQ(none.mean_error, 0.0);
  EXPECT_EQ(raw_distance({}, {1}, 1).ks, 1.0);
}

TEST(RawDistance, AFewFarValuesMoveTheMeanAndHardlyTheDistances) {
  std::vector<double> one(1000, 0.0), other = one;
  for (std::size_t i = 0; i < 500; ++i) one[i] = other[i] = 2;
  for (std::size_t i = 0; i < 4; ++i) other[i] = 502;
  const RawDistance far = raw_distance(one, other, 1000);  // of standard deviation 1
  EXPECT_DOUBLE_EQ(far.ks, 0.004);
  EXPECT_NEAR(far.mean_error, 2.0, 1e-12);
  EXPECT_NEAR(raw_distance(other, one, 1000).mean_error, -2.0 / std::sqrt(1001.0), 1e-12);
  EXPECT_DOUBLE_EQ(raw_distance({3, 3}, {3, 4}, 10).mean_error, 0.05) << "a constant: over the bounds";
  EXPECT_EQ(raw_distance({}, {1}, 1).mean_error, 0.0);
}

/// A table of one column and of whose a row is.
class RowsOfPeople : public testing::Test {
 protected:
  /// @param rows  "who,b" lines
  data::DataSpec file(const std::string& name, const std::string& rows) {
    write_file_atomically(folder_ / name, "who,b\n" + rows);
    data::DataSpec spec;
    spec.format = "csv";
    spec.dir = folder_.path().string();
    spec.features = name;
    describe_table(spec.schema,
                   std::make_shared<const schema::Table>(schema::parse_table_toml(
                       "[[columns]]\nname = \"who\"\ntype = \"category\"\nrole = \"person\"\nrows = 2\n"
                       "[[columns]]\nname = \"b\"\ntype = \"category\"\nvalues = [\"x\", \"y\"]\n",
                       "s")));
    spec.records = static_cast<std::uint64_t>(std::count(rows.begin(), rows.end(), '\n'));
    return spec;
  }
  nlohmann::json scores(const data::DataSpec& test) {
    for (const MetricKind& kind : metric_kinds()) {
      if (kind.name != "marginals") continue;
      Subject subject;
      // One and two rows; one, one and two; three count as two.
      subject.train = file("train.csv", "1,x\n2,y\n2,x\n");
      file("samples.csv", "P1,x\nP2,y\nP3,y\nP3,x\n");
      subject.samples = folder_ / "samples.csv";
      subject.test = test;
      return json_of(kind.make()->score(subject), "marginals").at("marginals");
    }
    return {};
  }

  const test::TemporaryFolder folder_;
};

TEST_F(RowsOfPeople, AreComparedByTheSharesOfPeople) {
  const nlohmann::json alone = scores({});
  EXPECT_EQ(alone.at("people").at("tvd"), 0.1667) << "1/2 and 2/3";
  EXPECT_EQ(alone.at("people").at("real"), (nlohmann::json{{"1", 0.5}, {"2", 0.5}}));
  EXPECT_EQ(alone.at("people").at("synthetic"), (nlohmann::json{{"1", 0.6667}, {"2", 0.3333}}));
  EXPECT_EQ(alone.at("columns").size(), 1u) << "it is no column among the others";
  const nlohmann::json beside = scores(file("test.csv", "7,x\n7,x\n7,x\n"));
  EXPECT_EQ(beside.at("people").at("tvd_of_real_test"), 0.5);
}

}  // namespace
}  // namespace muffle::evaluate
