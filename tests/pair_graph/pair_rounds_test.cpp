#include "muffle/pair_graph/pair_rounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "pair_graph/whole_steps.hpp"

namespace muffle::pair_graph {
namespace {

using features::CountTable;

constexpr double kRecords = 10000;
const std::vector<std::size_t> kRoundCodes{6, 4, 5, 3};

/// All columns and pairs.
features::CountTables workload() {
  features::CountTables out{kRoundCodes, {}};
  for (std::size_t i = 0; i < kRoundCodes.size(); ++i) {
    out.tables.push_back({{i}, {}, 0.7});
    for (std::size_t j = i + 1; j < kRoundCodes.size(); ++j) out.tables.push_back({{i, j}, {}, 1.0});
  }
  return out;
}

/// Expected records of codes (0.4, the rest evenly) of independent columns; column 1 follows column 0.
double records_at(const std::vector<std::size_t>& code) {
  const auto share = [](std::size_t j, std::size_t x) {
    return x == 0 ? 0.4 : 0.6 / static_cast<double>(kRoundCodes[j] - 1);
  };
  double out = kRecords;
  for (std::size_t j = 0; j < code.size(); ++j) {
    if (j == 1)
      out *= 0.2 * share(1, code[1]) + (code[1] == code[0] * 2 / 3 ? 0.8 : 0.0);
    else
      out *= share(j, code[j]);
  }
  return out;
}

/// The wanted tables' counts, the same in each class, with noise.
void count(release::NoisyTables& into, const std::vector<CountTable>& tables, double sigma) {
  const CounterStream random(5, Stream::kTest, static_cast<std::uint32_t>(into.tables.size()));
  std::uint64_t next = 0;
  for (const CountTable& table : tables) {
    release::NoisyTable out{table.columns, table.groups, {}, {}, sigma};
    std::size_t cells = 1;
    for (std::size_t k = 0; k < table.columns.size(); ++k) {
      const bool grouped = k < table.groups.size() && !table.groups[k].empty();
      out.sizes.push_back(grouped ? 1 + *std::max_element(table.groups[k].begin(), table.groups[k].end())
                                  : kRoundCodes[table.columns[k]]);
      cells *= out.sizes.back();
    }
    EXPECT_EQ(cells, table.cells);
    for (std::size_t c = 0; c < into.classes; ++c) {
      std::vector<double> counts(cells, 0.0);
      std::vector<std::size_t> code(kRoundCodes.size(), 0);
      for (std::size_t all = 0; all < 6 * 4 * 5 * 3; ++all) {
        for (std::size_t j = code.size(), left = all; j-- > 0; left /= kRoundCodes[j])
          code[j] = left % kRoundCodes[j];
        std::size_t cell = 0;
        for (std::size_t k = 0; k < table.columns.size(); ++k) {
          const std::size_t x = code[table.columns[k]];
          const bool grouped = k < table.groups.size() && !table.groups[k].empty();
          cell = cell * out.sizes[k] + (grouped ? table.groups[k][x] : x);
        }
        counts[cell] += records_at(code) / static_cast<double>(into.classes);
      }
      for (double& n : counts) n += sigma * random.normal(next++);
      out.counts.insert(out.counts.end(), counts.begin(), counts.end());
    }
    into.tables.push_back(std::move(out));
  }
}

/// The tables of every round.
std::vector<std::vector<CountTable>> all_rounds(const features::CountTables& wanted, std::size_t classes,
                                                std::size_t rounds, double sigma,
                                                std::vector<release::Combination> list = {}) {
  release::NoisyTables so_far{classes, kRoundCodes, {}, kRecords, true};
  so_far.combinations = std::move(list);
  const std::vector<double> shares = round_shares(wanted, classes, kRecords, sigma, rounds);
  std::vector<std::vector<CountTable>> out;
  for (std::size_t r = 0; r < shares.size(); ++r) {
    out.push_back(tables_of_round(wanted, so_far, classes, r, shares.size(), sigma).tables);
    count(so_far, out.back(), sigma);
  }
  return out;
}

TEST(PairRounds, SharesSumToOne) {
  for (std::size_t rounds = 0; rounds <= privacy::kMostRoundsOfCounts; ++rounds) {
    const std::vector<double> shares = round_shares(workload(), 1, kRecords, 10, rounds);
    EXPECT_DOUBLE_EQ(std::accumulate(shares.begin(), shares.end(), 0.0), 1.0);
    if (rounds > 0) {
      EXPECT_EQ(shares.size(), rounds);
    }
  }
  EXPECT_THROW(round_shares(workload(), 1, kRecords, 10, 4), ConfigError);
}

TEST(PairRounds, WithoutPairsOrNoiseOneRoundIsEnough) {
  EXPECT_EQ(round_shares({kRoundCodes, {{{0}, {}, 1.0}}}, 1, kRecords, 10, 0).size(), 1u);
  EXPECT_EQ(round_shares(workload(), 1, kRecords, 1e-3, 0).size(), 1u);
}

class TheSameRounds : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(PairRounds, TheSameRounds, ::testing::Bool());

// With a list of combinations, too: later rounds may go by it.
TEST_P(TheSameRounds, OfTheSameNumbers) {
  std::vector<release::Combination> list;
  if (GetParam()) {
    list.push_back({0, 1, {kRoundCodes[0], kRoundCodes[1]}, {}});
    for (std::size_t x = 0; x < kRoundCodes[0]; ++x) {
      for (std::size_t y = 0; y < kRoundCodes[1]; ++y) list[0].allowed.push_back((x + y) % 3 > 0);
    }
  }
  const auto a = all_rounds(workload(), 2, 3, 20, list), b = all_rounds(workload(), 2, 3, 20, list);
  for (std::size_t r = 0; r < a.size(); ++r) {
    ASSERT_EQ(a[r].size(), b[r].size());
    for (std::size_t t = 0; t < a[r].size(); ++t) {
      EXPECT_EQ(a[r][t].columns, b[r][t].columns);
      EXPECT_EQ(a[r][t].groups, b[r][t].groups);
      EXPECT_EQ(a[r][t].weight, b[r][t].weight);
    }
  }
}

TEST(PairRounds, TheStrongPairIsCountedAgain) {
  for (const std::size_t rounds : {2u, 3u}) {
    for (const std::size_t classes : {1u, 2u}) {
      const std::vector<CountTable> last = all_rounds(workload(), classes, rounds, 30).back();
      EXPECT_EQ(last.front().columns, (std::vector<std::size_t>{0, 1}));
      EXPECT_LE(last.size(), 3u) << "the others are independent";
    }
  }
}

/// Every table's groups lie in those of the pair's tables before it, so that all of them can be combined.
TEST(PairRounds, GroupsNest) {
  for (const double sigma : {1.0, 100.0, 700.0}) {
    const auto rounds = all_rounds(workload(), 1, 3, sigma);
    for (const CountTable& table : rounds[2]) {
      if (table.columns.size() == 1) continue;
      for (const CountTable& before : rounds[1]) {
        if (before.columns != table.columns) continue;
        for (std::size_t k = 0; k < 2; ++k) {
          std::set<std::pair<std::size_t, std::size_t>> lie;
          std::set<std::size_t> fine;
          for (std::size_t x = 0; x < kRoundCodes[table.columns[k]]; ++x) {
            const std::size_t f = table.groups[k].empty() ? x : table.groups[k][x];
            lie.insert({f, before.groups[k].empty() ? x : before.groups[k][x]});
            fine.insert(f);
          }
          EXPECT_EQ(lie.size(), fine.size());
          EXPECT_EQ(*fine.rbegin() + 1, fine.size()) << "numbered without gaps";
        }
      }
    }
  }
}

TEST(PairRounds, WhatIsNotInTheWorkloadIsNeverCounted) {
  features::CountTables some = workload();
  std::erase_if(some.tables, [](const CountTable& table) { return table.columns.back() == 3; });
  some.tables.push_back({{0, 3}, {}, 0.0});
  for (const std::size_t rounds : {1u, 2u, 3u}) {
    for (const auto& tables : all_rounds(some, 1, rounds, 20)) {
      EXPECT_FALSE(tables.empty());
      for (const CountTable& table : tables) EXPECT_THAT(table.columns, testing::Not(testing::Contains(3u)));
    }
  }
}

TEST(PairRounds, UnderHugeNoiseThereIsStillSomethingToCount) {
  for (const std::size_t rounds : {2u, 3u}) {
    for (const auto& tables : all_rounds(workload(), 2, rounds, 1e9)) EXPECT_FALSE(tables.empty());
  }
}

TEST(PairRounds, LaterRoundsNeedTheEarlierOnes) {
  EXPECT_THROW(tables_of_round(workload(), {1, kRoundCodes, {}, kRecords, true}, 1, 1, 2, 10), ConfigError);
}

/// Columns 2 and 3 have the same numbers, and so have their pairs with others: only digits tell them apart.
TEST(PairRounds, DigitsThatBuildsDifferInDecideNothing) {
  const features::CountTables wanted{{6, 4, 5, 5},
                                     {{{0, 1}}, {{0, 2}}, {{0, 3}}, {{1, 2}}, {{1, 3}}, {{2, 3}}}};
  const CounterStream random(8, Stream::kTest);
  const auto twins = [&](std::uint64_t build) {
    release::NoisyTables out{1, wanted.codes, {}, kRecords, true};
    std::uint64_t next = 0;
    for (const CountTable& table : wanted.tables) {
      const std::size_t k = wanted.codes[table.columns[0]], l = wanted.codes[table.columns[1]];
      release::NoisyTable& noisy =
          out.tables.emplace_back(release::NoisyTable{table.columns, {}, {k, l}, {}, 20});
      for (std::size_t x = 0; x < k; ++x) {
        for (std::size_t y = 0; y < l; ++y) {
          // As the same pair of the twin's.
          const std::uint64_t cell = (table.columns[0] < 2 ? table.columns[0] : 2) * 64 + x * 8 + y;
          const double like = x == y ? kRecords / static_cast<double>(k) : 0;
          noisy.counts.push_back((like + 20 * random.normal(cell)) *
                                 (1 + 1e-13 * static_cast<double>(build) * random.normal(1000 + next++)));
        }
      }
    }
    return out;
  };
  const Choice first = tables_of_round(wanted, twins(0), 1, 1, 2, 5);
  ASSERT_TRUE(first.steady());
  for (std::uint64_t build = 1; build < 20; ++build) {
    const Choice other = tables_of_round(wanted, twins(build), 1, 1, 2, 5);
    ASSERT_EQ(other.tables.size(), first.tables.size());
    for (std::size_t t = 0; t < first.tables.size(); ++t) {
      EXPECT_EQ(other.tables[t].columns, first.tables[t].columns);
      EXPECT_EQ(other.tables[t].groups, first.tables[t].groups);
    }
  }
}

TEST(PairRounds, NumbersInTheMiddleBetweenTwoStepsAreInDoubt) {
  Comparisons compare;
  const double step = 0x1p-20;
  EXPECT_FALSE(compare.less(in_steps(7 * step, 1), in_steps(7.2 * step, 1)));
  EXPECT_TRUE(compare.less(in_steps(0.5 * step, 1), in_steps(9 * step, 1)));
  EXPECT_TRUE(compare.steady());
  EXPECT_TRUE(compare.less(in_steps(7.4995 * step, 1), in_steps(8 * step, 1)));
  EXPECT_FALSE(compare.steady());
}

}  // namespace
}  // namespace muffle::pair_graph
