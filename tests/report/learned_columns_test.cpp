// Columns with learned bins in a report: what is drawn, what is said of their noise.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "release/tree_release.hpp"
#include "report/bins.hpp"
#include "report/number_column.hpp"
#include "report/sections.hpp"

namespace muffle::report {
namespace {

TEST(NoisyTree, DrownedCellsAreDrawnTogetherAndKeepTheTruth) {
  // 64 cells of 50 records, noise of 60 in each: no cell is told, sums of them are.
  const std::vector<double> cells(64, 50.0);
  const release::NoisyTables all = release::tree_release(cells, 0, false, 60.0, 9);
  schema::Schema schema;
  schema.classes = 1;
  const auto margins = release::noisy_margins(all, schema);
  ASSERT_TRUE(margins[0].tree);
  std::vector<double> edges, values;
  for (int e = 0; e <= 64; ++e) edges.push_back(e);
  for (int v = 0; v < 64; ++v) values.insert(values.end(), 50, v);
  const Bins bins = Bins::to_draw(number(0.0, 63.0, edges), values, &margins[0]);
  EXPECT_GE(bins.count(), 2u);
  EXPECT_LT(bins.count(), 20u);
  const Bins::Released released = bins.released(margins[0], all.records);
  const auto truth = bins.shares(values);
  for (std::size_t b = 0; b < bins.count(); ++b) {
    ASSERT_TRUE(released.of[b]);
    EXPECT_NEAR(released.of[b]->share, truth[b], 4 * released.of[b]->sigma);
    EXPECT_GE(released.of[b]->share, 2 * released.of[b]->sigma);
  }
}

TEST(NoisyTree, IsSpreadOverBinsThatAreNoneOfItsCells) {
  std::vector<double> cells, edges;
  for (int c = 0; c < 16; ++c) cells.push_back(100.0 * (1 + c));
  for (int e = 0; e <= 16; ++e) edges.push_back(10.0 * e);
  const release::NoisyTables all = release::tree_release(cells, 0, false, 20.0, 4);
  schema::Schema schema;
  schema.classes = 1;
  const auto margins = release::noisy_margins(all, schema);
  std::vector<double> values;  // evenly in every cell
  for (int c = 0; c < 16; ++c) {
    for (int v = 0; v < 10; ++v)
      values.insert(values.end(), static_cast<std::size_t>(10 * (1 + c)), 10 * c + v);
  }
  for (const std::size_t drawn : {7u, 50u}) {  // wider than the cells, and finer
    const Bins bins = Bins::to_draw(number(0, 159, edges), values, nullptr, drawn);
    const auto truth = bins.shares(values);
    const std::vector<Bins::Released::Share> said = bins.spread(margins[0], all.records);
    ASSERT_EQ(said.size(), bins.count());
    double sum = 0;
    for (std::size_t b = 0; b < said.size(); ++b) {
      EXPECT_NEAR(said[b].share, truth[b], 4 * said[b].sigma + 1e-9) << drawn << " " << bins.labels()[b];
      EXPECT_GT(said[b].sigma, 0.0);
      EXPECT_LT(said[b].sigma, drawn == 50 ? 0.002 : 0.004) << "no more than a cell's, times its part";
      sum += said[b].share;
    }
    EXPECT_NEAR(sum, 1.0, 1e-9) << "nothing is left out or counted twice";
  }
}

TEST(NoiseFindings, ALearnedColumnIsJudgedByItsDistributionFunction) {
  // 64 cells of 300 records: of cells noise displaces a tenth, of the function little.
  const std::vector<double> cells(64, 300.0);
  std::vector<double> edges;
  for (int e = 0; e <= 64; ++e) edges.push_back(e);
  PublicMaterial m;
  const auto judged = [&](double sigma, double farthest_right) {
    const release::NoisyTables all = release::tree_release(cells, 0, false, sigma, 11);
    schema::Schema schema;
    schema.classes = 1;
    m.noisy = release::noisy_margins(all, schema);
    m.records = all.records;
    m.samples.emplace();
    m.samples->columns = {number(0, 63, edges)};
    m.samples->values.emplace_back();
    for (double v = 0; v <= farthest_right; ++v)
      m.samples->values[0].insert(m.samples->values[0].end(), 300, v);
    m.samples->labels.assign(m.samples->values[0].size(), 0);
    std::pair<std::vector<std::string>, std::vector<std::string>> out;
    quality_by_noise(m, out.first, out.second);
    return out;
  };
  const auto as_released = judged(40.0, 63);
  EXPECT_TRUE(as_released.second.empty());
  ASSERT_EQ(as_released.first.size(), 2u);
  EXPECT_NE(as_released.first[0].find("share of records below any value"), std::string::npos);
  const auto elsewhere = judged(40.0, 31);  // half of them are missing on the right
  ASSERT_EQ(elsewhere.second.size(), 1u);
  EXPECT_NE(elsewhere.second[0].find("depart from the release"), std::string::npos);
  const auto drowned = judged(4000.0, 63);
  ASSERT_FALSE(drowned.second.empty());
  EXPECT_NE(drowned.second[0].find("moves the share of records below some value"), std::string::npos);
  // Where noise is all there is, that samples follow it is no praise.
  for (const std::string& praise : drowned.first)
    EXPECT_EQ(praise.find("follow the release"), std::string::npos);
  EXPECT_NE(as_released.first[1].find("In 1 of 1 columns with learned bins samples follow the release"),
            std::string::npos)
      << as_released.first[1];
}

/// What the columns' section says of 64 values, 300 records of each.
std::string columns_of_a_release(bool learned) {
  const release::NoisyTables tree = release::tree_release(std::vector<double>(64, 300.0), 0, false, 40.0, 11);
  release::NoisyTables all = tree;
  if (!learned) {
    all.tables = {tree.tables.back()};  // every value by itself
    all.tables.front().groups.clear();
    all.grid_cells.clear();
  }
  std::vector<double> edges;
  for (int e = 0; e <= 64; ++e) edges.push_back(e);
  PublicMaterial m;
  schema::Schema schema;
  schema.classes = 1;
  schema.table = std::make_shared<schema::Table>();
  m.noisy = release::noisy_margins(all, schema);
  m.records = all.records;
  m.verification.artifact.emplace().schema = schema;
  m.samples.emplace();
  m.samples->columns = {number(0, 63, edges)};
  m.samples->values.emplace_back();
  for (double v = 0; v < 64; ++v) m.samples->values[0].insert(m.samples->values[0].end(), 300, v);
  m.samples->labels.assign(m.samples->values[0].size(), 0);
  Page page;
  public_columns(m, page);
  return page.html();
}

TEST(ColumnsSection, WhatBinsByHandAreKnownToIsNoColumn) {
  const std::string learned = columns_of_a_release(true), by_hand = columns_of_a_release(false);
  for (const std::string* const html : {&learned, &by_hand}) {
    EXPECT_NE(html->find("of which the noise alone makes"), std::string::npos);
    EXPECT_NE(html->find("Total variation: 0 the same"), std::string::npos);
  }
  EXPECT_NE(learned.find("known to"), std::string::npos);
  EXPECT_EQ(by_hand.find("nown to"), std::string::npos) << "neither the column nor the note on it";
}

}  // namespace
}  // namespace muffle::report
