// What a release's noise alone makes of columns and pairs, beside what it does make of them.
#include "evaluate/noise_alone.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "muffle/core/files.hpp"
#include "muffle/evaluate/metric.hpp"
#include "muffle/features/dyadic.hpp"
#include "muffle/release/noisy_margins.hpp"
#include "support/expect_error.hpp"
#include "support/planned_release.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kRecords = 2000, kCells = 7;

/// a: 7 values, bins learned; b: 3 categories; two classes.
schema::Schema schema_with_a_learned_column() {
  auto table = std::make_shared<schema::Table>(*test::table_schema({kCells, 3}, 2, 1).table);
  schema::Column& a = table->columns[0];
  a.learned = true;
  a.edges = {0, 1, 2, 3, 4, 5, 6, 7};
  a.hi = kCells - 1;
  schema::Schema out;
  describe_table(out, std::move(table));
  return out;
}

/// All levels of a's tree, b, both together. @param draw  0: without noise
release::Artifact release_of(std::uint32_t draw) {
  const schema::Schema schema = schema_with_a_learned_column();
  const features::DyadicTree tree(kCells);
  std::vector<features::CountTable> tables{{{1}}, {{0, 1}}};
  for (std::size_t m = 1; m <= tree.levels; ++m) tables.push_back({{0}, {tree.level(m, kCells)}});
  features::NamedMap map = test::named("p", test::make_map("pairs", {}, schema));
  map.map = map.map->tables()->counting(tables);
  std::vector<float> x;
  std::vector<std::int32_t> y;
  for (std::uint32_t i = 0; i < kRecords; ++i) {
    x.push_back(schema::position({i * i % static_cast<std::uint32_t>(kCells)}, kCells));
    x.push_back(schema::position({i % 3}, 3));
    y.push_back(static_cast<std::int32_t>(i % 5 == 0));
  }
  return test::planned_release(schema, {std::move(map)}, x, y, 1.0, draw);
}

double displaced(const std::vector<double>& one, const std::vector<double>& other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += std::fabs(one[i] - other[i]) / 2;
  return sum / kRecords;
}

const release::NoisyTable& table_of(const release::NoisyTables& all,
                                    const std::vector<std::size_t>& columns) {
  const auto at = std::ranges::find_if(all.tables, [&](const auto& t) { return t.columns == columns; });
  if (at == all.tables.end()) throw std::out_of_range("no such table");
  return *at;
}

std::vector<double> over_classes(const release::NoisyTable& table) {
  std::vector<double> out(table.cells(), 0.0);
  for (std::size_t y = 0; y < 2; ++y) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += table.of_class(y)[i];
  }
  return out;
}

TEST(NoiseAlone, IsWhatNoiseMakesOfColumnsAndPairsOnAverage) {
  const test::TemporaryFolder folder;
  write_file_atomically(folder / "release.mfl", release::artifact_bytes(release_of(1)));
  const auto told = noise_alone(folder / "release.mfl");
  ASSERT_TRUE(told);
  const release::NoisyTables exact = release::make_noisy_tables(release_of(0));
  const auto margins = release::noisy_margins(exact, schema_with_a_learned_column());
  double b = 0, label = 0, both = 0, farthest = 0, b_and_label = 0, area = 0, cells = 0;
  constexpr std::uint32_t kDraws = 200;
  for (std::uint32_t draw = 1; draw <= kDraws; ++draw) {
    const release::NoisyTables noisy = release::make_noisy_tables(release_of(draw));
    const auto drawn = release::noisy_margins(noisy, schema_with_a_learned_column());
    b += displaced(drawn[1].counts, margins[1].counts) / kDraws;
    label += displaced(drawn[2].counts, margins[2].counts) / kDraws;
    both += displaced(over_classes(table_of(noisy, {0, 1})), over_classes(table_of(exact, {0, 1}))) / kDraws;
    b_and_label += displaced(table_of(noisy, {1}).counts, table_of(exact, {1}).counts) / kDraws;
    const auto known = drawn[0].tree->distribution(), truth = margins[0].tree->distribution();
    double most = 0, last = 0;
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      const double apart = known[cell] - truth[cell];
      most = std::max(most, std::fabs(apart));
      area += (std::fabs(apart) + std::fabs(last)) / 2 / kCells / kDraws;
      cells += std::fabs(apart - last) / 2 / kDraws;
      last = apart;
    }
    farthest += most / kDraws;
  }
  // A mean of 200 is known to 3 to 5 %.
  EXPECT_NEAR(told->columns.at("b"), b, 0.2 * b);
  EXPECT_NEAR(told->columns.at("label"), label, 0.2 * label);
  EXPECT_NEAR(told->numbers.at("a").ks, farthest, 0.2 * farthest);
  EXPECT_NEAR(told->numbers.at("a").wasserstein, area, 0.2 * area);
  EXPECT_NEAR(told->numbers.at("a").tvd, cells, 0.2 * cells) << "few cells: each is a group";
  EXPECT_NEAR(told->pairs.at({"a", "b"}), both, 0.2 * both);
  EXPECT_NEAR(told->pairs.at({"b", "label"}), b_and_label, 0.2 * b_and_label);
  EXPECT_FALSE(told->columns.contains("a")) << "of learned bins the distribution function is told";
  EXPECT_GT(b, 0.005) << "there is noise to be told of";
}

