// What is peculiar to second moments: exact products, and the norm of z in integers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "features/features_fixture.hpp"
#include "reference/moments_reference.hpp"
#include "support/expect_error.hpp"
#include "support/maps.hpp"

namespace muffle::features {
namespace {

using test::MapKeys;
using test::schema_of;

TEST(MomentsBlock, EqualsAPlainLoopOver128BitIntegers) {
  struct Case {
    MapKeys settings;
    std::vector<std::size_t> shape;
  };
  for (const Case& c : {Case{{{"coefficients", "4"}}, {1, 12, 10}},
                        {{}, {3, 8, 8}},
                        {{{"bits", "20"}}, {7}},
                        {{{"lift", "fourier"}, {"coefficients", "16"}, {"bits", "12"}}, {2}},
                        {{{"lift", "hermite"}, {"coefficients", "6"}}, {2}}}) {
    const auto map = test::make_moments(c.settings, schema_of(c.shape));
    const Records records(700, map->dims(), 3);
    EXPECT_EQ(sums_of(*map->make_block({}), records, 3),
              reference::moment_sums(map->second_moments()->moments(), records.x, records.y, 3));
  }
}

// The largest sums that a tile can make, half of what becomes integers again (2^51): 1024 x 2^40 = 2^50.
TEST(MomentsBlock, AFullTileOfEqualRecordsIsExact) {
  const auto map = test::make_moments({{"bits", "20"}}, schema_of({2}));
  const auto block = map->make_block({});
  Records records(block->tile(), 2, 1);
  for (std::size_t i = 0; i < records.x.size(); ++i) records.x[i] = i % 2 == 0 ? 1.0f : 0.25f;
  EXPECT_EQ(sums_of(*block, records, 1),
            reference::moment_sums(map->second_moments()->moments(), records.x, records.y, 1));
}

// One bad record at each place of a class's groups: the others keep theirs.
TEST(MomentsBlock, ARefusedRecordTakesNobodysPlace) {
  const auto map = test::make_moments({}, schema_of({1, 6, 5}));
  const auto block = map->make_block({});
  for (std::size_t n = 1; n <= 9; ++n) {
    for (std::size_t bad = 0; bad < n; ++bad) {
      Records records(n, block->dims(), 1);
      Records others = records;
      others.x.erase(others.x.begin() + static_cast<std::ptrdiff_t>(bad * records.dims),
                     others.x.begin() + static_cast<std::ptrdiff_t>((bad + 1) * records.dims));
      others.y.pop_back();
      records.x[bad * records.dims + 7] =
          bad % 2 == 0 ? std::nanf("") : std::numeric_limits<float>::infinity();
      std::vector<std::uint64_t> sums(map->features());
      EXPECT_EQ(block->accumulate(records.x.data(), records.y.data(), n, *block->make_workspace(), sums), 1u);
      EXPECT_EQ(sums, reference::moment_sums(map->second_moments()->moments(), others.x, others.y, 1))
          << n << " " << bad;
    }
  }
}

TEST(MomentsBlock, NormsAreCheckedToTheLastInteger) {
  for (const int bits : {8, 16, 20}) {
    const double most = std::ldexp(1.0, bits);
    EXPECT_TRUE(within_norm(std::vector{most}, bits)) << "2^bits itself";
    EXPECT_TRUE(within_norm(std::vector{-most, 0.0}, bits));
    EXPECT_FALSE(within_norm(std::vector{most + 1}, bits));
    EXPECT_FALSE(within_norm(std::vector{most, 1.0}, bits)) << "one above 2^(2 bits)";
    EXPECT_TRUE(within_norm(std::vector<double>(4, most / 2), bits)) << "2^(2 bits) in four parts";
    EXPECT_FALSE(within_norm(std::vector{most / 2, most / 2, most / 2, most / 2, -1.0}, bits));
    EXPECT_TRUE(within_norm(std::vector{most - 1, std::floor(std::sqrt(2 * most - 1))}, bits))
        << "just below";
    EXPECT_FALSE(within_norm(std::vector{most - 1, std::floor(std::sqrt(2 * most - 1)) + 1}, bits));
  }
  EXPECT_FALSE(within_norm(std::vector{1.0, std::nan("")}, 16));
  EXPECT_FALSE(within_norm(std::vector{-std::numeric_limits<double>::infinity()}, 16));
  EXPECT_FALSE(within_norm(std::vector<double>(8001, 0x1p20), 20)) << "the most that z can have";
}

TEST(MomentsBlock, EntriesBesideTheDiagonalStandForTwo) {
  const auto map = test::make_moments({}, schema_of({4}));
  const auto runs = map->coordinates({});
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0], (CoordinateRun{5, 0x1p32}));
  EXPECT_EQ(runs[1].count, 10u);
  EXPECT_GE(static_cast<long double>(runs[1].unit) * std::sqrt(2.0L), 0x1p32L) << "rounded up";
  for (std::size_t i = 0, next = 5; i < 5; ++i) {
    EXPECT_EQ(SecondMoments::index(5, i, i), i);
    for (std::size_t j = i + 1; j < 5; ++j, ++next) {
      EXPECT_EQ(SecondMoments::index(5, i, j), next);
      EXPECT_EQ(SecondMoments::index(5, j, i), next);
    }
  }
}

TEST(MomentsBlock, OverflowNamesTheBits) {
  const auto map = test::make_moments({{"bits", "20"}}, schema_of({4}));
  map->require_no_overflow((1ull << 22) - 1, {});
  test::expect_error(ExitCode::kConfig, {"4194304 records", "2^22", "bits"},
                     [&] { map->require_no_overflow(1ull << 22, {}); });
}

}  // namespace
}  // namespace muffle::features
