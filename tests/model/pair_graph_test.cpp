#include "muffle/pair_graph/pair_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/model/closed_forms.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/schema/table.hpp"
#include "support/generators.hpp"
#include "support/planned_release.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::model {
namespace {

/// n x d codes and their labels.
struct DrawnRows {
  std::vector<std::size_t> codes;
  std::vector<std::uint32_t> values;
  std::vector<std::int64_t> labels;

  std::size_t count() const { return labels.size(); }
};

/// Columns a, b, c, e of 4, 3, 5 and 2 codes: b follows a, c follows a or b, e is by itself. In class 1 b
/// runs against a.
DrawnRows planted(std::size_t count, std::size_t classes) {
  const CounterStream random(11, Stream::kTest);
  DrawnRows rows{{4, 3, 5, 2}, {}, {}};
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto u = [&](std::uint64_t k) { return random.uniform(8 * i + k); };
    const auto label = static_cast<std::int64_t>(classes > 1 && u(0) < 0.3);
    const auto a = static_cast<std::uint32_t>(4 * u(1) * u(1));
    const std::uint32_t follows = label == 0 ? a * 3 / 4 : 2 - a * 3 / 4;
    const std::uint32_t b = u(2) < 0.8 ? follows : static_cast<std::uint32_t>(3 * u(3));
    const std::uint32_t c = u(4) < 0.4 ? a : u(4) < 0.8 ? b : static_cast<std::uint32_t>(5 * u(5));
    rows.values.insert(rows.values.end(), {a, b, c, static_cast<std::uint32_t>(u(6) < 0.3)});
    rows.labels.push_back(label);
  }
  return rows;
}

/// Counts of `columns`, each code of the first one counted in group code / coarser.
release::NoisyTable count_table(const DrawnRows& rows, std::size_t classes, std::vector<std::size_t> columns,
                                double sigma, std::uint64_t seed, std::size_t coarser = 1) {
  release::NoisyTable table;
  std::size_t cells = 1;
  for (const std::size_t j : columns) {
    std::vector<std::uint32_t> group;
    for (std::size_t x = 0; coarser > 1 && x < rows.codes[j]; ++x)
      group.push_back(static_cast<std::uint32_t>(x / coarser));
    table.sizes.push_back(group.empty() ? rows.codes[j] : group.back() + 1);
    table.groups.push_back(group);
    cells *= table.sizes.back();
  }
  table.sigma = sigma;
  table.counts.assign(classes * cells, 0.0);
  const std::size_t d = rows.codes.size();
  for (std::size_t r = 0; r < rows.count(); ++r) {
    std::size_t cell = static_cast<std::size_t>(rows.labels[r]);
    for (std::size_t k = 0; k < columns.size(); ++k)
      cell = cell * table.sizes[k] + rows.values[r * d + columns[k]] / coarser;
    table.counts[cell] += 1;
  }
  const CounterStream random(seed, Stream::kTest, 1);
  for (std::size_t i = 0; i < table.counts.size(); ++i) table.counts[i] += sigma * random.normal(i);
  table.columns = std::move(columns);
  return table;
}

/// All columns and pairs.
release::NoisyTables count_tables(const DrawnRows& rows, std::size_t classes, double sigma) {
  release::NoisyTables out;
  out.classes = classes;
  out.codes = rows.codes;
  out.records = static_cast<double>(rows.count());
  for (std::size_t i = 0; i < rows.codes.size(); ++i) {
    out.tables.push_back(count_table(rows, classes, {i}, sigma, i));
    for (std::size_t j = i + 1; j < rows.codes.size(); ++j)
      out.tables.push_back(count_table(rows, classes, {i, j}, sigma, 10 * i + j));
  }
  return out;
}

DrawnRows drawn(const PairGraphModel& model, std::vector<std::int64_t> labels) {
  DrawnRows rows{model.codes, {}, std::move(labels)};
  std::vector<float> out(rows.count() * model.codes.size());
  make_sampler(model)->draw(3, 0, rows.labels, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_TRUE(out[i] > 0 && out[i] < 1) << out[i];
    rows.values.push_back(schema::cell_at(out[i], model.codes[i % model.codes.size()]).code);
  }
  return rows;
}

