#include "muffle/core/philox.hpp"

#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace muffle {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 2> key,
                                        std::array<std::uint32_t, 4> counter) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMultiplier0 * counter[0];
    const std::uint64_t p1 = kMultiplier1 * counter[2];
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
