#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>

#include "features/features_fixture.hpp"
#include "muffle/features/lift.hpp"

namespace muffle::features {
namespace {

/// Runs one variant's kernel on phases given in quarter turns; cosines first, then sines.
std::vector<std::int32_t> features_of_phases(const Kernels& kernels, std::vector<float> phases, float scale) {
  const std::size_t panels = (phases.size() + kernels.panel - 1) / kernels.panel,
                    half = panels * kernels.panel;
  const std::size_t n = phases.size();
  phases.resize(half);
  std::vector<float> records(kernels.group);
  records[0] = 1.0f;
  std::vector<std::int32_t> all(kernels.group * 2 * half);
  kernels.rff(phases.data(), panels, 1, records.data(), 1, scale, all.data());
  std::vector<std::int32_t> out(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
  out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(half),
             all.begin() + static_cast<std::ptrdiff_t>(half + n));
  return out;
}

TEST(Kernel, EveryVariantGivesTheSameFeatures) {
  const auto phases = awkward_phases(20000);
  const auto expected = features_of_phases(*supported_kernels().front(), phases, 0x1p24f);
  for (const Kernels* kernels : supported_kernels()) {
    EXPECT_EQ(features_of_phases(*kernels, phases, 0x1p24f), expected) << kernels->name;
  }
}

TEST(Kernel, QuadrantsAreExact) {
  // Quarter turns 0, 1, 2, 3 and a large multiple of them.
  const std::vector<float> phases = {0, 1, 2, 3, -1, -2, -3, 0x1p22f, 0x1p22f + 1, 0x1p22f + 2, 0x1p22f + 3};
  const std::vector<std::int32_t> cosines = {1, 0, -1, 0, 0, -1, 0, 1, 0, -1, 0},
                                  sines = {0, 1, 0, -1, -1, 0, 1, 0, 1, 0, -1};
  std::vector<std::int32_t> expected = cosines;
  expected.insert(expected.end(), sines.begin(), sines.end());
  for (const Kernels* kernels : supported_kernels())
    EXPECT_EQ(features_of_phases(*kernels, phases, 1.0f), expected);
}

// The bound that rff_lattice_scale() is built on. Scale 2^30 makes the integers the exact float32 values.
// Every float in 2^-31 .. 1/2 was walked through once (largest excess 1.259e-7, at 0x1.d31ae6p-2); here every
// 61st, and the neighbourhood of the worst.
TEST(Kernel, CosineAndSineAreAccurateAndBarelyLongerThanOne) {
  const std::uint32_t first = std::bit_cast<std::uint32_t>(0x1p-14f),
                      last = std::bit_cast<std::uint32_t>(0.5f);
  const std::uint32_t worst = std::bit_cast<std::uint32_t>(0x1.d31ae6p-2f);
  std::vector<float> phases;
  for (std::uint32_t bits = first; bits <= last; bits += 61) phases.push_back(std::bit_cast<float>(bits));
  for (std::uint32_t bits = worst - 1000; bits <= worst + 1000; ++bits)
    phases.push_back(std::bit_cast<float>(bits));
  const auto features = features_of_phases(best_kernels(), phases, 0x1p30f);
  double excess = 0, error = 0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const double c = features[i] * 0x1p-30, s = features[phases.size() + i] * 0x1p-30;
    excess = std::max(excess, c * c + s * s - 1);
    const double angle = phases[i] * (std::numbers::pi / 2);
    error = std::max({error, std::fabs(c - std::cos(angle)), std::fabs(s - std::sin(angle))});
  }
  EXPECT_LE(excess, 0x1p-22);
  EXPECT_GT(excess, 0) << "float32 pairs do exceed 1; if not, this test does not see them";
  EXPECT_LE(error, 6e-8);
}

TEST(Kernel, ADotProductIsOneChainOfFusedMultiplyAdds) {
  constexpr std::size_t kDims = 301;
  for (const Kernels* kernels : supported_kernels()) {
    const CounterStream stream(8, Stream::kTest);
    std::vector<float> frequencies(kDims * kernels->panel), records(kDims * kernels->group);
    for (std::size_t i = 0; i < frequencies.size(); ++i)
      frequencies[i] = static_cast<float>(stream.normal(i) * 0.1);
    for (std::size_t i = 0; i < records.size(); ++i)
      records[i] = static_cast<float>(stream.uniform(100000 + i));
    std::vector<std::int32_t> features(kernels->group * 2 * kernels->panel);
    kernels->rff(frequencies.data(), 1, kDims, records.data(), 1, 0x1p30f, features.data());
    for (std::size_t r = 0; r < kernels->group; ++r) {
      for (std::size_t j = 0; j < kernels->panel; ++j) {
        float chain = 0;
        for (std::size_t c = 0; c < kDims; ++c) {
          chain = std::fma(frequencies[c * kernels->panel + j], records[c * kernels->group + r], chain);
        }
        const auto expected = features_of_phases(*kernels, {chain}, 0x1p30f);
        ASSERT_EQ(features[r * 2 * kernels->panel + j], expected[0]) << kernels->name;
        ASSERT_EQ(features[r * 2 * kernels->panel + kernels->panel + j], expected[1]) << kernels->name;
      }
    }
  }
}

TEST(Kernel, SquaredNormIsExactAndRefusesWhatCouldWrapAround) {
  for (const Kernels* kernels : supported_kernels()) {
    const CounterStream stream(2, Stream::kTest);
    for (const std::size_t n : {1u, 7u, 16u, 100u, 5000u}) {
      std::vector<std::int32_t> values(n);
      std::uint64_t expected = 0;
      for (std::size_t i = 0; i < n; ++i) {
        values[i] =
            static_cast<std::int32_t>(stream.below(i, 1 << 25)) - (1 << 24) + (stream.below(i, 1 << 25) == 0);
        expected += static_cast<std::uint64_t>(std::int64_t{values[i]} * values[i]);
      }
      EXPECT_EQ(kernels->squared_norm(values.data(), n, 24), expected) << kernels->name;
      // Four squares of INT32_MIN add up to 2^64, which looks like 0.
      for (const std::int32_t bad : {INT32_MIN, INT32_MAX, 1 << 24, -(1 << 24)}) {
        std::vector<std::int32_t> spoilt = values;
        spoilt[n / 2] = bad;
        EXPECT_EQ(kernels->squared_norm(spoilt.data(), n, 24), kNotOnLattice) << kernels->name << " " << bad;
      }
    }
    const std::vector<std::int32_t> all_nan(4096, INT32_MIN);
    EXPECT_EQ(kernels->squared_norm(all_nan.data(), all_nan.size(), 24), kNotOnLattice);
    const std::vector<std::int32_t> largest(kMaxNormChunk, (1 << 24) - 1);
    const std::uint64_t square = std::uint64_t{(1 << 24) - 1} * ((1 << 24) - 1);
    EXPECT_EQ(kernels->squared_norm(largest.data(), largest.size(), 24), square * kMaxNormChunk);
  }
}

TEST(Kernel, AddedRowsEqualAnIntegerLoop) {
  for (const Kernels* kernels : supported_kernels()) {
    for (const std::size_t n : {1u, 63u, 64u, 200u}) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{5}, kMaxAddRows}) {
        const CounterStream stream(3, Stream::kTest);
        std::vector<std::vector<std::int32_t>> rows(count, std::vector<std::int32_t>(n));
        std::vector<const std::int32_t*> pointers;
        // Starts near the end of its range, to see that sums wrap modulo 2^64; the first column is as large
        // as allowed.
        std::vector<std::uint64_t> sums(n, ~std::uint64_t{0} - 100), expected = sums;
        for (std::size_t i = 0; i < count; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            rows[i][j] =
                j == 0 ? 1 << 24 : static_cast<std::int32_t>(stream.below(i * n + j, 1 << 25)) - (1 << 24);
            expected[j] += static_cast<std::uint64_t>(std::int64_t{rows[i][j]});
          }
          pointers.push_back(rows[i].data());
        }
        kernels->add_rows(pointers.data(), count, n, sums.data());
        EXPECT_EQ(sums, expected) << kernels->name << " " << n << " x " << count;
      }
    }
  }
}

