// The kernels that draw cells, against plain loops in double.
#include "pair_graph/pair_graph_gibbs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "pair_graph/pair_graph_chains.hpp"

namespace muffle::pair_graph {
namespace {

using Codes = std::vector<std::uint32_t>;

/// Every width around whole packets; a chain as the tree, and all pairs but those of column 2.
const std::vector<std::size_t> kCodes{3, 1, 8, 9, 17, 2, 40};

PairGraphLaw some_law(double strength, const std::vector<std::size_t>& codes = kCodes) {
  const CounterStream random(21, Stream::kTest);
  std::uint64_t next = 0;
  PairGraphLaw law;
  for (std::size_t j = 0; j < codes.size(); ++j) {
    PairGraphLaw::Branch branch{j, j == 0 || j == 4 ? j : j - 1, {}};
    const std::size_t rows = branch.parent == j ? 1 : codes[branch.parent];
    for (std::size_t y = 0; y < rows; ++y) {
      double sum = 0;
      std::vector<double> row(codes[j]);
      for (double& p : row) sum += p = random.uniform(next++);
      for (const double p : row) branch.given.push_back(static_cast<float>(p / sum));
    }
    law.tree.push_back(branch);
    std::vector<float>& field = law.field.emplace_back();
    for (std::size_t x = 0; x < codes[j]; ++x)
      field.push_back(static_cast<float>(strength * random.normal(next++)));
  }
  for (std::size_t a = 0; a < codes.size(); ++a) {
    for (std::size_t b = a + 1; b < codes.size(); ++b) {
      if (a == 2 || b == 2) continue;
      PairGraphLaw::Pair& pair = law.pairs.emplace_back(PairGraphLaw::Pair{a, b, {}});
      for (std::size_t i = 0; i < codes[a] * codes[b]; ++i)
        pair.interaction.push_back(static_cast<float>(strength * random.normal(next++)));
    }
  }
  return law;
}

/// The conditional law of a column of a record.
std::vector<double> conditional(const PairGraphLaw& law, const Codes& record, std::size_t column) {
  std::vector<double> p(law.field[column].begin(), law.field[column].end());
  for (const PairGraphLaw::Pair& pair : law.pairs) {
    for (std::size_t x = 0; x < p.size(); ++x) {
      if (pair.first == column)
        p[x] += pair.interaction[x * law.field[pair.second].size() + record[pair.second]];
      if (pair.second == column) p[x] += pair.interaction[record[pair.first] * p.size() + x];
    }
  }
  const double most = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& v : p) sum += v = std::exp(v - most);
  for (double& v : p) v /= sum;
  return p;
}

/// Which code a uniform number falls to; -1: so near a bound that rounding decides.
int code_at(const std::vector<double>& p, double uniform) {
  double sum = 0;
  for (std::size_t x = 0; x < p.size(); ++x) {
    sum += p[x];
    if (x + 1 < p.size() && std::fabs(uniform - sum) < 1e-5) return -1;
    if (uniform < sum) return static_cast<int>(x);
  }
  return static_cast<int>(p.size()) - 1;
}

double uniform_of(std::uint32_t word) { return ((word >> 9) + 0.5) * 0x1p-23; }

/// Records drawn side by side, beside their plain random numbers.
struct Drawn {
  const std::vector<std::size_t> codes;
  const CounterStream random{5, Stream::kTest};
  GibbsRecords records{codes};
  std::vector<std::uint64_t> blocks;