/// Largest total variation, over the columns' sets of this size, of the rows' joint counts with the label.
double worst_distance(const DrawnRows& a, const DrawnRows& b, std::size_t classes, bool triples) {
  double worst = 0;
  const std::size_t d = a.codes.size();
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = i + 1; j < d; ++j) {
      for (std::size_t k = triples ? j + 1 : j; k < (triples ? d : j + 1); ++k) {
        std::vector<std::size_t> columns{i, j};
        if (triples) columns.push_back(k);
        const auto p = count_table(a, classes, columns, 0, 0).counts,
                   q = count_table(b, classes, columns, 0, 0).counts;
        double sum = 0;
        for (std::size_t cell = 0; cell < p.size(); ++cell)
          sum +=
              std::fabs(p[cell] / static_cast<double>(a.count()) - q[cell] / static_cast<double>(b.count()));
        worst = std::max(worst, sum / 2);
      }
    }
  }
  return worst;
}

TEST(PairGraph, PlantedLawsComeBackWithLittleNoise) {
  for (const std::size_t classes : {1u, 2u}) {
    const DrawnRows real = planted(30000, classes);
    const PairGraphModel model =
        pair_graph::fit_pair_graph(count_tables(real, classes, 3.0), pair_graph::kPairSweeps);
    ASSERT_EQ(model.laws.size(), classes);
    const DrawnRows made = drawn(model, real.labels);
    EXPECT_LT(worst_distance(real, made, classes, false), 0.03);
    EXPECT_LT(worst_distance(real, made, classes, true), 0.05);
    // The tree alone knows three of the six pairs.
    const PairGraphModel tree = pair_graph::fit_pair_graph(count_tables(real, classes, 3.0), 0);
    EXPECT_GT(worst_distance(real, drawn(tree, real.labels), classes, false), 0.05);
  }
}

TEST(PairGraph, NoiseAloneMakesIndependentColumns) {
  DrawnRows rows = planted(1000, 2);
  const CounterStream random(12, Stream::kTest);
  for (std::size_t i = 0; i < rows.values.size(); ++i)
    rows.values[i] = static_cast<std::uint32_t>(random.below(i, rows.codes[i % 4]));
  const PairGraphModel model =
      pair_graph::fit_pair_graph(count_tables(rows, 2, 2000.0), pair_graph::kPairSweeps);
  std::vector<std::int64_t> labels(20000);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i % 2);
  const DrawnRows made = drawn(model, labels);
  // Against rows with the same columns, each shifted by another number of records.
  DrawnRows apart = made;
  for (std::size_t i = 0; i < apart.values.size(); ++i)
    apart.values[i] = made.values[(i + 8 * (i % 4) * 100) % made.values.size()];
  EXPECT_LT(worst_distance(made, apart, 2, false), 0.05);
}

TEST(PairGraph, OneColumnAndNoLabel) {
  DrawnRows real = planted(5000, 1);
  DrawnRows one{{4}, {}, real.labels};
  for (std::size_t i = 0; i < real.values.size(); i += 4) one.values.push_back(real.values[i]);
  const PairGraphModel model = pair_graph::fit_pair_graph(count_tables(one, 1, 1.0), pair_graph::kPairSweeps);
  const DrawnRows made = drawn(model, one.labels);
  const auto p = count_table(one, 1, {0}, 0, 0).counts, q = count_table(made, 1, {0}, 0, 0).counts;
  for (std::size_t x = 0; x < 4; ++x) EXPECT_NEAR(p[x] / 5000, q[x] / 5000, 0.03);
}

/// A table of the same pair on coarser codes, with less noise, is worth more than its finer one there.
TEST(PairGraph, CoarserTablesOfAPairAreCombined) {
  const DrawnRows real = planted(30000, 1);
  const auto error = [&](bool again) {
    release::NoisyTables tables = count_tables(real, 1, 1000.0);
    if (again) tables.tables.push_back(count_table(real, 1, {0, 1}, 20.0, 99, 2));
    const DrawnRows made = drawn(pair_graph::fit_pair_graph(tables, pair_graph::kPairSweeps), real.labels);
    const auto p = count_table(real, 1, {0, 1}, 0, 0, 2).counts,
               q = count_table(made, 1, {0, 1}, 0, 0, 2).counts;
    double sum = 0;
    for (std::size_t cell = 0; cell < p.size(); ++cell) sum += std::fabs(p[cell] - q[cell]) / 60000;
    return sum;
  };
  EXPECT_LT(error(true), 0.05);
  EXPECT_GT(error(false), error(true));
}

