// The guarded accumulator (muffle/features/accumulator.hpp): whatever a block hands it, no record adds more
// than the block's guard allows.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "features/outer_products.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/block.hpp"

namespace muffle::features {
namespace {

using Hand = std::function<void(Accumulator&)>;

/// A block that does with the accumulator what a test says.
class Handing final : public Block {
 public:
  Handing(std::size_t features, Guard guard, Hand hand)
      : features_(features), guard_(guard), hand_(std::move(hand)) {}
  std::size_t dims() const override { return 1; }
  std::size_t features() const override { return features_; }
  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Workspace>(); }
  std::size_t tile() const override { return 300; }
  Guard guard() const override { return guard_; }
  void embed(const float*, const std::int32_t*, std::size_t, Workspace&, Accumulator& sums) const override {
    hand_(sums);
  }

 private:
  std::size_t features_;
  Guard guard_;
  Hand hand_;
};

struct Added {
  std::vector<std::uint64_t> sums;
  std::uint64_t records = 0;
};

constexpr std::size_t kClasses = 3;

/// What is in the sums after that, of as many records as the block is told of.
Added added(std::size_t features, Guard guard, const Hand& hand, std::size_t records = 1) {
  const Handing block(features, guard, hand);
  Added out{std::vector<std::uint64_t>(kClasses * features), 0};
  Workspace scratch;
  out.records = records - block.accumulate(nullptr, nullptr, records, scratch, out.sums);
  return out;
}

bool takes(const std::vector<std::int32_t>& values, Guard guard, std::int32_t label = 1) {
  const Added a = added(values.size(), guard, [&](Accumulator& sums) {
    sums.add({values.data(), values.size(), values.size()}, std::span(&label, 1));
  });
  std::vector<std::uint64_t> expected(kClasses * values.size());
  if (a.records == 1) {
    for (std::size_t i = 0; i < values.size(); ++i)
      expected[static_cast<std::size_t>(label) * values.size() + i] =
          static_cast<std::uint64_t>(std::int64_t{values[i]});
  }
  EXPECT_EQ(a.sums, expected) << "all of a record or nothing";
  return a.records == 1;
}

TEST(Accumulator, TakesWhatKeepsToTheNormToTheLastUnit) {
  const Guard guard = Guard::of({8});  // squared norm at most 2^16
  EXPECT_TRUE(takes({255, 22, 5, -1}, guard)) << "255^2 + 22^2 + 5^2 + 1 = 65535";
  EXPECT_TRUE(takes({255, 22, 5, -1, 1}, guard)) << "65536";
  EXPECT_FALSE(takes({255, 22, 5, -1, 1, 1}, guard));
  EXPECT_FALSE(takes({255, 23}, guard));
  EXPECT_TRUE(takes({-255, 0}, guard));
  EXPECT_FALSE(takes({256, 0}, guard)) << "no lattice value";
  EXPECT_FALSE(takes({INT32_MIN, 0}, guard)) << "what NaN is made";
}

TEST(Accumulator, SquaresThatWouldWrapAroundAreRefused) {
  const Guard guard = Guard::of({});
  EXPECT_FALSE(takes(std::vector<std::int32_t>(1 << 16, 1 << 24), guard)) << "2^64: 0 as 64 bits have it";
  EXPECT_FALSE(takes(std::vector<std::int32_t>(1 << 17, (1 << 24) - 1), guard));
  EXPECT_TRUE(takes(std::vector<std::int32_t>(1 << 16, 1 << 16), guard)) << "2^48, in several stretches";
}

TEST(Accumulator, TheSignIsCheckedWhereTheKernelRestsOnIt) {
  EXPECT_TRUE(takes({3, 0, 4}, Guard::of({8}, true)));
  EXPECT_FALSE(takes({3, -1, 4}, Guard::of({8}, true)));
  EXPECT_TRUE(takes({3, -1, 4}, Guard::of({8}, false)));
}

TEST(Accumulator, RecordsWithoutAClassAddNothing) {
  for (const std::int32_t label : {-1, 3, INT32_MIN, INT32_MAX})
    EXPECT_FALSE(takes({1}, Guard::of({}), label));
}

TEST(Accumulator, RunsAreAddedSideBySideClassByClass) {
  // Two records of 2 x 2 numbers, 3 apart, 6 from record to record.
  const std::vector<std::int32_t> values{1, 2, 0, 3, 4, 0, 10, 20, 0, 300, 40, 0, 5, 6, 0, 7, 8, 0};
  const std::vector<std::int32_t> labels{2, 2, 2};
  const Added a = added(
      4, Guard::of({8}),
      [&](Accumulator& sums) {
        sums.add({values.data(), 6, 2, 2, 3}, labels);
      },
      3);
  EXPECT_EQ(a.records, 2u) << "the second is too long";
  EXPECT_EQ(a.sums, (std::vector<std::uint64_t>{0, 0, 0, 0, 0, 0, 0, 0, 6, 8, 10, 12}));
}

TEST(Accumulator, ProductsAreTakenOfShortVectorsAlone) {
  OuterProducts products(4, 2, best_kernels());
  const Added a = added(
      3, Guard::of({8}),
      [&](Accumulator& sums) {
        EXPECT_TRUE(sums.take(std::vector<double>{3, -4}, products));
        EXPECT_FALSE(sums.take(std::vector<double>{256, 1}, products));
        EXPECT_FALSE(sums.take(std::vector<double>{std::nan(""), 1}, products));
        EXPECT_TRUE(sums.take(std::vector<double>{0, 256}, products));
        sums.add(products, 1);
        sums.add(products, 1);  // empty
      },
      4);
  EXPECT_EQ(a.records, 2u);
  EXPECT_EQ(a.sums,
            (std::vector<std::uint64_t>{0, 0, 0, 9, 16 + 65536, static_cast<std::uint64_t>(-12), 0, 0, 0}));
}

TEST(Accumulator, ARecordIsInOneCellOfEachTableAndItsUnitsKeepToTheNorm) {
  const CellUnits units({{0, 2, 3}, {2, 3, 4}});
  const std::vector<std::int32_t> labels{0, 2};
  const auto into = [&](std::uint32_t cell) {
    return [&, cell](Accumulator& sums) {
      sums.add(units, labels, [&](std::size_t t, std::uint32_t* cells) {
        cells[0] = 0;
        cells[1] = t == 0 ? 1 : cell;
      });
    };
  };
  EXPECT_EQ(added(5, Guard::of({8}), into(2), 2).sums,
            (std::vector<std::uint64_t>{3, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 4}));
  EXPECT_THROW(added(5, Guard::of({8}), into(3), 2), InvariantError) << "the next class's cell";
  EXPECT_NO_THROW(added(5, {8, 25, true}, into(2), 2));
  EXPECT_THROW(added(5, {8, 24, true}, into(2), 2), InvariantError) << "5 is above the root of 24";
  EXPECT_THROW(added(6, Guard::of({8}), into(2), 2), InvariantError) << "of another map";
  EXPECT_THROW(CellUnits({{0, 2, 3}, {1, 3, 4}}), InvariantError) << "a cell of both would get both";
  EXPECT_THROW(CellUnits({{0, 2, 0}}), InvariantError);
  EXPECT_THROW(CellUnits({{0, 2, -3}}), InvariantError) << "negative";
}

TEST(Accumulator, AGuardBeyondTheLatticeIsABug) {
  const Hand nothing = [](Accumulator&) {};
  EXPECT_NO_THROW(added(1, Guard::of({24}), nothing));
  EXPECT_THROW(added(1, Guard::of({25}), nothing), InvariantError);
  EXPECT_THROW(added(1, {24, ~std::uint64_t{0}, false}, nothing), InvariantError);
}

}  // namespace
}  // namespace muffle::features
