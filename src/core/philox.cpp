#include "muffle/core/philox.hpp"

#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace muffle {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

/// What all blocks of a stream have in common.
struct StreamWords {
  std::uint32_t key0, key1, substream, purpose;
};

/// Some blocks, one by one: word w of block i goes to out[w * stride + i].
void words_one_by_one(const StreamWords& stream, std::span<const std::uint64_t> blocks, std::uint64_t offset,
                      std::uint32_t* out, std::size_t stride) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::uint64_t block = blocks[i] + offset;
    const auto words = philox4x32({stream.key0, stream.key1},
                                  {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                   stream.substream, stream.purpose});
    for (std::size_t w = 0; w < words.size(); ++w) out[w * stride + i] = words[w];
  }
}

#if defined(__x86_64__)
#define MUFFLE_AVX2 __attribute__((target("avx2")))

MUFFLE_AVX2 inline __m256i all(std::uint64_t v) { return _mm256_set1_epi64x(static_cast<long long>(v)); }

/// The low halves of eight 64-bit numbers.
MUFFLE_AVX2 inline __m256i low_halves(__m256i first, __m256i second) {
  const __m256 both = _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), 0x88);
  return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0xD8);
}

/// Eight blocks at a time, a word to 64 bits, of which the upper half may hold anything.
/// @returns how many blocks it took.
MUFFLE_AVX2 std::size_t words_by_eight(const StreamWords& stream, std::span<const std::uint64_t> blocks,
                                       std::uint64_t offset, std::uint32_t* out, std::size_t stride) {
  const __m256i multiplier0 = all(kMultiplier0), multiplier1 = all(kMultiplier1);
  std::size_t i = 0;
  for (; i + 8 <= blocks.size(); i += 8) {
    __m256i a[2], b[2], c[2], d[2];
    for (std::size_t h = 0; h < 2; ++h) {
      const auto* from = reinterpret_cast<const __m256i*>(blocks.data() + i + 4 * h);
      a[h] = _mm256_add_epi64(_mm256_loadu_si256(from), all(offset));
      b[h] = _mm256_srli_epi64(a[h], 32);
      c[h] = all(stream.substream);
      d[h] = all(stream.purpose);
    }
    std::uint32_t key0 = stream.key0, key1 = stream.key1;
    for (int round = 0; round < 10; ++round, key0 += kWeyl0, key1 += kWeyl1) {
      for (std::size_t h = 0; h < 2; ++h) {
        const __m256i p0 = _mm256_mul_epu32(a[h], multiplier0), p1 = _mm256_mul_epu32(c[h], multiplier1);
        a[h] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), b[h]), all(key0));
        b[h] = p1;
        c[h] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), d[h]), all(key1));
        d[h] = p0;
      }
    }
    const auto put = [&](std::size_t w, const __m256i(&word)[2]) MUFFLE_AVX2 {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + w * stride + i), low_halves(word[0], word[1]));
    };
    put(0, a), put(1, b), put(2, c), put(3, d);
  }
  return i;
}
#endif

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 2> key,
                                        std::array<std::uint32_t, 4> counter) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t p1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

std::uint64_t CounterStream::bits(std::uint64_t index) const noexcept {
  const std::uint64_t block = index >> 1;
  const auto words = philox4x32({static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)},
                                {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                 substream_, static_cast<std::uint32_t>(purpose_)});
  return (index & 1) ? (std::uint64_t{words[3]} << 32 | words[2])
                     : (std::uint64_t{words[1]} << 32 | words[0]);
}

void CounterStream::words(std::span<const std::uint64_t> blocks, std::uint64_t offset,
                          std::uint32_t* out) const noexcept {
  const StreamWords stream{static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32),
                           substream_, static_cast<std::uint32_t>(purpose_)};
  std::size_t done = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) done = words_by_eight(stream, blocks, offset, out, blocks.size());
#endif
  words_one_by_one(stream, blocks.subspan(done), offset, out + done, blocks.size());
}

double CounterStream::uniform(std::uint64_t index) const noexcept {
  // 52 bits and a half, so that the result is exact and neither 0 nor 1.
  return (static_cast<double>(bits(index) >> 12) + 0.5) * 0x1p-52;
}

double CounterStream::normal(std::uint64_t index) const noexcept { return normal_quantile(uniform(index)); }

std::uint64_t CounterStream::below(std::uint64_t index, std::uint64_t n) const noexcept {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits(index)) * n) >> 64);
}

std::vector<std::int64_t> shuffled_indices(const CounterStream& stream, std::size_t n) {
  std::vector<std::int64_t> order(n);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = n; i-- > 1;) std::swap(order[i], order[stream.below(i, i + 1)]);
  return order;
}

double portable_log(double x) noexcept {
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m-1)/(m+1)) by its series.
  const std::uint64_t raw = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(raw >> 52) - 1023;
  double m = std::bit_cast<double>((raw & 0x000FFFFFFFFFFFFFull) | 0x3FF0000000000000ull);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double s2 = s * s;
  double sum = 0.0;
  for (int k = 23; k >= 3; k -= 2) sum = (sum + 1.0 / k) * s2;
  constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  return exponent * kLn2High + (2.0 * s + (2.0 * s * sum + exponent * kLn2Low));
}

double normal_quantile(double p) noexcept {
  const double q = p - 0.5;
  const auto horner = [](const double(&c)[8], double x) {
    double v = c[7];
    for (int i = 6; i >= 0; --i) v = v * x + c[i];
    return v;
  };
  if (std::fabs(q) <= 0.425) {
    static constexpr double a[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                    1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                    4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                    3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static constexpr double b[8] = {1.0000000000000000000e0,  4.2313330701600911252e+1,
                                    6.8718700749205790830e+2, 5.3941960214247511077e+3,
                                    2.1213794301586595867e+4, 3.9307895800092710610e+4,
                                    2.8729085735721942674e+4, 5.2264952788528545610e+3};
    const double r = 0.180625 - q * q;
    return q * horner(a, r) / horner(b, r);
  }
  double r = std::sqrt(-portable_log(q < 0 ? p : 1.0 - p));
  double value = 0.0;
  if (r <= 5.0) {
    static constexpr double c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                    5.76949722146069140550e0,  3.64784832476320460504e0,
                                    1.27045825245236838258e0,  2.41780725177450611770e-1,
                                    2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static constexpr double d[8] = {1.00000000000000000000e0,  2.05319162663775882187e0,
                                    1.67638483018380384940e0,  6.89767334985100004550e-1,
                                    1.48103976427480074590e-1, 1.51986665636164571966e-2,
                                    5.47593808499534494600e-4, 1.05075007164441684324e-9};
    r -= 1.6;
    value = horner(c, r) / horner(d, r);
  } else {
    static constexpr double e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                    1.78482653991729133580e0,  2.96560571828504891230e-1,
                                    2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                    2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static constexpr double f[8] = {1.00000000000000000000e0,  5.99832206555887937690e-1,
                                    1.36929880922735805310e-1, 1.48753612908506148525e-2,
                                    7.86869131145613259100e-4, 1.84631831751005468180e-5,
                                    1.42151175831644588870e-7, 2.04426310338993978564e-15};
    r -= 5.0;
    value = horner(e, r) / horner(f, r);
  }
  return q < 0 ? -value : value;
}

}  // namespace muffle