TEST(NoiseAlone, ThereIsNoneWithoutARelease) {
  const test::TemporaryFolder folder;
  EXPECT_FALSE(noise_alone({}));
  EXPECT_FALSE(noise_alone(folder / "release.mfl"));
  write_file_atomically(folder / "release.mfl", "no release");
  test::expect_error(ExitCode::kProtocol, {"release.mfl"}, [&] { noise_alone(folder / "release.mfl"); });
}

TEST(NoiseAlone, StandsBesideTheScoresOfMarginals) {
  const test::TemporaryFolder folder;
  write_file_atomically(folder / "release.mfl", release::artifact_bytes(release_of(1)));
  Subject subject;
  subject.train.format = "csv";
  subject.train.dir = folder.path().string();
  subject.train.features = "real.csv";
  subject.train.schema = schema_with_a_learned_column();
  subject.train.records = 4;
  write_file_atomically(folder / "real.csv",
                        "a,b,label\n0,b0,label0\n3,b1,label1\n6,b2,label0\n1,b0,label1\n");
  write_file_atomically(folder / "samples.csv", "a,b,label\n1,b0,label0\n3,b1,label1\n6,b2,label0\n");
  subject.samples = folder / "samples.csv";
  const auto scores = [&] {
    for (const MetricKind& kind : metric_kinds()) {
      if (kind.name == "marginals") return json_of(kind.make()->score(subject), "marginals").at("marginals");
    }
    return nlohmann::json();
  };
  const nlohmann::json without = scores();
  EXPECT_FALSE(without.contains("noise_alone"));
  subject.release = folder / "release.mfl";
  const nlohmann::json beside = scores();
  const NoiseAlone told = *noise_alone(subject.release);
  const auto near = [](const nlohmann::json& field, double value) {
    EXPECT_NEAR(field.get<double>(), value, 6e-5);
  };
  near(beside.at("noise_alone").at("columns").at("b"), told.columns.at("b"));
  near(beside.at("noise_alone").at("pairs").at("a x b"), told.pairs.at({"a", "b"}));
  const NoiseAlone::Number& a = told.numbers.at("a");
  near(beside.at("noise_alone").at("columns").at("a"), a.tvd);
  near(beside.at("noise_alone").at("mean_tvd"),
       (a.tvd + told.columns.at("b") + told.columns.at("label")) / 3);
  double pairs = 0;
  for (const auto& [names, tvd] : told.pairs) pairs += tvd / static_cast<double>(told.pairs.size());
  near(beside.at("noise_alone").at("mean_tvd_of_pairs"), pairs);
  near(beside.at("noise_alone").at("mean_ks"), a.ks);
  near(beside.at("noise_alone").at("mean_wasserstein"), a.wasserstein);
  near(beside.at("numbers").at("columns").at("a").at("ks_of_noise_alone"), a.ks);
  near(beside.at("numbers").at("columns").at("a").at("wasserstein_of_noise_alone"), a.wasserstein);
  EXPECT_EQ(beside.at("columns"), without.at("columns"));
}

}  // namespace
}  // namespace muffle::evaluate
