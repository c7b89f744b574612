#include "muffle/privacy/gaussian.hpp"

#include <sodium.h>

#include <array>
#include <cstring>
#include <string>

#include "lattice_squares.hpp"
#include "muffle/core/error.hpp"

namespace muffle::privacy {
namespace {

constexpr char kStuck[] =
    "the entropy source for the privacy noise is stuck: it repeats itself. Nothing was released. Check the "
    "machine's random number generator (getrandom, /dev/urandom) before trying again.";

}  // namespace

/// Random bits in blocks, and Karney's steps on them. Letters (H, G, B, N) are those of the paper.
class RoundedGaussian::Bits {
 public:
  explicit Bits(EntropySource& entropy) : entropy_(entropy) {}
  ~Bits() {
    sodium_memzero(words_.data(), sizeof words_);
    sodium_memzero(&reservoir_, sizeof reservoir_);
    sodium_memzero(&last_block_, sizeof last_block_);
  }
  Bits(const Bits&) = delete;
  Bits& operator=(const Bits&) = delete;

  /// A uniform real in (0, 1), known only as far as anyone has looked: base-2^32 digits, drawn on demand.
  class Uniform {
   public:
    // The digits beyond known_ are not read before they are drawn.
    Uniform() {}  // NOLINT(cppcoreguidelines-pro-type-member-init)
    void forget() { known_ = 0; }
    std::uint32_t digit(std::size_t i, Bits& bits) {
      if (i >= known_) extend(i, bits);
      return digits_[i];
    }

   private:
    void extend(std::size_t i, Bits& bits) {
      // More than this many equal digits in a comparison: probability below 2^-1000.
      require(i < kMaxDigits, kStuck);
      while (known_ <= i) digits_[known_++] = bits.word();
    }
    static constexpr std::size_t kMaxDigits = 32;
    std::size_t known_ = 0;
    std::array<std::uint32_t, kMaxDigits> digits_;
  };

  std::uint32_t word() {
    if (next_ == words_.size()) refill();
    return words_[next_++];
  }

  /// `count` bits, 1 to 32.
  std::uint32_t few(int count) {
    if (reserved_ < count) {
      reservoir_ |= std::uint64_t{word()} << reserved_;
      reserved_ += 32;
    }
    const auto value = static_cast<std::uint32_t>(reservoir_ & ((std::uint64_t{1} << count) - 1));
    reservoir_ >>= count;
    reserved_ -= count;
    return value;
  }

  /// x < y, exactly.
  bool less(Uniform& x, Uniform& y) {
    for (std::size_t i = 0;; ++i) {
      const std::uint32_t a = x.digit(i, *this), b = y.digit(i, *this);
      if (a != b) return a < b;
    }
  }

  /// True with probability exp(-1/2) (von Neumann): the longest run 1/2 > u1 > u2 > ... has even length.
  bool step_h() {
    Uniform pair[2];
    if (pair[0].digit(0, *this) >= 0x80000000u) return true;
    for (int length = 1;; ++length) {
      Uniform &now = pair[length & 1], &before = pair[(length - 1) & 1];
      now.forget();
      if (!less(now, before)) return (length & 1) == 0;
    }
  }

  /// k >= 0 with probability exp(-k/2) (1 - exp(-1/2)).
  std::uint32_t step_g() {
    std::uint32_t k = 0;
    while (step_h()) {
      // With real entropy: probability exp(-500).
      require(++k < 1000, kStuck);
    }
    return k;
  }

  /// True with probability exp(-k (k-1) / 2).
  bool step_p(std::uint32_t k) {
    for (std::uint32_t i = 0, n = k * (k - (k > 0)); i < n; ++i) {
      if (!step_h()) return false;
    }
    return true;
  }

  /// True with probability exp(-x (2k+x) / (2k+2)): the longest run x > z1 > z2 > ... in which each step also
  /// passes a trial of probability (2k+x) / (2k+2) has even length.
  bool step_b(std::uint32_t k, Uniform& x) {
    Uniform pair[2];
    Uniform* before = &x;
    for (int length = 0;; ++length) {
      Uniform& z = pair[length & 1];
      z.forget();
      if (!trial(k, x) || !less(z, *before)) return (length & 1) == 0;
      before = &z;
    }
  }

 private:
  /// True with probability (2k + x) / (2k + 2).
  bool trial(std::uint32_t k, Uniform& x) {
    const std::uint32_t choices = 2 * k + 2;
    const int width = 32 - __builtin_clz(choices - 1);
    std::uint32_t choice = 0;
    do choice = few(width);
    while (choice >= choices);
    if (choice >= 2) return true;
    if (choice == 0) return false;
    Uniform u;
    return less(u, x);
  }

  void refill() {
    entropy_.fill(std::as_writable_bytes(std::span(words_)));
    // A source that repeats its blocks is broken; real entropy repeats 128 bits with probability 2^-128.
    std::array<std::uint32_t, 4> head{};
    std::memcpy(head.data(), words_.data(), sizeof head);
    require(!(has_last_block_ && head == last_block_), kStuck);
    last_block_ = head;
    has_last_block_ = true;
    next_ = 0;
  }

  EntropySource& entropy_;
  std::array<std::uint32_t, 2048> words_{};
  std::size_t next_ = 2048;
  std::uint64_t reservoir_ = 0;
  int reserved_ = 0;
  std::array<std::uint32_t, 4> last_block_{};
  bool has_last_block_ = false;
};

RoundedGaussian::RoundedGaussian(EntropySource& entropy) : bits_(std::make_unique<Bits>(entropy)) {}
RoundedGaussian::~RoundedGaussian() = default;

std::int64_t RoundedGaussian::draw(std::uint64_t sigma) {
  require(sigma >= 1 && sigma <= kMaxSigmaLattice,
          "noise was asked for with sigma " + std::to_string(sigma) + " lattice units, outside 1 .. 2^50.");
  Bits& bits = *bits_;
  Bits::Uniform x;
  std::uint32_t k = 0;
  // Algorithm N: accept k + x with probability proportional to exp(-(k+x)^2 / 2).
  for (bool accepted = false; !accepted;) {
    k = bits.step_g();
    if (!bits.step_p(k)) continue;
    x.forget();
    accepted = true;
    for (std::uint32_t i = 0; accepted && i <= k; ++i) accepted = bits.step_b(k, x);
  }
  // floor(sigma x + 1/2) from the first 64 bits of x ...
  const std::uint64_t x_high = std::uint64_t{x.digit(0, bits)} << 32 | x.digit(1, bits);
  const Uint128 scaled = Uint128{sigma} * x_high + (Uint128{1} << 63);
  auto magnitude = static_cast<std::uint64_t>(scaled >> 64);
  // ... unless what is still unknown of x, r in (0, 1) units of its last digit, can carry it over the next
  // integer, `gap` away: then compare sigma r with gap digit by digit. 0 < gap < sigma holds throughout.
  Uint128 gap = (Uint128{1} << 64) - static_cast<std::uint64_t>(scaled);
  for (std::size_t i = 2; gap < sigma; ++i) {
    const Uint128 needed = gap << 32, have = Uint128{sigma} * x.digit(i, bits);
    if (have >= needed) {
      ++magnitude;
      break;
    }
    if (have + sigma <= needed) break;
    gap = needed - have;
  }
  const auto rounded = static_cast<std::int64_t>(magnitude + sigma * k);
  return bits.few(1) != 0 ? -rounded : rounded;
}

}  // namespace muffle::privacy