  explicit Drawn(std::size_t n, std::uint64_t first = 0, const std::vector<std::size_t>& of = kCodes)
      : codes(of), blocks(n) {
    for (std::size_t i = 0; i < n; ++i) blocks[i] = (first + i) * GibbsRecords::blocks(codes.size(), 3);
    records.begin(random, blocks);
  }
  Codes record(std::size_t i) const {
    Codes out;
    for (std::size_t j = 0; j < codes.size(); ++j) out.push_back(records.codes(j)[i]);
    return out;
  }
  /// Of a record's stage: 0 the tree, then the sweeps.
  double uniform(std::size_t i, std::size_t stage, std::size_t column) const {
    const std::size_t word = stage * 4 * ((codes.size() + 3) / 4) + column;
    const std::uint64_t two = random.bits(2 * blocks[i] + word / 2);
    return uniform_of(static_cast<std::uint32_t>(word % 2 == 0 ? two : two >> 32));
  }
};

TEST(PairGraphGibbs, TheTreeIsDrawnColumnByColumn) {
  const PairGraphLaw law = some_law(1);
  Drawn drawn(61);
  GibbsLaw(kCodes, law).draw_tree(drawn.records);
  int compared = 0;
  for (std::size_t i = 0; i < drawn.blocks.size(); ++i) {
    const Codes record = drawn.record(i);
    for (std::size_t b = 0; b < law.tree.size(); ++b) {
      const auto& branch = law.tree[b];
      const std::size_t k = kCodes[branch.column],
                        row = branch.parent == branch.column ? 0 : record[branch.parent];
      const auto begin = branch.given.begin() + static_cast<std::ptrdiff_t>(row * k);
      const int code = code_at({begin, begin + static_cast<std::ptrdiff_t>(k)}, drawn.uniform(i, 0, b));
      if (code < 0) continue;
      EXPECT_EQ(record[branch.column], static_cast<std::uint32_t>(code)) << "column " << branch.column;
      ++compared;
    }
  }
  EXPECT_GT(compared, 400);
}

/// @param near  what shares of weak interactions may be off by
void expect_conditional_laws(const std::vector<std::size_t>& codes, double strength, double near) {
  const PairGraphLaw law = some_law(strength, codes);
  const GibbsLaw gibbs(codes, law);
  Drawn drawn(61, 0, codes);
  gibbs.draw_tree(drawn.records);
  int compared = 0;
  for (std::size_t sweep = 1; sweep <= 2; ++sweep) {
    std::vector<Codes> now;
    for (std::size_t i = 0; i < drawn.blocks.size(); ++i) now.push_back(drawn.record(i));
    gibbs.sweep(drawn.records, [&](const GibbsLaw::Met& met) {
      for (std::size_t i = 0; i < now.size(); ++i) {
        const std::vector<double> p = conditional(law, now[i], met.column);
        for (std::size_t x = 0; x < p.size(); ++x)
          ASSERT_NEAR(met.shares[i * ((p.size() + kPacket - 1) / kPacket) + x / kPacket].lane[x % kPacket],
                      p[x], strength < 1 ? near : 1e-3 * strength);
        const std::uint32_t drawn_code = drawn.records.codes(met.column)[i];
        const int code = code_at(p, drawn.uniform(i, sweep, met.column));
        if (code >= 0 && strength < 1000) {
          EXPECT_EQ(drawn_code, static_cast<std::uint32_t>(code));
          ++compared;
        }
        now[i][met.column] = drawn_code;
      }
    });
  }
  EXPECT_TRUE(compared > 500 || strength > 1000);
}

/// Weak interactions, and such that products of probabilities are far below what a float holds.
TEST(PairGraphGibbs, SweepsMeetTheConditionalLaws) {
  for (const double strength : {0.5, 20.0, 3000.0}) expect_conditional_laws(kCodes, strength, 2e-6);
}

/// So many partners that logarithms are added up.
TEST(PairGraphGibbs, SweepsOfAWideTableMeetThem) {
  std::vector<std::size_t> codes;
  for (int times = 0; times < 12; ++times) codes.insert(codes.end(), kCodes.begin(), kCodes.end());
  for (const double strength : {0.5, 20.0}) expect_conditional_laws(codes, strength, 1e-5);
}

TEST(PairGraphGibbs, ARecordDoesNotDependOnItsNeighboursAndVisits) {
  const GibbsLaw gibbs(kCodes, some_law(4));
  const auto draw = [&](Drawn& drawn, bool visited) {
    gibbs.draw_tree(drawn.records);
    for (int sweep = 0; sweep < 3; ++sweep) {
      if (visited) {
        gibbs.sweep(drawn.records, [](const GibbsLaw::Met&) {});
      } else {
        gibbs.sweep(drawn.records);
      }
    }
  };
  Drawn all(GibbsRecords::kMost);
  draw(all, false);
  for (const std::size_t n : {1u, 5u, 8u, 13u}) {
    Drawn few(n, 50);
    draw(few, true);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(few.record(i), all.record(50 + i)) << n;
    draw(all, false);  // the same object again, with numbers of other stages
    all.records.begin(all.random, all.blocks);
    draw(all, false);
  }
}

TEST(PairGraphGibbs, MeetingsAreSumsOfTheSharesOfTheRecordsThatHaveACode) {
  const PairGraphLaw law = some_law(1);
  const GibbsLaw gibbs(kCodes, law);
  Drawn drawn(29);  // no whole number of packets
  gibbs.draw_tree(drawn.records);
  gibbs.sweep(drawn.records, [&](const GibbsLaw::Met& met) {
    const std::size_t own = kCodes[met.column], packets = (own + kPacket - 1) / kPacket;
    GibbsLaw::Meetings sums = gibbs.no_meetings(met.column);
    gibbs.add_meetings(drawn.records, met, sums);
    gibbs.add_meetings(drawn.records, met, sums);  // onto what is there
    std::size_t partner = 0;
    for (const PairGraphLaw::Pair& pair : law.pairs) {
      if (pair.first != met.column && pair.second != met.column) continue;
      const std::size_t other = pair.first == met.column ? pair.second : pair.first;
      for (std::size_t y = 0; y < kCodes[other]; ++y) {
        for (std::size_t x = 0; x < own; ++x) {
          double expected = 0;
          for (std::size_t r = 0; r < 29; ++r) {
            if (drawn.records.codes(other)[r] == y)
              expected += 2.0 * met.shares[r * packets + x / kPacket].lane[x % kPacket];
          }
          EXPECT_NEAR(gibbs.meetings(sums, met.column, partner, x, y), expected, 1e-5)
              << met.column << " " << other;
        }
      }
      ++partner;
    }
  });
}

/// Parameters as large as a model file may hold.
TEST(PairGraphGibbs, TheFitDrawsAsManyRecordsAsTheNoiseAsksFor) {
  EXPECT_EQ(chains_for({100, 0}, 20), kMostChains);  // no noise: nothing covers the chance
  EXPECT_EQ(chains_for({100, 1e-5}, 20), kMostChains);
  EXPECT_EQ(chains_for({100, 1}, 20), kLeastChains);
  // 1 / sqrt(2 x 4 x 20 records) is 0.3 x 0.0025.
  EXPECT_EQ(chains_for({4, 0.0025}, 20), 11111u);
  // Many cells: four for each inverse.
  EXPECT_EQ(chains_for({1e6, 0.0005}, 20), 8000u);
  std::size_t before = kMostChains;
  for (double share = 1e-4; share < 1; share *= 1.3) {
    const std::size_t now = chains_for({64, share}, 20);
    EXPECT_LE(now, before);
    before = now;
  }
}

TEST(PairGraphGibbs, HugeParametersStayWithinTheCodes) {
  PairGraphLaw law = some_law(1);
  for (std::size_t p = 0; p < law.pairs.size(); ++p) {
    for (std::size_t i = 0; i < law.pairs[p].interaction.size(); ++i)
      law.pairs[p].interaction[i] = (i + p) % 3 == 0 ? 1e6f : -1e6f;
  }
  const GibbsLaw gibbs(kCodes, law);
  Drawn drawn(20);
  gibbs.draw_tree(drawn.records);
  gibbs.sweep(drawn.records);
  for (std::size_t i = 0; i < 20; ++i) {
    const Codes record = drawn.record(i);
    for (std::size_t j = 0; j < record.size(); ++j) EXPECT_LT(record[j], kCodes[j]);
  }
}

}  // namespace
}  // namespace muffle::pair_graph
