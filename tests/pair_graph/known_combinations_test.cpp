// Columns of which the schema lists what goes together: the pair graph draws nothing else, and what is known
// costs no noise.
#include "pair_graph/known_combinations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "muffle/core/philox.hpp"
#include "muffle/pair_graph/pair_graph.hpp"
#include "muffle/schema/table.hpp"
#include "pair_graph/pair_graph_margins.hpp"

namespace muffle::pair_graph::combined {
namespace {

constexpr std::size_t kRows = 20000;
const std::vector<std::size_t> kCodes{3, 6, 2};

/// Wards a and diagnoses b: 0 and 1 of ward 0, 2 of ward 1, 3 and 4 of ward 2, and 5, a missing one, of all;
/// 1 of ward 2, too.
bool goes_with(std::size_t a, std::size_t b) {
  return b == 5 || (b < 2 && a == 0) || (b == 2 && a == 1) || (b > 2 && a == 2) || (b == 1 && a == 2);
}

release::Combination wards() {
  release::Combination out{0, 1, {3, 6}, {}};
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 6; ++b) out.allowed.push_back(goes_with(a, b));
  }
  return out;
}

using Row = std::array<std::uint32_t, 3>;
struct Rows {
  std::vector<Row> codes;
  std::vector<std::int64_t> labels;
};

/// x follows a, and in class 1 runs against it. @param impossible  share of rows whose b is any
Rows planted(std::size_t classes, double impossible = 0.0) {
  const CounterStream random(21, Stream::kTest);
  Rows out;
  for (std::uint64_t i = 0; i < kRows; ++i) {
    const auto u = [&](std::uint64_t k) { return random.uniform(8 * i + k); };
    const auto label = static_cast<std::int64_t>(classes > 1 && u(0) < 0.25);
    const auto a = static_cast<std::uint32_t>(u(1) < 0.5 ? 0 : u(1) < 0.6 ? 1 : 2);
    std::uint32_t b = a == 0 ? (u(2) < 0.7 ? 0 : 1) : a == 1 ? 2 : (u(2) < 0.2 ? 1 : u(2) < 0.8 ? 3 : 4);
    if (u(3) < 0.04) b = 5;
    if (u(4) < impossible) b = static_cast<std::uint32_t>(6 * u(5));
    const bool follows = u(6) < 0.85;
    out.codes.push_back({a, b, static_cast<std::uint32_t>((a == 0) == (follows == (label == 0)))});
    out.labels.push_back(label);
  }
  return out;
}

std::vector<double> counts(const Rows& rows, std::size_t classes, const std::vector<std::size_t>& columns) {
  std::size_t cells = 1;
  for (const std::size_t j : columns) cells *= kCodes[j];
  std::vector<double> out(classes * cells, 0.0);
  for (std::size_t r = 0; r < rows.codes.size(); ++r) {
    std::size_t cell = static_cast<std::size_t>(rows.labels[r]);
    for (const std::size_t j : columns) cell = cell * kCodes[j] + rows.codes[r][j];
    out[cell] += 1;
  }
  return out;
}

release::NoisyTables tables(const Rows& rows, std::size_t classes, double sigma,
                            std::vector<release::Combination> combinations) {
  release::NoisyTables out;
  out.classes = classes;
  out.codes = kCodes;
  out.records = static_cast<double>(kRows);
  out.combinations = std::move(combinations);
  const CounterStream random(22, Stream::kTest);
  std::uint64_t next = 0;
  for (const std::vector<std::size_t>& columns :
       std::vector<std::vector<std::size_t>>{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}}) {
    release::NoisyTable table{
        columns, std::vector<std::vector<std::uint32_t>>(columns.size()), {}, {}, sigma};
    for (const std::size_t j : columns) table.sizes.push_back(kCodes[j]);
    table.counts = counts(rows, classes, columns);
    for (double& count : table.counts) count += sigma * random.normal(next++);
    out.tables.push_back(std::move(table));
  }
  return out;
}

