// What is peculiar to the maps of a table's mixed columns (muffle/features/mixed.hpp).
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "features/features_fixture.hpp"
#include "muffle/features/mixed.hpp"
#include "muffle/schema/table_text.hpp"
#include "support/expect_error.hpp"
#include "support/maps.hpp"

namespace muffle::features {
namespace {

using test::table_schema;

/// Integers 0 to 9 in bins of 1, 2, 3 and 4; 0 to 5 in bins of 1, 2 and 3, or missing; three categories.
const schema::Schema& mixed_schema() {
  static const schema::Schema schema = table_schema({4, 4, 3}, 2, 2);
  return schema;
}

TEST(MixedLayout, TakesATableApart) {
  const MixedLayout layout(*mixed_schema().table);
  ASSERT_EQ(layout.dims, 3u);
  ASSERT_EQ(layout.numbers.size(), 2u);
  ASSERT_EQ(layout.categories.size(), 2u);
  EXPECT_EQ(layout.numbers[1].column, 1u);
  EXPECT_TRUE(layout.categories[0].presence);
  EXPECT_EQ(layout.categories[0].column, 1u);
  EXPECT_EQ(layout.categories[1].column, 2u);
  EXPECT_EQ(layout.categories[1].first, 2u);
  EXPECT_EQ(layout.entries, 5u);
  EXPECT_EQ(layout.width(), 7u);
}

/// Value v of a grid of n values is (v + 1/2) / n, whatever the bins, and comes back from there.
TEST(MixedLayout, NumbersAreTheGridsValuesAndBack) {
  const MixedLayout layout(*mixed_schema().table);
  for (const MixedLayout::Number& number : layout.numbers) {
    const schema::Grid grid(mixed_schema().table->columns[number.column]);
    for (std::uint64_t v = 0; v < grid.count(); ++v) {
      const float position = schema::position(grid.cell(v), number.codes);
      const double scaled = (static_cast<double>(v) + 0.5) / static_cast<double>(grid.count());
      EXPECT_NEAR(number.number(position), scaled, 1e-6);
      const schema::Cell back = schema::cell_at(number.position(scaled), number.codes);
      EXPECT_EQ(grid.index_of(back), v);
    }
    for (const double end : {-0.1, 0.0, 1.0, 1.1}) {
      const schema::Cell cell = schema::cell_at(number.position(end), number.codes);
      EXPECT_EQ(grid.index_of(cell), end < 0.5 ? 0 : grid.count() - 1);
      EXPECT_LT(cell.code, number.knots.size() - 1) << "never the missing value";
    }
  }
  const float missing = schema::position({3, 0.9f}, 4);
  EXPECT_EQ(layout.numbers[1].number(missing), MixedLayout::kMissingNumber);
  EXPECT_EQ(layout.categories[0].entry(missing), 1u);
  EXPECT_EQ(layout.categories[0].entry(schema::position({2, 0.9f}, 4)), 0u);
  EXPECT_EQ(layout.categories[1].entry(1.0f), 2u) << "the upper end is the last code's";
}

TEST(TableNumbers, AreTheVectorMapsOfTheScaledNumbers) {
  const MixedLayout layout(*mixed_schema().table);
  for (const auto& [kind, inner, settings] :
       {std::tuple{"table-rff", "rff", test::MapKeys{{"count", "40"}, {"length_scale", "0.3"}}},
        {"table-hermite", "hermite-sum", {{"order", "9"}}}}) {
    const auto map = test::make_map(kind, settings, mixed_schema()),
               of_vectors = test::make_map(inner, settings, test::schema_of({2}, 2));
    EXPECT_EQ(map->bound().norm, of_vectors->bound().norm);
    EXPECT_NE(map->hash(), of_vectors->hash());
    const Records records(map->make_block({})->tile(), 3, 2);
    Records numbers(records.n, 2, 2);
    numbers.y = records.y;
    for (std::size_t i = 0; i < records.n; ++i) {
      for (std::size_t j = 0; j < 2; ++j)
        numbers.x[2 * i + j] = static_cast<float>(layout.numbers[j].number(records.row(i)[j]));
    }
    EXPECT_EQ(sums_of(*map->make_block({}), records, 2), sums_of(*of_vectors->make_block({}), numbers, 2));
  }
}

/// k = 2 columns of d = 5 entries: 1/sqrt(5) each, so records that share nothing are sqrt(2) sqrt(2/5) apart.
TEST(OneHot, HasItsExactBound) {
  const auto map = test::make_map("one-hot", {}, mixed_schema());
  EXPECT_DOUBLE_EQ(map->bound().norm, std::sqrt(2.0 / 5.0));
  EXPECT_TRUE(map->bound().nonnegative_kernel);
  const Lattice lattice;
  const auto unit = static_cast<std::int64_t>(std::floor(std::sqrt(0x1p48 / 5)));
  const auto block = map->make_block(lattice);
  const std::vector<float> there{0.1f, 0.1f, 0.1f}, missing{0.1f, 0.9f, 0.9f};
  EXPECT_EQ(features_of(*block, there.data()), (std::vector<std::int64_t>{unit, 0, unit, 0, 0}));
  EXPECT_EQ(features_of(*block, missing.data()), (std::vector<std::int64_t>{0, unit, 0, 0, unit}));
  EXPECT_NEAR(static_cast<double>(unit) / map->scale(lattice), 1 / std::sqrt(5.0), 1e-12);
}

TEST(MixedMaps, SayWhatATableLacks) {
  for (const char* kind : {"table-rff", "table-hermite", "one-hot"}) {
    const test::MapKeys settings =
        std::string(kind) == "table-rff" ? test::MapKeys{{"count", "4"}} : test::MapKeys{};
    test::expect_error(ExitCode::kConfig, {"no table", "data.schema"},
                       [&] { test::make_map(kind, settings, test::schema_of({3})); });
    test::expect_error(ExitCode::kConfig, {"no feature of the table"}, [&] {
      test::make_map(kind, settings, table_schema({4}, 2, std::string(kind) == "one-hot" ? 1 : 0));
    });
  }
}

}  // namespace
}  // namespace muffle::features
