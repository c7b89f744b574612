#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "features/features_fixture.hpp"
#include "reference/rff_reference.hpp"
#include "support/expect_error.hpp"

namespace muffle::features {
namespace {

constexpr std::size_t kClasses = 3;

RffSpec spec_of(std::size_t dims, std::size_t features, double length_scale = 1.0) {
  return {.dims = dims, .features = features, .length_scale = length_scale, .seed = 3};
}

TEST(Lattice, RefusesSumsThatCouldOverflow) {
  EXPECT_NO_THROW(require_no_overflow((std::uint64_t{1} << 38) - 1, Lattice{24}));
  EXPECT_NO_THROW(require_no_overflow((std::uint64_t{1} << 54) - 1, Lattice{8}));
  for (const auto& [records, bits] : {std::pair{std::uint64_t{1} << 38, 24},
                                      {std::uint64_t{1} << 54, 8},
                                      {~std::uint64_t{0}, 24},
                                      {std::uint64_t{1}, 25},
                                      {std::uint64_t{1}, 7}}) {
    EXPECT_THROW(require_no_overflow(records, Lattice{bits}), ConfigError) << records << " " << bits;
  }
  test::expect_error(ExitCode::kConfig, {"1099511627776 records", "below 2^38"},
                     [] { require_no_overflow(std::uint64_t{1} << 40, Lattice{24}); });
}

TEST(RffBlock, AgreesWithADoublePrecisionLoop) {
  for (const auto& [dims, features, length] : {std::tuple<std::size_t, std::size_t, double>{1, 2, 0.3},
                                               {2, 60, 0.7},
                                               {50, 334, 2.0},
                                               {784, 200, 11.3}}) {
    const RffSpec spec = spec_of(dims, features, length);
    const auto omega = rff_frequencies(spec);
    const auto block = make_rff_block(spec, Lattice{24});
    const Records records(20, dims, 1);
    const reference::RffReference reference{omega, dims, static_cast<double>(Lattice{24}.scale())};
    for (std::size_t i = 0; i < records.n; ++i) {
      const float* x = records.x.data() + i * dims;
      const auto values = features_of(*block, x);
      for (std::size_t j = 0; j < features; ++j) {
        ASSERT_NEAR(static_cast<double>(values[j]), reference.feature(x, j), reference.tolerance(x, j))
            << dims << " " << j;
      }
    }
  }
}

TEST(RffBlock, EveryInstructionSetGivesTheSameSums) {
  for (const auto& [dims, features] : {std::pair<std::size_t, std::size_t>{1, 2}, {3, 94}, {784, 250}}) {
    const Records records(53, dims, kClasses);
    const RffSpec spec = spec_of(dims, features, 0.9);
    const auto expected =
        sums_of(*make_rff_block(spec, Lattice{24}, *supported_kernels().front()), records, kClasses);
    for (const Kernels* kernels : supported_kernels()) {
      EXPECT_EQ(sums_of(*make_rff_block(spec, Lattice{24}, *kernels), records, kClasses), expected)
          << kernels->name;
    }
  }
}

TEST(RffBlock, SumsKeepTheirBitsForEver) {
  EXPECT_EQ(sha256_of(sums_of(*make_rff_block(spec_of(20, 300), Lattice{24}), Records(200, 20, kClasses),
                              kClasses)),
            "1098a9b13913f91b279eea734254cf41951999f7d1b28e1eea8c1ec50d4301e8");
}

TEST(RffBlock, NanAndInfinityContributeNothingAndDisturbNobody) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const Kernels* kernels : supported_kernels()) {
    const auto block = make_rff_block(spec_of(5, 64), Lattice{24}, *kernels);
    for (const float bad : {std::nanf(""), kInf, -kInf, std::numeric_limits<float>::max()}) {
      Records records(20, 5, kClasses);
      Records good = records;
      // A huge but finite value overflows to an infinite phase only if its products do.
      for (std::size_t c = 0; c < 5; ++c) records.x[7 * 5 + c] = bad * 100.0f;
      good.y[7] = schema::kNoClass;
      const auto workspace = block->make_workspace();
      std::vector<std::uint64_t> sums(kClasses * 64);
      EXPECT_EQ(block->accumulate(records.x.data(), records.y.data(), 20, *workspace, sums), 1u);
      EXPECT_EQ(sums, sums_of(*block, good, kClasses)) << kernels->name << " " << bad;
    }
  }
}

TEST(RffBlock, AManyNanRecordsSquaresDoNotWrapToAPassingNorm) {
  // 4 n squares of 2^62 are 0 modulo 2^64: D = 65536 NaN features must still be refused.
  const auto block = make_rff_block(spec_of(1, 1 << 16), Lattice{24});
  const std::vector<float> x = {std::nanf("")};
  EXPECT_THAT(features_of(*block, x.data()), testing::Each(0));
}

// The scale leaves room for every rounding error: the bound of rff_lattice_scale(), evaluated in long double.
TEST(RffScale, NoFinitePhaseCanBeRejected) {
  for (int bits = 8; bits <= 24; ++bits) {
    for (const std::size_t features : {2u, 4u, 6u, 510u, 10000u, 80000u, 1000002u}) {
      const long double scale = rff_lattice_scale(features, Lattice{bits});
      const long double longest_pair = 1.0L + 0x1p-22L, product = 1.0L + 0x1p-24L;
      const long double norm2 = features / 2 * longest_pair * (scale * product) * (scale * product);
      EXPECT_LE(norm2, static_cast<long double>(Lattice{bits}.max_squared_norm())) << features << " " << bits;
      EXPECT_GE(scale * std::sqrt(features / 2.0L), Lattice{bits}.scale() * (1.0L - 0x1p-20L)) << "wasteful";
    }
  }
}

TEST(RffScale, RandomRecordsAreNeverRejected) {
  for (const std::size_t features : {2u, 16u, 1000u}) {
    const auto block = make_rff_block(spec_of(1, features, 1e-3), Lattice{24});
    const Records records(4800, 1, 1);
    std::vector<std::uint64_t> sums(features);
    const auto workspace = block->make_workspace();
    for (std::size_t i = 0; i < records.n; i += 48) {
      EXPECT_EQ(block->accumulate(records.x.data() + i, records.y.data() + i, 48, *workspace, sums), 0u);
    }
  }
}

// The bound 2 is tight: of a single frequency of half a turn, x = 0 and x = 1 have opposite features. (That
// no pair passes it: map_conformance_test.cpp.)
TEST(RffSensitivity, AntipodalRecordsReachTheBoundAndDoNotPassIt) {
  const double normal = CounterStream(3, Stream::kFrequencies).normal(0);
  const auto block = make_rff_block(spec_of(1, 2, std::fabs(normal) / std::numbers::pi), Lattice{24});
  const float zero = 0.0f, one = 1.0f;
  const auto a = features_of(*block, &zero), b = features_of(*block, &one);
  std::uint64_t squares = 0;
  for (std::size_t j = 0; j < a.size(); ++j)
    squares += static_cast<std::uint64_t>((a[j] - b[j]) * (a[j] - b[j]));
  EXPECT_LE(squares, 4 * Lattice{24}.max_squared_norm());
  EXPECT_GE(std::sqrt(static_cast<double>(squares)), 2 * 0x1p24 * (1 - 1e-6));
}

}  // namespace
}  // namespace muffle::features