Rows drawn(const PairGraphModel& model, const std::vector<std::int64_t>& labels) {
  Rows rows{{}, labels};
  std::vector<float> out(labels.size() * 3);
  make_sampler(model)->draw(3, 0, labels, out);
  for (std::size_t r = 0; r < labels.size(); ++r) {
    Row& row = rows.codes.emplace_back();
    for (std::size_t j = 0; j < 3; ++j) row[j] = schema::cell_at(out[3 * r + j], kCodes[j]).code;
  }
  return rows;
}

std::size_t impossible(const Rows& rows) {
  return static_cast<std::size_t>(
      std::ranges::count_if(rows.codes, [](const Row& row) { return !goes_with(row[0], row[1]); }));
}

double distance(const Rows& one, const Rows& other, std::size_t classes,
                const std::vector<std::size_t>& columns) {
  const auto p = counts(one, classes, columns), q = counts(other, classes, columns);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::fabs(p[i] - q[i]);
  return sum / 2 / static_cast<double>(kRows);
}

TEST(KnownCombinations, NothingElseIsDrawnAndTheLawsAreTheRecords) {
  for (const std::size_t classes : {1u, 2u}) {
    const Rows real = planted(classes);
    ASSERT_EQ(impossible(real), 0u);
    for (const std::size_t sweeps : {std::size_t{0}, kPairSweeps}) {
      const Rows without = drawn(fit_pair_graph(tables(real, classes, 60.0, {}), sweeps), real.labels);
      const Rows with = drawn(fit_pair_graph(tables(real, classes, 60.0, {wards()}), sweeps), real.labels);
      EXPECT_GT(impossible(without), kRows / 1000) << "or this shows nothing";
      EXPECT_EQ(impossible(with), 0u);
      EXPECT_LT(distance(real, with, classes, {0, 1}), 0.03);
      EXPECT_LT(distance(real, with, classes, {0, 1}), distance(real, without, classes, {0, 1}));
      if (sweeps == 0) continue;
      for (const std::vector<std::size_t>& columns : {std::vector<std::size_t>{0, 2}, {1, 2}})
        EXPECT_LT(distance(real, with, classes, columns), 0.03) << classes;
    }
  }
}

TEST(KnownCombinations, ThePairNeedsNoCountsAndRecordsThatAreImpossibleAreNotDrawn) {
  const Rows real = planted(1);
  release::NoisyTables singles = tables(real, 1, 20.0, {wards()});
  std::erase_if(singles.tables, [](const auto& t) { return t.columns == std::vector<std::size_t>{0, 1}; });
  const Rows made = drawn(fit_pair_graph(singles, kPairSweeps), real.labels);
  EXPECT_EQ(impossible(made), 0u);
  EXPECT_LT(distance(real, made, 1, {0}), 0.01);
  EXPECT_LT(distance(real, made, 1, {1}), 0.01);
  // Only how the missing ones and diagnosis 1 are shared out is not known.
  EXPECT_LT(distance(real, made, 1, {0, 1}), 0.06);

  const Rows wrong = planted(1, 0.1);
  ASSERT_GT(impossible(wrong), kRows / 50);
  const Rows mended = drawn(fit_pair_graph(tables(wrong, 1, 20.0, {wards()}), kPairSweeps), wrong.labels);
  EXPECT_EQ(impossible(mended), 0u);
  EXPECT_LT(distance(wrong, mended, 1, {0}), 0.06);
}