/// Only coarse tables: within their groups columns are independent.
TEST(PairGraph, PairsCountedOnCoarseCodesAloneAreFitted) {
  const DrawnRows real = planted(30000, 1);
  release::NoisyTables tables = count_tables(real, 1, 5.0);
  std::erase_if(tables.tables, [](const auto& t) { return t.columns == std::vector<std::size_t>{0, 2}; });
  tables.tables.push_back(count_table(real, 1, {0, 2}, 5.0, 98, 2));
  const DrawnRows made = drawn(pair_graph::fit_pair_graph(tables, pair_graph::kPairSweeps), real.labels);
  const auto p = count_table(real, 1, {0, 2}, 0, 0, 2).counts,
             q = count_table(made, 1, {0, 2}, 0, 0, 2).counts;
  for (std::size_t cell = 0; cell < p.size(); ++cell) EXPECT_NEAR(p[cell] / 30000, q[cell] / 30000, 0.015);
}

TEST(PairGraph, AClassBelowTheNoiseHasTheLawOfAll) {
  const DrawnRows real = planted(20000, 1);
  release::NoisyTables tables = count_tables(real, 2, 60.0);
  for (release::NoisyTable& table : tables.tables) {
    const std::size_t cells = table.counts.size() / 2;
    std::fill(table.counts.begin() + static_cast<std::ptrdiff_t>(cells), table.counts.end(), -20.0);
  }
  const PairGraphModel model = pair_graph::fit_pair_graph(tables, pair_graph::kPairSweeps);
  DrawnRows made = drawn(model, std::vector<std::int64_t>(20000, 1));
  made.labels = real.labels;
  for (std::size_t j = 0; j < 4; ++j) {
    const auto p = count_table(real, 1, {j}, 0, 0).counts, q = count_table(made, 1, {j}, 0, 0).counts;
    for (std::size_t x = 0; x < p.size(); ++x) EXPECT_NEAR(p[x] / 20000, q[x] / 20000, 0.03) << j;
  }
}

TEST(PairGraph, RecordsDoNotDependOnTheCallThatDrawsThem) {
  const DrawnRows real = planted(3000, 2);
  const auto sampler = make_sampler(pair_graph::fit_pair_graph(count_tables(real, 2, 5.0), 3));
  const std::size_t n = 97;
  const std::vector<std::int64_t> labels(real.labels.begin(), real.labels.begin() + n);
  std::vector<float> all(4 * n), parts(4 * n);
  sampler->draw(9, 40, labels, all);
  for (std::size_t from = 0, step = 1; from < n; from += step, ++step) {
    const std::size_t count = std::min(step, n - from);
    sampler->draw(9, 40 + from, std::span(labels).subspan(from, count),
                  std::span(parts).subspan(4 * from, 4 * count));
  }
  EXPECT_EQ(all, parts);
  sampler->draw(10, 40, labels, parts);
  EXPECT_NE(all, parts);
  EXPECT_THROW(sampler->draw(9, 0, std::vector<std::int64_t>{2}, std::span(all).first(4)), InvariantError);
  EXPECT_THROW(sampler->draw(9, 0, labels, std::span(all).first(4)), InvariantError);
}

TEST(PairGraph, BinsTiltTowardsTheirNeighbours) {
  using Numbers = std::vector<double>;
  const Numbers even(5, 2.0);
  EXPECT_EQ(pair_graph::bin_tilts(Numbers{0.2, 0.2, 0.2, 0.2, 0.2}, even), Numbers(5, 0.0));
  // On a straight line of densities the slopes are the line's: 1 + tilt (2 t - 1) joins without steps.
  const Numbers line{0.1, 0.15, 0.2, 0.25, 0.3}, tilts = pair_graph::bin_tilts(line, even);
  for (std::size_t b = 0; b + 1 < 5; ++b)
    EXPECT_NEAR(line[b] * (1 + tilts[b]), line[b + 1] * (1 - tilts[b + 1]), 1e-12) << b;
  // The same line on bins of other widths.
  const Numbers widths{1, 3, 2, 4}, middles{0.5, 2.5, 5, 8};
  Numbers mass;
  for (std::size_t b = 0; b < 4; ++b) mass.push_back(widths[b] * (20 - middles[b]));
  const Numbers falling = pair_graph::bin_tilts(mass, widths);
  for (std::size_t b = 0; b < 4; ++b)
    EXPECT_NEAR(falling[b], -widths[b] / (2 * (20 - middles[b])), 1e-12) << b;
  // None at a peak, in a valley, in an empty or a single bin; never below zero.
  const Numbers spiky = pair_graph::bin_tilts(Numbers{0.0, 0.9, 0.001, 0.0, 0.099}, even);
  EXPECT_EQ(spiky[1], 0.0);
  EXPECT_EQ(spiky[3], 0.0);
  for (const double tilt : spiky) EXPECT_LE(std::fabs(tilt), 1.0);
  EXPECT_EQ(pair_graph::bin_tilts(Numbers{1.0}, Numbers{4.0}), Numbers{0.0});
}

