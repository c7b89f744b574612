// What the coordinator sees of a party is uniform noise that says nothing of the party's vector.
//
// Each p-value below comes from a chi-square statistic with at least 225 degrees of freedom and at least 900
// expected in each cell, by the Wilson-Hilferty approximation; a check fails below 1e-10. The tests on honest
// masks run about 200 checks, so that they fail by chance with probability below 1e-7. Each check is shown to
// catch masks that are broken in the way that it looks for.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "crypto/mask_exchange.hpp"

namespace muffle::crypto {
namespace {

using Vector = std::vector<std::uint64_t>;
constexpr double kThreshold = 1e-10;
constexpr std::size_t kLength = std::size_t{1} << 18;  // 32 chunks of the mask's generator

double chi_square_tail(double x, double degrees) {
  const double c = 2.0 / (9.0 * degrees);
  return 0.5 * std::erfc((std::cbrt(x / degrees) - (1 - c)) / std::sqrt(2 * c));
}

unsigned byte_of(std::uint64_t value, int byte) { return static_cast<unsigned>(value >> (8 * byte)) & 255u; }

/// Byte `byte` of the numbers takes each of its 256 values equally often.
double uniform_p(const Vector& values, int byte) {
  std::array<double, 256> seen{};
  for (const std::uint64_t v : values) seen[byte_of(v, byte)] += 1;
  const double expected = static_cast<double>(values.size()) / 256;
  double statistic = 0;
  for (const double s : seen) statistic += (s - expected) * (s - expected) / expected;
  return chi_square_tail(statistic, 255);
}

/// The upper four bits of byte `byte` of the numbers are independent of those of the inputs, which are
/// uniform.
double independent_p(const Vector& values, const Vector& inputs, int byte) {
  std::array<double, 256> seen{};
  for (std::size_t i = 0; i < values.size(); ++i)
    seen[(byte_of(values[i], byte) & 0xF0u) | byte_of(inputs[i], byte) >> 4] += 1;
  std::array<double, 16> rows{}, columns{};
  for (std::size_t cell = 0; cell < 256; ++cell)
    rows[cell >> 4] += seen[cell], columns[cell & 15] += seen[cell];
  double statistic = 0;
  for (std::size_t cell = 0; cell < 256; ++cell) {
    const double expected = rows[cell >> 4] * columns[cell & 15] / static_cast<double>(values.size());
    if (expected > 0) statistic += (seen[cell] - expected) * (seen[cell] - expected) / expected;
  }
  return chi_square_tail(statistic, 225);
}

/// a - b, coordinate by coordinate: uniform if the masks of the two are independent.
Vector difference(const Vector& a, const Vector& b) {
  Vector out(std::min(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = a[i] - b[i];
  return out;
}

/// v[i] - v[i + lag]: not uniform if the mask's stream repeats itself after `lag` numbers.
Vector lagged(const Vector& v, std::size_t lag) {
  return difference(v, Vector(v.begin() + static_cast<std::ptrdiff_t>(lag), v.end()));
}

bool looks_uniform(const Vector& values) {
  for (int byte = 0; byte < 8; ++byte) {
    if (!(uniform_p(values, byte) >= kThreshold)) return false;
  }
  return true;
}

bool looks_independent(const Vector& values, const Vector& inputs) {
  for (int byte = 0; byte < 8; ++byte) {
    if (!(independent_p(values, inputs, byte) >= kThreshold)) return false;
  }
  return true;
}

Vector zeros(int) { return Vector(kLength, 0); }
Vector random_input(int party) { return test::contribution(party, kLength); }
/// Sums of lattice values: a few bits at the bottom, the rest zero or sign.
Vector small_input(int party) {
  Vector values = random_input(party);
  for (std::uint64_t& v : values) v = (v >> 40) - (std::uint64_t{1} << 23);
  return values;
}

/// What each of `parties` parties sends in one round.
std::vector<Vector> masked_vectors(int parties, Vector (*input)(int)) {
  return test::masked_vectors(parties, kLength, input);
}

TEST(MasksStat, WhatAPartySendsIsUniformWhateverItHolds) {
  for (auto* input : {&zeros, &small_input, &random_input}) {
    for (const Vector& sent : masked_vectors(2, input)) EXPECT_TRUE(looks_uniform(sent));
  }
}

TEST(MasksStat, WhatAPartySendsIsIndependentOfWhatItHolds) {
  const auto sent = masked_vectors(3, &random_input);
  for (int r = 0; r < 3; ++r)
    EXPECT_TRUE(looks_independent(sent[static_cast<std::size_t>(r)], random_input(r)));
}

TEST(MasksStat, PartialSumsOnTheReduceTreeAreUniformToo) {
  const auto sent = masked_vectors(3, &small_input);
  Vector partial = sent[1];
  for (std::size_t i = 0; i < kLength; ++i) partial[i] += sent[2][i];
  EXPECT_TRUE(looks_uniform(partial));
}

TEST(MasksStat, TheSameInputTwiceGivesIndependentVectors) {
  const auto first = masked_vectors(2, &small_input), second = masked_vectors(2, &small_input);
  EXPECT_TRUE(looks_uniform(difference(first[0], second[0])));
}

TEST(MasksStat, TheStreamDoesNotRepeatItself) {
  const Vector sent = masked_vectors(2, &zeros)[0];
  for (const std::size_t lag : {1, 8, 1024, 8192, 65536})
    EXPECT_TRUE(looks_uniform(lagged(sent, lag))) << lag;
}

// Broken masks, each caught by the check that looks for it.

TEST(MasksStatMutant, NoMaskIsCaught) {
  EXPECT_FALSE(looks_uniform(small_input(0)));
  EXPECT_FALSE(looks_independent(random_input(0), random_input(0)));
}

TEST(MasksStatMutant, AMaskOfFewerBitsIsCaught) {
  Vector sent = masked_vectors(2, &zeros)[0];
  for (std::uint64_t& v : sent) v &= (std::uint64_t{1} << 63) - 1;
  EXPECT_FALSE(looks_uniform(sent));
}

TEST(MasksStatMutant, AMaskThatIsUsedTwiceIsCaught) {
  const Vector mask = masked_vectors(2, &zeros)[0], input = small_input(0);
  Vector first = mask, second = mask;
  for (std::size_t i = 0; i < kLength; ++i) first[i] += input[i];
  EXPECT_FALSE(looks_uniform(difference(first, second)));
}

TEST(MasksStatMutant, ACounterThatStartsAnewInEachChunkIsCaught) {
  Vector sent = masked_vectors(2, &zeros)[0];
  for (std::size_t i = 8192; i < kLength; ++i) sent[i] = sent[i - 8192];
  EXPECT_FALSE(looks_uniform(lagged(sent, 8192)));
}

TEST(MasksStatMutant, AMaskThatDependsOnTheInputIsCaught) {
  // As if the input were xored in a second time: uniform, but not independent.
  const Vector input = random_input(0);
  Vector sent = masked_vectors(2, &zeros)[0];
  for (std::size_t i = 0; i < kLength; i += 8) sent[i] = input[i];
  EXPECT_FALSE(looks_independent(sent, input));
}

}  // namespace
}  // namespace muffle::crypto