/// The noise of cells that are known to be empty does not reach the columns: 8 wards of 4 diagnoses each.
TEST(KnownCombinations, ColumnsGainByWhatIsKnown) {
  constexpr std::size_t kWards = 8, kEach = 4, kIcds = kWards * kEach;
  constexpr double kSigma = 200.0;
  release::Combination list{0, 1, {kWards, kIcds}, std::vector<bool>(kWards * kIcds)};
  std::vector<double> wards(kWards), icds(kIcds), pairs(kWards * kIcds);
  double records = 0;
  for (std::size_t y = 0; y < kIcds; ++y) {
    const double n = std::floor(20000.0 / static_cast<double>(1 + (7 * y) % kIcds));
    list.allowed[y / kEach * kIcds + y] = true;
    wards[y / kEach] += n;
    icds[y] = pairs[y / kEach * kIcds + y] = n;
    records += n;
  }
  double error[2][2] = {};  // with the list or without; of both columns
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    release::NoisyTables some;
    some.codes = {kWards, kIcds};
    some.records = records;
    some.tables = {{{0}, {{}}, {kWards}, wards, kSigma},
                   {{1}, {{}}, {kIcds}, icds, kSigma},
                   {{0, 1}, {{}, {}}, {kWards, kIcds}, pairs, kSigma}};
    const CounterStream random(seed, Stream::kTest);
    std::uint64_t next = 0;
    for (release::NoisyTable& table : some.tables) {
      for (double& count : table.counts) count += kSigma * random.normal(next++);
    }
    for (const bool known : {false, true}) {
      if (known) some.combinations = {list};
      const Margins margins = combine_tables(some);
      for (std::size_t j = 0; j < 2; ++j) {
        const std::vector<double>& real = j == 0 ? wards : icds;
        for (std::size_t x = 0; x < real.size(); ++x)
          error[known][j] += std::fabs(margins.column[0][j](static_cast<Eigen::Index>(x)) - real[x]);
      }
    }
  }
  EXPECT_LT(error[1][0], 0.9 * error[0][0]) << "wards";
  EXPECT_LT(error[1][1], 0.9 * error[0][1]) << "diagnoses";
}

/// Its law is made up, and says nothing of the wards.
TEST(KnownCombinations, AColumnThatNothingCountsLeavesTheOtherAsItWasCounted) {
  const Rows real = planted(2);
  for (const std::size_t uncounted : {0u, 1u}) {
    release::NoisyTables some = tables(real, 2, 20.0, {wards()});
    std::erase_if(some.tables, [&](const auto& t) { return std::ranges::count(t.columns, uncounted) > 0; });
    const Rows made = drawn(fit_pair_graph(some, 0), real.labels);
    EXPECT_EQ(impossible(made), 0u);
    EXPECT_LT(distance(real, made, 2, {1 - uncounted}), 0.015) << uncounted;
  }
}

/// Class 1 may be in ward 1 alone, without its diagnosis 2: what is left of the ward is a missing one, of
/// which its column has none.
TEST(KnownCombinations, WhereTheCountsLeaveAClassNothingItsRulesHoldAllTheSame) {
  release::Combination of_ward{0, release::Combination::kLabel, {3, 2}, {1, 0, 1, 1, 1, 0}};
  release::Combination of_icd{1, release::Combination::kLabel, {6, 2}, std::vector<bool>(12, true)};
  of_icd.allowed[2 * 2 + 1] = false;
  release::NoisyTables some;
  some.combinations = {wards(), of_ward, of_icd};
  for (const double missing : {20.0, 0.0}) {  // of the other class
    Margins margins{{3, 6}, {100, 100}, {}, {}};
    margins.column = {{Eigen::VectorXd::Constant(3, 100.0 / 3), Eigen::VectorXd::Zero(6)},
                      {Eigen::VectorXd::Constant(3, 100.0 / 3), Eigen::VectorXd::Zero(6)}};
    margins.column[0][1] << 20, 20, 20, 10, 30 - missing, missing;
    margins.column[1][1] << 100, 0, 0, 0, 0, 0;
    keep_combinations(some, {1.0, 1.0}, margins, {});
    const Eigen::MatrixXd made = margins.known.at(0).table(1, margins.codes);
    EXPECT_DOUBLE_EQ(made(1, 5), 100.0) << made;
    EXPECT_DOUBLE_EQ(margins.column[1][1](5), 100.0);
    EXPECT_NEAR(margins.known[0].table(0, margins.codes).sum(), 100.0, 1e-9);
  }
}