/// Numbers with the density 2 (1 - x) on 8 bins: in the seventh it falls from 4 to 2, and the mean place is
/// 4/9.
TEST(PairGraph, NumbersFollowTheirNeighboursDensities) {
  DrawnRows real{{8}, {}, std::vector<std::int64_t>(40000, 0)};
  const CounterStream random(13, Stream::kTest);
  for (std::uint64_t i = 0; i < real.count(); ++i)
    real.values.push_back(static_cast<std::uint32_t>(8 * (1 - std::sqrt(random.uniform(i)))));
  PairGraphModel model = pair_graph::fit_pair_graph(count_tables(real, 1, 5.0), 0);
  const auto mean_place = [&] {
    std::vector<float> out(real.count());
    make_sampler(model)->draw(3, 0, real.labels, out);
    double sum = 0, count = 0;
    for (const float at : out) {
      const schema::Cell cell = schema::cell_at(at, 8);
      if (cell.code == 6) sum += static_cast<double>(cell.fraction), count += 1;
    }
    return sum / count;
  };
  EXPECT_NEAR(mean_place(), 0.5, 0.02);
  model.bin_widths = {std::vector<double>(8, 0.125)};
  EXPECT_NEAR(mean_place(), 4.0 / 9, 0.02);
}

class PairGraphFile : public ::testing::Test {
 protected:
  PairGraphModel read(const nlohmann::json& description, const std::vector<std::byte>& payload) const {
    const nlohmann::json as_read = nlohmann::json::parse(description.dump());
    return read_pair_graph(schema_, 3, JsonFields(as_read, test::kTestDocument), payload);
  }
  /// @param forge  what it makes of a good file must be refused
  void refused(const std::function<void(nlohmann::json&, std::vector<std::byte>&)>& forge) const {
    nlohmann::json description = nlohmann::json::parse(content_.description.dump());
    std::vector<std::byte> payload = content_.payload;
    forge(description, payload);
    EXPECT_THROW(read(description, payload), ProtocolError) << description.dump();
  }

  // Fitted once: it takes long under the sanitizers.
  static const DrawnRows& real() {
    static const DrawnRows rows = planted(3000, 2);
    return rows;
  }
  static const PairGraphModel& model() {
    static const PairGraphModel fitted = pair_graph::fit_pair_graph(count_tables(real(), 2, 5.0), 3);
    return fitted;
  }

  const DrawnRows& real_ = real();
  const PairGraphModel& model_ = model();
  const ModelContent content_ = content_of(model_);
  const schema::Schema schema_ = test::table_schema(real_.codes, 2);
};

TEST_F(PairGraphFile, ComesBack) {
  const PairGraphModel again = read(content_.description, content_.payload);
  EXPECT_EQ(again.codes, model_.codes);
  EXPECT_EQ(drawn(again, real_.labels).values, drawn(model_, real_.labels).values);
  const ModelContent twice = content_of(again);
  EXPECT_EQ(twice.payload, content_.payload);
  EXPECT_EQ(twice.description, content_.description);
}

TEST_F(PairGraphFile, HostileOnesAreRefused) {
  using nlohmann::json;
  using Bytes = std::vector<std::byte>;
  refused([](json&, Bytes& p) { p.resize(p.size() - 4); });
  refused([](json&, Bytes& p) { p.resize(p.size() + 4); });
  refused([](json&, Bytes& p) { p.push_back(std::byte{0}); });
  refused([](json&, Bytes& p) { p.clear(); });
  for (const float bad : {std::nanf(""), INFINITY, -1.0f, 0.5f, 1e30f}) {
    refused([&](json&, Bytes& p) { std::memcpy(p.data(), &bad, sizeof bad); });
    if (!(std::fabs(bad) < 1e6f))
      refused([&](json&, Bytes& p) { std::memcpy(p.data() + p.size() - 4, &bad, sizeof bad); });
  }
  refused([](json& d, Bytes&) { d["laws"].erase(1); });
  refused([](json& d, Bytes&) { d["laws"].push_back(d["laws"][0]); });
  refused([](json& d, Bytes&) { d["laws"] = json::array(); });
  refused([](json& d, Bytes&) { d["extra"] = 1; });
  refused([](json& d, Bytes&) { d["laws"][0]["extra"] = 1; });
  for (const char* key : {"columns", "parents", "pairs"}) {
    refused([&](json& d, Bytes&) { d["laws"][1].erase(key); });
    refused([&](json& d, Bytes&) { d["laws"][1][key] = "all"; });
    refused([&](json& d, Bytes&) { d["laws"][1][key].push_back(0); });
    refused([&](json& d, Bytes&) { d["laws"][1][key][0] = 99; });
    refused([&](json& d, Bytes&) { d["laws"][1][key][0] = -1; });
  }
  refused([](json& d, Bytes&) { d["laws"][0]["columns"] = {0, 0, 1, 2}; });
  // A child before its parent, and a circle.
  refused([](json& d, Bytes&) {
    d["laws"][0]["columns"] = {0, 1, 2, 3};
    d["laws"][0]["parents"] = {1, 1, 2, 3};
  });
  refused([](json& d, Bytes&) {
    d["laws"][0]["columns"] = {0, 1, 2, 3};
    d["laws"][0]["parents"] = {1, 0, 2, 3};
  });
  refused([](json& d, Bytes&) { d["laws"][0]["pairs"] = {5, 1}; });
  refused([](json& d, Bytes&) { d["laws"][0]["pairs"] = {4}; });
}

