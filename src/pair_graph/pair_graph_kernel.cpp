#include "pair_graph_kernel.hpp"

#include <cstring>

namespace muffle::pair_graph {
namespace {

#define MUFFLE_INLINE inline __attribute__((always_inline))

// Lanes of a vector; compilers split it where registers are narrower.
typedef float Floats __attribute__((vector_size(32), may_alias));
typedef std::int32_t Ints __attribute__((vector_size(32), may_alias));
typedef std::uint32_t Words __attribute__((vector_size(32), may_alias));
static_assert(sizeof(Floats) == sizeof(FloatPacket));

MUFFLE_INLINE const Floats& floats(const FloatPacket& packet) {
  return reinterpret_cast<const Floats&>(packet);
}
MUFFLE_INLINE Floats& floats(FloatPacket& packet) { return reinterpret_cast<Floats&>(packet); }

/// Rows of eight numbers become columns, in place.
MUFFLE_INLINE void transpose(Floats (&r)[kPacket]) {
  Floats s[kPacket];
  for (std::size_t i = 0; i < kPacket; i += 2) {
    s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (std::size_t i = 0; i < kPacket; i += 4) {
    r[i] = __builtin_shufflevector(s[i], s[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    r[i + 1] = __builtin_shufflevector(s[i], s[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    r[i + 2] = __builtin_shufflevector(s[i + 1], s[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    r[i + 3] = __builtin_shufflevector(s[i + 1], s[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (std::size_t i = 0; i < kPacket / 2; ++i) {
    s[i] = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    s[i + 4] = __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (std::size_t i = 0; i < kPacket; ++i) r[i] = s[i];
}

/// Where a product's sum over all codes is less, or not a number, logarithms are added up instead.
constexpr float kLeast = 0x1p-80f;
/// Of more partners than these logarithms are added up at once: most products would be too small, and on the
/// way there become denormal numbers, which are slow.
constexpr std::size_t kMostFactors = 64;
/// What is less likely counts as that: nothing much, and not a denormal number, which is slow.
constexpr float kLeastLogarithm = -120.0f;

/// 2^x for -125 < x <= 0, to 1e-7 of it, in IEEE operations alone.
MUFFLE_INLINE void power_of_two(Floats& x) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: the sum's last bits are the nearest whole number
  const Floats shifted = x + kMagic;
  const Floats rest = x - (shifted - kMagic);
  Floats p = rest * 0.00132765f + 0.00967554f;
  p = p * rest + 0.05550713f;
  p = p * rest + 0.2402212f;
  p = p * rest + 0.69314697f;
  p = p * rest + 1.00000007f;
  const Ints bits = reinterpret_cast<const Ints&>(p) + (reinterpret_cast<const Ints&>(shifted) << 23);
  x = reinterpret_cast<const Floats&>(bits);
}

/// Logarithms, to base 2, become probabilities: the likeliest 1.
MUFFLE_INLINE void raise(FloatPacket* numbers, std::size_t codes) {
  Floats most = floats(numbers[0]);
  for (std::size_t x = 1; x < codes; ++x) most = floats(numbers[x]) > most ? floats(numbers[x]) : most;
  const Floats least = Floats{} + kLeastLogarithm;
  for (std::size_t x = 0; x < codes; ++x) {
    Floats below = floats(numbers[x]) - most;
    below = below > least ? below : least;
    power_of_two(below);
    floats(numbers[x]) = below;
  }
}

/// How a record's rows become one.
enum class Join { kMultiply, kAdd };

/// `kAtOnce` packets, from `packet` on, of the joined rows of eight records from `first` on; made[x] has code
/// x of each. @param packets  of a row; known when this is compiled, where it may be
template <Join kJoin, std::size_t kAtOnce>
MUFFLE_INLINE void join_packets(const FloatPacket* rows, const ColumnRows& from, const RecordLanes& records,
                                std::size_t first, std::size_t packet, std::size_t packets,
                                FloatPacket* made) {
  constexpr std::size_t kTogether = 8 / kAtOnce;  // of the records: one's steps wait for each other
  Floats joined[kAtOnce][kPacket];
  for (std::size_t r = 0; r < kPacket; r += kTogether) {
    Floats own[kTogether][kAtOnce];
    for (std::size_t t = 0; t < kTogether; ++t) {
      for (std::size_t a = 0; a < kAtOnce; ++a) own[t][a] = floats(rows[packet + a]);
    }
    for (std::size_t k = 0; k < from.partner_count; ++k) {
      const ColumnRows::Partner& partner = from.partners[k];
      const FloatPacket* const of_partner = rows + partner.first_row * packets + packet;
      const std::uint32_t* const codes = records.codes + partner.column * records.stride + first + r;
      for (std::size_t t = 0; t < kTogether; ++t) {
        const FloatPacket* const row = of_partner + codes[t] * packets;
        for (std::size_t a = 0; a < kAtOnce; ++a) {
          if constexpr (kJoin == Join::kMultiply) {
            own[t][a] *= floats(row[a]);
          } else {
            own[t][a] += floats(row[a]);
          }
        }
      }
    }
    for (std::size_t t = 0; t < kTogether; ++t) {
      for (std::size_t a = 0; a < kAtOnce; ++a) joined[a][r + t] = own[t][a];
    }
  }
  for (std::size_t a = 0; a < kAtOnce; ++a) {
    transpose(joined[a]);
    for (std::size_t x = 0; x < kPacket; ++x) floats(made[a * kPacket + x]) = joined[a][x];
  }
}

template <Join kJoin>
MUFFLE_INLINE void join_rows(const FloatPacket* rows, const ColumnRows& from, const RecordLanes& records,
                             std::size_t first, FloatPacket* made) {
  if (from.packets == 1) return join_packets<kJoin, 1>(rows, from, records, first, 0, 1, made);
  if (from.packets == 2) return join_packets<kJoin, 2>(rows, from, records, first, 0, 2, made);
  std::size_t packet = 0;
  for (; packet + 2 <= from.packets; packet += 2)
    join_packets<kJoin, 2>(rows, from, records, first, packet, from.packets, made + packet * kPacket);
  if (packet < from.packets)
    join_packets<kJoin, 1>(rows, from, records, first, packet, from.packets, made + packet * kPacket);
}

/// In (0, 1): odd multiples of 2^-24.
MUFFLE_INLINE void uniforms(const std::uint32_t* words, Floats& out) {
  Words w;
  std::memcpy(&w, words, sizeof w);  // which lie at any place
  w >>= 9;
  out = (__builtin_convertvector(reinterpret_cast<const Ints&>(w), Floats) + 0.5f) * 0x1p-23f;
}

/// The codes are how many of their bounds are not above the place.
MUFFLE_INLINE void find_codes(const FloatPacket* bounds, std::size_t codes, const Floats& total,
                              const std::uint32_t* words, std::uint32_t* out) {
  Floats place;
  uniforms(words, place);
  place *= total;
  Ints passed = {};
  for (std::size_t x = 0; x + 1 < codes; ++x) passed -= floats(bounds[x]) <= place;
  std::memcpy(out, &passed, sizeof passed);
}

MUFFLE_INLINE std::uint32_t* codes_at(const RecordLanes& records, std::size_t column, std::size_t first) {
  return records.codes + column * records.stride + first;
}

/// Probabilities become bounds, up to their sum: that of codes 0 .. x.
MUFFLE_INLINE void add_up(FloatPacket* numbers, std::size_t codes, Floats& total) {
  total = Floats{};
  for (std::size_t x = 0; x < codes; ++x) floats(numbers[x]) = total += floats(numbers[x]);
}

/// For records whose products were too small: their bounds out of logarithms.
MUFFLE_INLINE void mend(const ColumnRows& from, const RecordLanes& records, std::size_t first,
                        FloatPacket* numbers, const Ints& bad, Floats& total) {
  FloatPacket* const other = numbers + kPacket * from.packets;
  join_rows<Join::kAdd>(from.logarithms, from, records, first, other);
  raise(other, from.codes);
  Floats mended;
  add_up(other, from.codes, mended);
  total = bad ? mended : total;
  for (std::size_t x = 0; x < from.codes; ++x)
    floats(numbers[x]) = bad ? floats(other[x]) : floats(numbers[x]);
}

MUFFLE_INLINE bool any(const Ints& lanes) {
  std::int64_t halves[kPacket / 2];
  __builtin_memcpy(halves, &lanes, sizeof halves);
  return (halves[0] | halves[1] | halves[2] | halves[3]) != 0;
}

/// The probabilities of eight records, row by row.
MUFFLE_INLINE void put_shares(const FloatPacket* bounds, const ColumnRows& from, FloatPacket* shares) {
  const Floats scale = 1.0f / floats(bounds[from.codes - 1]);
  Floats before = {};
  for (std::size_t packet = 0; packet < from.packets; ++packet) {
    Floats block[kPacket];
    for (std::size_t i = 0; i < kPacket; ++i) {
      const std::size_t x = packet * kPacket + i;
      const Floats& now = x < from.codes ? floats(bounds[x]) : before;
      block[i] = (now - before) * scale;
      before = now;
    }
    transpose(block);
    for (std::size_t r = 0; r < kPacket; ++r) floats(shares[r * from.packets + packet]) = block[r];
  }
}

MUFFLE_INLINE void draw_factors(const ColumnRows& from, const RecordLanes& records, std::size_t column,
                                const std::uint32_t* words, FloatPacket* numbers, FloatPacket* shares) {
  for (std::size_t first = 0; first < records.count; first += kPacket) {
    if (from.partner_count > kMostFactors) {
      join_rows<Join::kAdd>(from.logarithms, from, records, first, numbers);
      raise(numbers, from.codes);
    } else {
      join_rows<Join::kMultiply>(from.factors, from, records, first, numbers);
    }
    Floats total;
    add_up(numbers, from.codes, total);
    const Ints bad = ~(total > kLeast);  // nor is what is not a number
    if (any(bad)) mend(from, records, first, numbers, bad, total);
    find_codes(numbers, from.codes, total, words + first, codes_at(records, column, first));
    if (shares != nullptr) put_shares(numbers, from, shares + first * from.packets);
  }
}

MUFFLE_INLINE void draw_bounds(const ColumnRows& from, const RecordLanes& records, std::size_t column,
                               const std::uint32_t* words, FloatPacket* numbers) {
  for (std::size_t first = 0; first < records.count; first += kPacket) {
    join_rows<Join::kAdd>(from.factors, from, records, first, numbers);
    find_codes(numbers, from.codes, floats(numbers[from.codes - 1]), words + first,
               codes_at(records, column, first));
  }
}

template <std::size_t kPackets>
MUFFLE_INLINE void add_packets(const ColumnRows& from, const RecordLanes& records, std::size_t count,
                               std::size_t packet, const FloatPacket* shares, FloatPacket* sums) {
  for (std::size_t k = 0; k < from.partner_count; ++k) {
    const ColumnRows::Partner& partner = from.partners[k];
    const std::uint32_t* const codes = records.codes + partner.column * records.stride;
    FloatPacket* const rows = sums + partner.first_row * from.packets + packet;
    for (std::size_t r = 0; r < count; ++r) {
      FloatPacket* const row = rows + codes[r] * from.packets;
      const FloatPacket* const own = shares + r * from.packets + packet;
      for (std::size_t a = 0; a < kPackets; ++a) floats(row[a]) += floats(own[a]);
    }
  }
}

MUFFLE_INLINE void add_shares_here(const ColumnRows& from, const RecordLanes& records, std::size_t count,
                                   const FloatPacket* shares, FloatPacket* sums) {
  std::size_t packet = 0;
  for (; packet + 2 <= from.packets; packet += 2) add_packets<2>(from, records, count, packet, shares, sums);
  if (packet < from.packets) add_packets<1>(from, records, count, packet, shares, sums);
}

/// Rows of logarithms become factors; each row's largest is 1, and the logarithms are moved with it.
MUFFLE_INLINE void raise_rows_here(FloatPacket* logarithms, std::size_t rows, std::size_t codes,
                                   FloatPacket* factors) {
  const std::size_t packets = (codes + kPacket - 1) / kPacket;
  for (std::size_t at = 0; at < rows * packets; at += packets) {
    const auto from = [&](std::size_t x) -> float& { return logarithms[at + x / kPacket].lane[x % kPacket]; };
    float most = from(0);
    for (std::size_t x = 1; x < codes; ++x) most = from(x) > most ? from(x) : most;
    for (std::size_t x = 0; x < codes; ++x) from(x) -= most;
    for (std::size_t p = 0; p < packets; ++p) {
      Floats v = floats(logarithms[at + p]);
      const Floats least = Floats{} + kLeastLogarithm;
      v = v > least ? v : least;
      power_of_two(v);
      floats(factors[at + p]) = v;
    }
    float* const last = factors[at + packets - 1].lane;
    for (std::size_t x = codes - (packets - 1) * kPacket; x < kPacket; ++x) last[x] = 0;
  }
}

/// The kernels of one instruction set.
struct Kernels {
  decltype(&draw_by_factors) factors;
  decltype(&draw_by_bounds) bounds;
  decltype(&raise_rows) raise;
  decltype(&add_shares) add;
};

#define MUFFLE_KERNELS(NAME, ATTRIBUTE)                                                                  \
  ATTRIBUTE void factors_##NAME(const ColumnRows& from, const RecordLanes& records, std::size_t column,  \
                                const std::uint32_t* words, FloatPacket* numbers, FloatPacket* shares) { \
    draw_factors(from, records, column, words, numbers, shares);                                         \
  }                                                                                                      \
  ATTRIBUTE void bounds_##NAME(const ColumnRows& from, const RecordLanes& records, std::size_t column,   \
                               const std::uint32_t* words, FloatPacket* numbers) {                       \
    draw_bounds(from, records, column, words, numbers);                                                  \
  }                                                                                                      \
  ATTRIBUTE void raise_##NAME(FloatPacket* logarithms, std::size_t rows, std::size_t codes,              \
                              FloatPacket* factors) {                                                    \
    raise_rows_here(logarithms, rows, codes, factors);                                                   \
  }                                                                                                      \
  ATTRIBUTE void add_##NAME(const ColumnRows& from, const RecordLanes& records, std::size_t count,       \
                            const FloatPacket* shares, FloatPacket* sums) {                              \
    add_shares_here(from, records, count, shares, sums);                                                 \
  }                                                                                                      \
  constexpr Kernels kKernels_##NAME{factors_##NAME, bounds_##NAME, raise_##NAME, add_##NAME};

MUFFLE_KERNELS(plain, )
#if defined(__x86_64__)
MUFFLE_KERNELS(avx2, __attribute__((target("avx2"))))
#endif

const Kernels& kernels() {
#if defined(__x86_64__)
  static const Kernels& best = __builtin_cpu_supports("avx2") ? kKernels_avx2 : kKernels_plain;
  return best;
#else
  return kKernels_plain;
#endif
}

}  // namespace

void draw_by_factors(const ColumnRows& from, const RecordLanes& records, std::size_t column,
                     const std::uint32_t* words, FloatPacket* numbers, FloatPacket* shares) {
  kernels().factors(from, records, column, words, numbers, shares);
}

void draw_by_bounds(const ColumnRows& from, const RecordLanes& records, std::size_t column,
                    const std::uint32_t* words, FloatPacket* numbers) {
  kernels().bounds(from, records, column, words, numbers);
}

void add_shares(const ColumnRows& from, const RecordLanes& records, std::size_t count,
                const FloatPacket* shares, FloatPacket* sums) {
  kernels().add(from, records, count, shares, sums);
}

void raise_rows(FloatPacket* logarithms, std::size_t rows, std::size_t codes, FloatPacket* factors) {
  kernels().raise(logarithms, rows, codes, factors);
}

}  // namespace muffle::pair_graph