/// 400 wards of 4 diagnoses each beside 1,600, of 4 classes: the cells that are not allowed cost nothing.
TEST(KnownCombinations, ALongListIsFittedByWhatItAllowsAndShowsSignsOfLife) {
  constexpr std::size_t kWards = 400, kEach = 4, kClasses = 4;
  release::NoisyTables some;
  some.classes = kClasses;
  some.codes = {kWards, kWards * kEach, 2};
  some.records = 1e5;
  release::Combination list{0, 1, {kWards, kWards * kEach}, std::vector<bool>(kWards * kWards * kEach)};
  for (std::size_t y = 0; y < kWards * kEach; ++y) list.allowed[y / kEach * kWards * kEach + y] = true;
  some.combinations = {list};
  for (std::size_t j = 0; j < 3; ++j) {
    const std::size_t codes = some.codes[j];
    const double each = some.records / static_cast<double>(kClasses * codes);
    some.tables.push_back({{j}, {{}}, {codes}, std::vector<double>(kClasses * codes, each), 1.0});
  }
  std::size_t beats = 0;
  const PairGraphModel model = fit_pair_graph(some, 0, [&] { ++beats; });
  EXPECT_GT(beats, kClasses);
  std::vector<float> out(3 * 1000);
  make_sampler(model)->draw(3, 0, std::vector<std::int64_t>(1000, 1), out);
  for (std::size_t r = 0; r < 1000; ++r) {
    const std::uint32_t a = schema::cell_at(out[3 * r], kWards).code,
                        b = schema::cell_at(out[3 * r + 1], kWards * kEach).code;
    ASSERT_EQ(a, b / kEach);
  }
}

TEST(KnownCombinations, AClassMayRuleCodesOut) {
  const Rows real = planted(2);
  Rows kept = real;
  for (std::size_t r = 0; r < kRows; ++r)
    if (kept.codes[r][1] == 3) kept.labels[r] = 0;
  release::Combination classes{1, release::Combination::kLabel, {6, 2}, std::vector<bool>(12, true)};
  classes.allowed[3 * 2 + 1] = false;
  const Rows made =
      drawn(fit_pair_graph(tables(kept, 2, 60.0, {wards(), classes}), kPairSweeps), kept.labels);
  EXPECT_EQ(impossible(made), 0u);
  for (std::size_t r = 0; r < kRows; ++r) ASSERT_FALSE(made.labels[r] == 1 && made.codes[r][1] == 3) << r;
  EXPECT_LT(distance(kept, made, 2, {1}), 0.03);
  EXPECT_LT(distance(kept, made, 2, {0, 1}), 0.03);
}

/// Three columns, each two of which are combined: the tree holds two pairs, sweeps and the rules hold the
/// third.
TEST(KnownCombinations, ARingOfThemIsHeldBySweeps) {
  Rows real = planted(1);
  for (Row& row : real.codes) row[2] = row[0] == 1 ? 0 : row[1] == 1 ? 1 : row[2];
  release::Combination ward_x{0, 2, {3, 2}, {true, true, true, false, true, true}};
  release::Combination icd_x{1, 2, {6, 2}, std::vector<bool>(12, true)};
  icd_x.allowed[1 * 2 + 0] = false;
  const Rows made =
      drawn(fit_pair_graph(tables(real, 1, 60.0, {wards(), ward_x, icd_x}), kPairSweeps), real.labels);
  std::size_t broken = 0;
  for (const Row& row : made.codes) {
    broken += !goes_with(row[0], row[1]) || !ward_x.holds(row[0], row[2]) || !icd_x.holds(row[1], row[2]);
  }
  EXPECT_LT(broken, kRows / 1000);
  EXPECT_LT(distance(real, made, 1, {0, 1}), 0.04);
}

}  // namespace
}  // namespace muffle::pair_graph::combined