TEST(Kernel, AProductIsChainsThatAreNotFused) {
  constexpr std::size_t kRows = 5, kInner = 29;
  const CounterStream stream(9, Stream::kTest);
  for (const Kernels* kernels : supported_kernels()) {
    for (std::size_t vectors = 1; vectors <= 9; ++vectors) {
      const std::size_t columns = vectors * kernels->lanes;
      std::vector<double> a(kRows * kInner), b(kInner * columns), c(kRows * columns, 1.0);
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = stream.normal(i);
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = stream.normal(1000 + i);
      kernels->product(a.data(), kRows, kInner, b.data(), columns, c.data());
      for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t j = 0; j < columns; ++j) {
          double chain = 0;
          for (std::size_t i = 0; i < kInner; ++i) chain += a[r * kInner + i] * b[i * columns + j];
          ASSERT_EQ(c[r * columns + j], chain) << kernels->name << " " << r << " " << j;
        }
      }
    }
  }
}

// Every order about the panels' and vectors' edges; the first product of a class starts near the end of its
// range.
TEST(Kernel, AGramAddsEveryPairOnce) {
  constexpr std::size_t kCapacity = 16;
  const CounterStream stream(10, Stream::kTest);
  for (const Kernels* kernels : supported_kernels()) {
    for (std::size_t order = 1; order <= 55; ++order) {
      const std::size_t panel = kernels->gram_panel, panels = (order + panel - 1) / panel;
      std::vector<double> z(panels * panel * kCapacity);
      const auto at = [&](std::size_t r, std::size_t i) -> double& {
        return z[(i / panel * kCapacity + r) * panel + i % panel];
      };
      const std::size_t records = 1 + order % kCapacity;
      for (std::size_t r = 0; r < kCapacity; ++r) {
        // What lies beyond `records` is of an earlier call.
        for (std::size_t i = 0; i < order; ++i)
          at(r, i) = static_cast<double>(stream.below(r * order + i, 1 << 21)) - 0x1p20;
      }
      std::vector<std::uint64_t> sums(order * (order + 1) / 2, ~std::uint64_t{0} - 100), expected = sums;
      for (std::size_t r = 0; r < records; ++r) {
        for (std::size_t i = 0; i < order; ++i) {
          for (std::size_t j = i; j < order; ++j)
            expected[SecondMoments::index(order, i, j)] +=
                static_cast<std::uint64_t>(static_cast<std::int64_t>(at(r, i) * at(r, j)));
        }
      }
      kernels->add_gram(z.data(), kCapacity, records, order, sums.data());
      ASSERT_EQ(sums, expected) << kernels->name << " " << order;
    }
  }
}

