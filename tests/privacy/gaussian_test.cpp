// The sampler on scripted entropy: its rounding is exact to the last digit, whatever sigma is.
#include "muffle/privacy/gaussian.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"

namespace muffle::privacy {
namespace {

__extension__ using Uint128 = unsigned __int128;

/// Gives the words of a script, then zeros, with a changing word at the head of later blocks.
class ScriptedEntropy final : public EntropySource {
 public:
  explicit ScriptedEntropy(std::vector<std::uint32_t> words) : words_(std::move(words)) {}
  void fill(std::span<std::byte> out) override {
    std::vector<std::uint32_t> block(out.size() / 4, 0);
    std::copy(words_.begin(), words_.end(), block.begin());
    words_ = {++blocks_};
    std::memcpy(out.data(), block.data(), out.size());
  }
  bool is_secure() const override { return false; }

 private:
  std::vector<std::uint32_t> words_;
  std::uint32_t blocks_ = 0;
};

/// Words that make Algorithm N accept k = 0 at once, so that the draw is sign * round(sigma * 0.d1 d2 d3
/// ...): H: 1/2 > u1 = 1 is a run of one (u2 = 2 is larger), so false and k = 0; B: a first bit 0 ends its
/// run at once.
std::int64_t draw_fraction(std::uint64_t sigma, const std::vector<std::uint32_t>& digits, bool negative) {
  std::vector<std::uint32_t> words{1, 2, negative ? 2u : 0u};
  words.insert(words.end(), digits.begin(), digits.end());
  ScriptedEntropy entropy(words);
  return RoundedGaussian(entropy).draw(sigma);
}

/// The first `n` base-2^32 digits of numerator / denominator < 1, by long division.
std::vector<std::uint32_t> expansion(std::uint64_t numerator, std::uint64_t denominator, int n) {
  std::vector<std::uint32_t> digits;
  Uint128 rest = numerator;
  for (int i = 0; i < n; ++i) {
    rest <<= 32;
    digits.push_back(static_cast<std::uint32_t>(rest / denominator));
    rest %= denominator;
  }
  return digits;
}

TEST(RoundedGaussian, RoundsExactlyAtEveryDistanceFromTheHalf) {
  const CounterStream stream(1, Stream::kTest);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    // Odd sigma, so that (2 I + 1) / (2 sigma) never ends; all sizes up to 2^50.
    const std::uint64_t sigma = ((stream.bits(2 * i) >> (14 + i % 50)) | 1) + (i % 50 == 49 ? 2 : 0);
    const std::uint64_t whole = stream.below(2 * i + 1, sigma);
    if (2 * whole + 1 >= 2 * sigma || (2 * whole + 1) % sigma == 0) continue;
    // The number where the rounding changes, cut after n digits: just below it; one unit more: just above.
    for (int n = 2; n <= 9; ++n) {
      std::vector<std::uint32_t> below = expansion(2 * whole + 1, 2 * sigma, n), above = below;
      if (above.back() == 0xFFFFFFFFu) continue;
      ++above.back();
      const auto expected = static_cast<std::int64_t>(whole);
      // Two digits are too coarse to be near the half for wide sigma only; they still round as they must.
      EXPECT_EQ(draw_fraction(sigma, below, false), expected) << sigma << " " << n;
      EXPECT_EQ(draw_fraction(sigma, above, false), expected + 1) << sigma << " " << n;
      EXPECT_EQ(draw_fraction(sigma, below, true), -expected) << sigma << " " << n;
      EXPECT_EQ(draw_fraction(sigma, above, true), -(expected + 1)) << sigma << " " << n;
    }
  }
}

TEST(RoundedGaussian, ExtremeSigmas) {
  EXPECT_EQ(draw_fraction(1, {0x7FFFFFFF, 0xFFFFFFFF}, false), 0);
  EXPECT_EQ(draw_fraction(1, {0x80000000, 0x00000001}, false), 1);
  EXPECT_EQ(draw_fraction(kMaxSigmaLattice, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, false),
            static_cast<std::int64_t>(kMaxSigmaLattice));
  EXPECT_EQ(draw_fraction(kMaxSigmaLattice, {0, 0, 1}, true), 0);
}

TEST(RoundedGaussian, RefusesSigmaOutsideItsRange) {
  const auto entropy = insecure_seeded_entropy(1);
  RoundedGaussian gaussian(*entropy);
  EXPECT_THROW((void)gaussian.draw(0), InvariantError);
  EXPECT_THROW((void)gaussian.draw(kMaxSigmaLattice + 1), InvariantError);
}

}  // namespace
}  // namespace muffle::privacy
