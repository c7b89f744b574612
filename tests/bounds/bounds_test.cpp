#include "muffle/bounds/bounds.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "muffle/core/error.hpp"

namespace muffle::bounds {
namespace {

TEST(Weighted, AWeightOfOneChangesNothingAndOthersAreRoundedToMoreNoise) {
  const BlockBound bound{0.7, true, "as proven"};
  EXPECT_EQ(weighted(bound, 1.0).theorem, "as proven");
  EXPECT_EQ(weighted(std::vector<CoordinateRun>{{3, 5.0}}, 1.0), (std::vector<CoordinateRun>{{3, 5.0}}));
  for (const double weight : {0.1, 1.0 / 3.0, 7.7}) {
    const BlockBound scaled = weighted(bound, weight);
    EXPECT_GE(static_cast<long double>(scaled.norm), 0.7L * static_cast<long double>(weight) * (1 - 1e-16L));
    EXPECT_LE(scaled.norm, 0.7 * weight * (1 + 1e-15));
    EXPECT_EQ(scaled.scale, weight);
    EXPECT_TRUE(scaled.nonnegative_kernel) << "a positive factor keeps the sign";
    EXPECT_NE(scaled.theorem.find("as proven"), std::string::npos);
    const auto runs = weighted(std::vector<CoordinateRun>{{3, 5.0}}, weight);
    EXPECT_GE(static_cast<long double>(runs[0].unit) * static_cast<long double>(weight), 5.0L * (1 - 1e-16L));
  }
  for (const double bad : {0.0, -1.0, 1e7, std::nan("")}) EXPECT_THROW(weighted(bound, bad), ConfigError);
}

TEST(Lattice, OverflowIsRefusedBeforeItCanHappen) {
  EXPECT_NO_THROW(require_no_overflow((std::uint64_t{1} << 38) - 1, {24}));
  EXPECT_THROW(require_no_overflow(std::uint64_t{1} << 38, {24}), ConfigError);
  EXPECT_THROW(require_no_overflow(1, {25}), ConfigError);
  EXPECT_THROW(require_no_overflow(1, {7}), ConfigError);
  EXPECT_EQ(Lattice{8}.scale(), 255);
  EXPECT_EQ(Lattice{8}.max_squared_norm(), 65536u);
}

}  // namespace
}  // namespace muffle::bounds
