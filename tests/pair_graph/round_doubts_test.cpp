// What another build may choose in a later round, and what none can.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "muffle/pair_graph/pair_rounds.hpp"

namespace muffle::pair_graph {
namespace {

using features::CountTable;

/// A choice of two pairs of three columns, the second of whose columns is in doubt.
class DoubtfulChoice : public testing::Test {
 protected:
  const features::CountTables workload_{{3, 4, 2},
                                        {{{0}}, {{1}}, {{2}}, {{0, 1}, {}, 2.0}, {{0, 2}}, {{1, 2}}}};
  const release::NoisyTables so_far_{1, {3, 4, 2}, {}, 1000, true};
  Choice own_{.tables = {{{0, 1}, {{0, 0, 1}, {0, 0, 1, 2}}, 2.0}, {{0, 2}, {{0, 0, 1}, {}}}},
              .groups = {{0, 0, 1}, {0, 0, 1, 2}, {0, 1}},
              .columns_in_doubt = {false, true, false}};

  /// Could a build of ours have chosen these?
  bool possible(const std::vector<CountTable>& stated, std::size_t rounds = 2) const {
    const auto same = [](const CountTable& a, const CountTable& b) {
      return a.columns == b.columns && a.groups == b.groups && a.weight == b.weight;
    };
    const std::vector<CountTable> settled = settled_as(stated, own_, workload_, so_far_, 1, rounds);
    return std::ranges::equal(settled, stated, same);
  }
  /// Its own tables, changed.
  std::vector<CountTable> with(const std::function<void(std::vector<CountTable>&)>& change) const {
    std::vector<CountTable> out = own_.tables;
    change(out);
    return out;
  }
};

TEST_F(DoubtfulChoice, MayComeOutOtherwiseInWhatIsInDoubtAlone) {
  EXPECT_TRUE(possible(own_.tables));
  EXPECT_TRUE(possible(with([](auto& tables) { tables[0].groups[1] = {0, 1, 1, 2}; })));
  EXPECT_FALSE(possible(with([](auto& tables) { tables[0].groups[0] = {0, 1, 1}; }))) << "column 0 is sure";
  EXPECT_FALSE(possible(with([](auto& tables) {
    tables[0].groups[1] = {1, 0, 0, 2};
  }))) << "its numbering is";
  EXPECT_FALSE(possible(with([](auto& tables) { tables[0].weight *= 1 + 1e-15; })));
  EXPECT_FALSE(possible(with([](auto& tables) { std::swap(tables[0], tables[1]); })));
  EXPECT_FALSE(possible(with([](auto& tables) { tables.pop_back(); }))) << "so are the pairs";
}

TEST_F(DoubtfulChoice, OfPairsLeavesTheirWeightsAndOrderSure) {
  own_.pairs_in_doubt = true;
  EXPECT_TRUE(possible(with([](auto& tables) { tables.pop_back(); })));
  EXPECT_TRUE(possible({{{1, 2}, {{0, 0, 1, 1}, {}}}}));
  EXPECT_FALSE(possible({{{1, 2}, {{0, 0, 1, 1}, {}}, 2.0}}));
  EXPECT_FALSE(possible(with([](auto& tables) { std::swap(tables[0], tables[1]); })));
}

TEST_F(DoubtfulChoice, OfAllPairsCountsEachThatItsGroupsCount) {
  own_.tables.push_back({{1, 2}, {{0, 0, 1, 2}, {}}});
  EXPECT_TRUE(possible(own_.tables, 3));
  const auto only = [&](std::size_t t) { return std::vector{own_.tables[t]}; };
  EXPECT_TRUE(possible(only(1), 3)) << "the doubtful column may be one group";
  EXPECT_FALSE(possible(only(0), 3)) << "a pair of sure columns is missing";
}

TEST_F(DoubtfulChoice, WithoutDoubtIsItsOwn) {
  own_.columns_in_doubt.assign(3, false);
  EXPECT_TRUE(possible(own_.tables));
  EXPECT_FALSE(possible(with([](auto& tables) { tables[0].groups[1] = {0, 1, 1, 2}; })));
}

}  // namespace
}  // namespace muffle::pair_graph
