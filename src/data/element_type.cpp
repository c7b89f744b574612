#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "arrays.hpp"

namespace muffle::data {
namespace {

/// The stored number in this machine's byte order.
template <class T>
T load(const std::byte* stored, bool big_endian) {
  std::array<std::byte, sizeof(T)> bytes;
  std::copy_n(stored, sizeof(T), bytes.begin());
  if (big_endian != (std::endian::native == std::endian::big)) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

/// IEEE's binary16.
float half(const std::byte* stored, bool big_endian) {
  const auto bits = load<std::uint16_t>(stored, big_endian);
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float size = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                     : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                     : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

/// Rounded down.
__int128 quotient(__int128 a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/// Whole seconds since 1970-01-01.
double seconds_of(std::int64_t count, const ElementType::Unit& unit) {
  if (count == std::numeric_limits<std::int64_t>::min()) return NAN;  // NumPy's NaT
  if (unit.months == 0)
    return static_cast<double>(quotient(static_cast<__int128>(count) * unit.seconds, unit.parts));
  constexpr int kMostYears = 30000;  // std::chrono's calendar ends there
  const __int128 months = static_cast<__int128>(count) * unit.months, year = quotient(months, 12);
  if (year > kMostYears || year < -kMostYears) return year < 0 ? -INFINITY : INFINITY;
  const auto month = static_cast<unsigned>(months - 12 * year);
  const std::chrono::sys_days day =
      std::chrono::year(static_cast<int>(year) + 1970) / std::chrono::month(month + 1) / 1;
  return 86400.0 * static_cast<double>(day.time_since_epoch().count());
}

/// Calls `use` with the number in its own type.
template <class Use>
auto with_number(const ElementType& type, const std::byte* stored, Use&& use) {
  const bool big = type.big_endian;
  switch (type.kind) {
    case ElementType::Kind::kFloat:
      return type.size == 2   ? use(half(stored, big))
             : type.size == 4 ? use(load<float>(stored, big))
                              : use(load<double>(stored, big));
    case ElementType::Kind::kTime:
    case ElementType::Kind::kSigned:
      return type.size == 1   ? use(load<std::int8_t>(stored, big))
             : type.size == 2 ? use(load<std::int16_t>(stored, big))
             : type.size == 4 ? use(load<std::int32_t>(stored, big))
                              : use(load<std::int64_t>(stored, big));
    case ElementType::Kind::kUnsigned:
      break;
    case ElementType::Kind::kCharacters:
    case ElementType::Kind::kBytes:
    case ElementType::Kind::kFields:
      require(false, "a text is no number");
  }
  return type.size == 1   ? use(load<std::uint8_t>(stored, big))
         : type.size == 2 ? use(load<std::uint16_t>(stored, big))
         : type.size == 4 ? use(load<std::uint32_t>(stored, big))
                          : use(load<std::uint64_t>(stored, big));
}

void append_utf8(std::uint32_t character, std::string& out) {
  if (character > 0x10FFFF || (character >= 0xD800 && character < 0xE000)) character = 0xFFFD;
  const auto byte = [&](std::uint32_t head, int shift) {
    out += static_cast<char>(head | (character >> shift & (head == 0x80 ? 0x3F : 0xFF)));
  };
  if (character < 0x80) return byte(0, 0);
  if (character < 0x800) {
    byte(0xC0, 6);
  } else if (character < 0x10000) {
    byte(0xE0, 12);
    byte(0x80, 6);
  } else {
    byte(0xF0, 18);
    byte(0x80, 12);
    byte(0x80, 6);
  }
  byte(0x80, 0);
}

}  // namespace

std::string ElementType::name() const {
  if (is_text()) return "text";
  if (kind == Kind::kTime) return "datetime64";
  const char* what = kind == Kind::kFloat ? "float" : kind == Kind::kSigned ? "int" : "uint";
  return what + std::to_string(8 * size);
}

float ElementType::to_float(const std::byte* stored) const {
  return with_number(*this, stored, [](auto v) { return static_cast<float>(v); });
}

double ElementType::to_double(const std::byte* stored) const {
  if (kind == Kind::kTime) return seconds_of(load<std::int64_t>(stored, big_endian), unit);
  return with_number(*this, stored, [](auto v) { return static_cast<double>(v); });
}

std::string ElementType::to_text(const std::byte* stored) const {
  if (kind == Kind::kBytes) {
    const std::string text(reinterpret_cast<const char*>(stored), size);
    return text.substr(0, text.find_last_not_of('\0') + 1);
  }
  if (kind == Kind::kCharacters) {
    std::string text;
    for (std::size_t at = 0; at < size; at += sizeof(std::uint32_t))
      append_utf8(load<std::uint32_t>(stored + at, big_endian), text);
    return text.substr(0, text.find_last_not_of('\0') + 1);
  }
  return with_number(*this, stored, [](auto v) { return std::to_string(v); });
}

std::int64_t ElementType::to_label(const std::byte* stored) const {
  return with_number(*this, stored, [](auto v) -> std::int64_t {
    constexpr auto kMostLabel = std::numeric_limits<std::int32_t>::max();
    if constexpr (std::is_integral_v<decltype(v)>) {
      return std::cmp_less(v, 0) || std::cmp_greater(v, kMostLabel) ? -1 : static_cast<std::int64_t>(v);
    } else {
      return -1;
    }
  });
}

}  // namespace muffle::data