TEST(Kernel, AGramOfTheLargestTileIsExact) {
  constexpr std::size_t kRecords = 1024, kOrder = 5;
  for (const Kernels* kernels : supported_kernels()) {
    std::vector<double> z(kernels->gram_panel * kRecords);
    for (std::size_t r = 0; r < kRecords; ++r) {
      for (std::size_t i = 0; i < kOrder; ++i) z[r * kernels->gram_panel + i] = i % 2 == 0 ? 0x1p20 : -0x1p20;
    }
    std::vector<std::uint64_t> sums(kOrder * (kOrder + 1) / 2);
    kernels->add_gram(z.data(), kRecords, kRecords, kOrder, sums.data());
    for (std::size_t i = 0; i < kOrder; ++i) {
      for (std::size_t j = i; j < kOrder; ++j) {
        const std::uint64_t size = std::uint64_t{1} << 50, expected = (i + j) % 2 == 0 ? size : 0 - size;
        EXPECT_EQ(sums[SecondMoments::index(kOrder, i, j)], expected) << kernels->name;
      }
    }
  }
}

TEST(Kernel, SubtractsInDoubles) {
  const CounterStream stream(11, Stream::kTest);
  for (const Kernels* kernels : supported_kernels()) {
    for (const std::size_t n : {1u, 7u, 29u}) {
      std::vector<float> a(n);
      std::vector<double> b(n), out(n), expected(n);
      for (std::size_t i = 0; i < n; ++i) {
        a[i] = static_cast<float>(stream.uniform(i));
        b[i] = stream.uniform(100 + i);
        expected[i] = static_cast<double>(a[i]) - b[i];
      }
      kernels->subtract(a.data(), b.data(), n, out.data());
      EXPECT_EQ(out, expected) << kernels->name;
    }
  }
}

TEST(Kernel, DoubleInnerProductIsTheSameTreeEverywhere) {
  const CounterStream stream(5, Stream::kTest);
  std::vector<double> a(208), b(208);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = stream.normal(i), b[i] = stream.normal(1000 + i);
  std::array<double, 16> lanes{};
  for (std::size_t i = 0; i < a.size(); ++i) lanes[i % 16] += a[i] * b[i];
  for (std::size_t width = 8; width >= 1; width /= 2) {
    for (std::size_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  for (const Kernels* kernels : supported_kernels()) {
    EXPECT_EQ(kernels->dot(a.data(), b.data(), a.size()), lanes[0]) << kernels->name;
  }
}

}  // namespace
}  // namespace muffle::features
