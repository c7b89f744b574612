#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace muffle {

/// What a random stream is for. Streams of different purpose never overlap, whatever their seeds.
enum class Stream : std::uint32_t {
  kFrequencies = 1,
  kParameters = 2,
  kTrainLatent = 3,
  kTrainLabels = 4,
  kSampleLatent = 5,
  kSampleLabels = 6,
  kMixtureData = 7,
  kEvaluation = 8,
  kShuffle = 9,
  kTest = 10,
  kInsecureNoise = 11,
  kTrainCoins = 12,
  kSampleFinish = 13,
  kPeople = 14,
  kMinibatches = 15,
  kHeldOut = 16,
};

/// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 2> key,
                                        std::array<std::uint32_t, 4> counter);

/// A counter-based stream of random numbers: value i is a pure function of (seed, purpose, substream, i), the
/// same on every rank, machine and compiler, and may be asked for in any order. Thread-safe: it has no state.
/// Never used for privacy noise (that is drawn from the operating system's entropy, see privacy/).
class CounterStream {
 public:
  CounterStream(std::uint64_t seed, Stream purpose, std::uint32_t substream = 0) noexcept
      : seed_(seed), purpose_(purpose), substream_(substream) {}

  std::uint64_t bits(std::uint64_t index) const noexcept;
  /// The four 32-bit words of each of many blocks, side by side and a few times faster: word w of block
  /// blocks[i] + offset goes to out[w * blocks.size() + i]. bits(2 b) and bits(2 b + 1) are words 1, 0 and 3,
  /// 2 of block b. @param out  4 x blocks.size()
  void words(std::span<const std::uint64_t> blocks, std::uint64_t offset, std::uint32_t* out) const noexcept;
  /// Uniform in the open interval (0, 1): an odd multiple of 2^-53.
  double uniform(std::uint64_t index) const noexcept;
  /// Standard normal by inversion (normal_quantile), correct to about 1e-15 out to 8 standard deviations.
  double normal(std::uint64_t index) const noexcept;
  /// Uniform in 0..n-1, n >= 1 (multiply-shift: bias below n * 2^-64).
  std::uint64_t below(std::uint64_t index, std::uint64_t n) const noexcept;

 private:
  std::uint64_t seed_;
  Stream purpose_;
  std::uint32_t substream_;
};

/// 0 .. n-1 in random order (Fisher and Yates, from the last place down).
std::vector<std::int64_t> shuffled_indices(const CounterStream& stream, std::size_t n);

/// Quantile of the standard normal for 0 < p < 1 (Wichura, AS 241, PPND16). Uses only +, -, *, / and sqrt,
/// which IEEE 754 rounds correctly, and a logarithm built from them: the same bits on every machine.
double normal_quantile(double p) noexcept;

/// Natural logarithm of a positive normal number, from IEEE basic operations alone; error about 1 ulp.
double portable_log(double x) noexcept;

}  // namespace muffle