TEST_F(PairGraphFile, AnotherSchemaIsRefused) {
  for (const schema::Schema& other :
       {test::table_schema({4, 3, 5}, 2), test::table_schema({4, 3, 5, 3}, 2),
        test::table_schema({4, 3, 5, 2}, 1), test::table_schema({4, 3, 5, 2}, 3)}) {
    const nlohmann::json as_read = nlohmann::json::parse(content_.description.dump());
    EXPECT_THROW(read_pair_graph(other, 3, JsonFields(as_read, test::kTestDocument), content_.payload),
                 ProtocolError);
  }
  schema::Schema image;
  image.shape = {1, 2, 2};
  const nlohmann::json as_read = nlohmann::json::parse(content_.description.dump());
  EXPECT_THROW(read_pair_graph(image, 3, JsonFields(as_read, test::kTestDocument), content_.payload),
               ProtocolError);
}

/// From a release to a file to records.
TEST(PairGraphGenerator, IsMadeOfAMapOfCounts) {
  const DrawnRows real = planted(20000, 2);
  const schema::Schema schema = test::table_schema(real.codes, 2);
  std::vector<float> x;
  for (std::size_t i = 0; i < real.values.size(); ++i)
    x.push_back(schema::position({real.values[i], 0.5f}, real.codes[i % 4]));
  const std::vector<std::int32_t> y(real.labels.begin(), real.labels.end());
  const auto maps = std::vector{test::named("m", test::make_map("pairs", {}, schema))};
  const auto settings = test::generator("pair-graph");
  const ClosedFormSettings& form = *settings->closed_form();
  settings::Problems problems;
  form.release_problems(schema, maps, problems);
  EXPECT_TRUE(problems.empty());
  const release::Artifact release = test::planned_release(schema, maps, x, y);
  EXPECT_GT(form.fit_bytes(release), 1000u);

  test::TemporaryFolder folder;
  const ModelInfo info{.generator = settings,
                       .schema = schema,
                       .class_share = {0.7, 0.3},
                       .release_hash = "",
                       .train_hash = ""};
  save_model(folder / "model.mfl", info, form.fit(release, {}));
  const Model model = parse_model(read_file(folder / "model.mfl"), "model.mfl");
  std::vector<float> out(real.count() * 4);
  model.sampler->draw(5, 0, real.labels, out);
  DrawnRows made{real.codes, {}, real.labels};
  for (std::size_t i = 0; i < out.size(); ++i)
    made.values.push_back(schema::cell_at(out[i], real.codes[i % 4]).code);
  EXPECT_LT(worst_distance(real, made, 2, false), 0.03);
}

TEST(PairGraphGenerator, SaysWhatItLacks) {
  const auto settings = test::generator("pair-graph");
  const ClosedFormSettings& form = *settings->closed_form();
  const auto said = [&](const schema::Schema& schema, const std::vector<features::NamedMap>& maps) {
    settings::Problems problems;
    form.release_problems(schema, maps, problems);
    std::string all;
    for (const std::string& problem : problems.take()) all += problem + "\n";
    return all;
  };
  const schema::Schema columns = test::schema_of({3}), table = test::table_schema({3, 4});
  const auto moments = std::vector{test::named("m", test::small_map("moments", columns))};
  EXPECT_THAT(said(columns, moments), ::testing::HasSubstr("draws rows of tables"));
  EXPECT_THAT(said(table, moments), ::testing::HasSubstr("\"pairs\""));
  const auto pairs = std::vector{test::named("m", test::make_map("pairs", {}, table))};
  EXPECT_EQ(said(table, pairs), "");
}

}  // namespace
}  // namespace muffle::model
