#include "muffle/core/philox.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace muffle {
namespace {

using Words = std::array<std::uint32_t, 4>;

/// The quantile by Newton's method on the long double complementary error function.
long double reference_quantile(double p) {
  const bool lower = p < 0.5;
  const long double tail = lower ? static_cast<long double>(p) : 1.0L - static_cast<long double>(p);
  long double z = 0.0L;
  for (int i = 0; i < 200; ++i) {
    const long double value = 0.5L * std::erfc(z / std::sqrt(2.0L));
    const long double density = std::exp(-0.5L * z * z) / std::sqrt(2.0L * std::acos(-1.0L));
    const long double step = (value - tail) / density;
    z += std::fmax(-0.5L, std::fmin(0.5L, step));
    if (std::fabs(step) < 1e-18L * (1.0L + z)) break;
  }
  return lower ? -z : z;
}

TEST(Philox, MatchesThePublishedKnownAnswers) {
  // Random123, tests/kat_vectors, "philox4x32 10".
  EXPECT_EQ(philox4x32({0, 0}, {0, 0, 0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(CounterStream, TakesTwoValuesFromEachBlock) {
  const std::uint64_t seed = 0x0123456789abcdef;
  const CounterStream stream(seed, Stream::kTest, 7);
  for (const std::uint64_t block : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{1} << 40}) {
    const Words w = philox4x32({0x89abcdef, 0x01234567}, {static_cast<std::uint32_t>(block),
                                                          static_cast<std::uint32_t>(block >> 32), 7, 10});
    EXPECT_EQ(stream.bits(2 * block), std::uint64_t{w[1]} << 32 | w[0]);
    EXPECT_EQ(stream.bits(2 * block + 1), std::uint64_t{w[3]} << 32 | w[2]);
  }
}

TEST(CounterStream, WordsOfManyBlocksAreThoseOfEach) {
  const CounterStream stream(0x0123456789abcdef, Stream::kTest, 7);
  for (const std::size_t n : {0u, 1u, 7u, 8u, 9u, 40u}) {
    std::vector<std::uint64_t> blocks(n);
    for (std::size_t i = 0; i < n; ++i) blocks[i] = i * i * 0x123456789u;
    std::vector<std::uint32_t> words(4 * n);
    const std::uint64_t offset = 0xffffffff;
    stream.words(blocks, offset, words.data());
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t block = blocks[i] + offset;
      EXPECT_EQ(stream.bits(2 * block), std::uint64_t{words[n + i]} << 32 | words[i]);
      EXPECT_EQ(stream.bits(2 * block + 1), std::uint64_t{words[3 * n + i]} << 32 | words[2 * n + i]);
    }
  }
}

TEST(CounterStream, StreamsDifferBySeedPurposeAndSubstream) {
  const std::set<std::uint64_t> firsts{
      CounterStream(1, Stream::kTest).bits(0), CounterStream(2, Stream::kTest).bits(0),
      CounterStream(1ull << 32, Stream::kTest).bits(0), CounterStream(1, Stream::kShuffle).bits(0),
      CounterStream(1, Stream::kTest, 1).bits(0)};
  EXPECT_EQ(firsts.size(), 5u);
}

TEST(CounterStream, UniformIsInsideTheOpenIntervalWithTheRightMoments) {
  const CounterStream stream(3, Stream::kTest);
  constexpr int kDraws = 200000;
  double sum = 0.0, squares = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = stream.uniform(static_cast<std::uint64_t>(i));
    ASSERT_GT(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
  }
  // Five standard errors; the seed is fixed, so this either always holds or never.
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / kDraws));
}

TEST(CounterStream, NormalHasTheRightMoments) {
  const CounterStream stream(4, Stream::kTest);
  constexpr int kDraws = 200000;
  double sum = 0.0, squares = 0.0, fourths = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double z = stream.normal(static_cast<std::uint64_t>(i));
    sum += z;
    squares += z * z;
    fourths += z * z * z * z;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 5 * std::sqrt(1.0 / kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(fourths / kDraws, 3.0, 5 * std::sqrt(96.0 / kDraws));
}

TEST(CounterStream, BelowStaysBelowAndHitsEverything) {
  const CounterStream stream(5, Stream::kTest);
  std::array<int, 7> hits{};
  for (std::uint64_t i = 0; i < 7000; ++i) ++hits.at(stream.below(i, 7));
  for (const int h : hits) EXPECT_NEAR(h, 1000, 150);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(stream.below(i, 1), 0u);
  EXPECT_LT(stream.below(0, std::numeric_limits<std::uint64_t>::max()),
            std::numeric_limits<std::uint64_t>::max());
}

TEST(PortableLog, IsWithinTwoUnitsInTheLastPlaceOfTheLongDoubleLogarithm) {
  const CounterStream stream(6, Stream::kTest);
  const auto check = [](double x) {
    const double got = portable_log(x);
    const long double want = std::log(static_cast<long double>(x));
    const double ulp =
        std::nextafter(std::fabs(got), std::numeric_limits<double>::infinity()) - std::fabs(got);
    EXPECT_LE(std::fabs(static_cast<double>(static_cast<long double>(got) - want)), 2.0 * ulp) << x;
  };
  for (const double x : {0x1p-1022, 0x1p-53, 0.5, 0.70710678118654746, 0.70710678118654757, 0.99,
                         1.0 - 0x1p-53, 1.0 + 0x1p-52, 1.01, 1.4142135623730949, 1.4142135623730951,
                         1.4142135623730954, 2.0, 10.0, 0x1.fffffffffffffp1023}) {
    check(x);
  }
  for (std::uint64_t i = 0; i < 100000; ++i) {
    check(std::ldexp(0.5 + stream.uniform(2 * i), static_cast<int>(stream.below(2 * i + 1, 200)) - 100));
  }
  EXPECT_EQ(portable_log(1.0), 0.0);
}

TEST(NormalQuantile, MatchesTheInverseOfErfc) {
  const CounterStream stream(7, Stream::kTest);
  const auto check = [](double p) {
    const long double want = reference_quantile(p);
    const double allowed = 1e-15 * std::fmax(1.0, static_cast<double>(std::fabs(want)));
    EXPECT_NEAR(static_cast<double>(static_cast<long double>(normal_quantile(p)) - want), 0.0, allowed) << p;
  };
  // The seams of the three rational functions: |p - 1/2| = 0.425, and tails of exp(-25).
  for (const double p :
       {0x1p-53, 1e-15, 1.3887943864964020e-11, 1.3887943864964022e-11, 1e-6, 0.0749999, 0.075, 0.0750001,
        0.25, 0.4999, 0.5001, 0.75, 0.925, 0.9250001, 0.999, 1.0 - 1e-9, 1.0 - 0x1p-53}) {
    check(p);
  }
  for (std::uint64_t i = 0; i < 20000; ++i) check(stream.uniform(i));
  for (std::uint64_t i = 0; i < 2000; ++i) check(std::exp(-36.0 * stream.uniform(20000 + i)));
  EXPECT_EQ(normal_quantile(0.5), 0.0);
}

TEST(NormalQuantile, IsOddAndIncreasing) {
  double last = -std::numeric_limits<double>::infinity();
  for (int i = 1; i < 4096; ++i) {
    const double p = i / 4096.0;
    const double z = normal_quantile(p);
    EXPECT_GT(z, last);
    EXPECT_EQ(z, -normal_quantile(1.0 - p));
    last = z;
  }
}

}  // namespace
}  // namespace muffle
