#include "muffle/core/text.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace muffle {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< 0: no UTF-8
};

Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(text[i])}; };
  const auto bytes = static_cast<std::size_t>(std::countl_one(static_cast<unsigned char>(text[0])));
  if (bytes == 0) return {byte(0), 1};
  if (bytes == 1 || bytes > 4 || text.size() < bytes) return {};
  std::uint32_t code = byte(0) & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  // Longer spellings of smaller codes, halves of pairs, and codes beyond the last.
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool good = code >= kLeast[bytes] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  return good ? Character{code, bytes} : Character{};
}

bool may_be_shown(std::uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code <= 0x9F);
  const bool separator_or_direction = (code >= 0x2028 && code <= 0x202E) ||
                                      (code >= 0x2066 && code <= 0x2069) || code == 0x200E ||
                                      code == 0x200F || code == 0x061C;
  return !control && !separator_or_direction;
}

std::string rounded_text(double value, int digits, bool up) {
  const std::string exact = exact_text(value);
  if (!(value >= 1e-12 && value <= 1e9)) return exact;
  const std::string mantissa = exact.substr(0, exact.find('e'));
  const std::size_t first = mantissa.find_first_not_of("0.");
  if (std::count_if(mantissa.begin() + static_cast<std::ptrdiff_t>(first), mantissa.end(),
                    [](char c) { return c != '.'; }) <= digits)
    return exact;
  const int places = digits - 1 - static_cast<int>(std::floor(std::log10(value)));
  // At most 10^22, and so exact; the product's rounding error is known exactly.
  const double scale = std::pow(10.0, std::max(0, places));
  const double product = value * scale, error = std::fma(value, scale, -product);
  double whole = up ? std::ceil(product) : std::floor(product);
  if (whole == product && up && error > 0) whole += 1;
  if (whole == product && !up && error < 0) whole -= 1;
  // To the nearest decimal of so many places: that is the whole number's own.
  const std::string decimal =
      std::to_string(static_cast<long long>(whole)) + "e-" + std::to_string(std::max(0, places));
  return exact_text(std::strtod(decimal.c_str(), nullptr));
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character c = first_of(text);
    const std::size_t bytes = std::max<std::size_t>(c.bytes, 1);
    out += c.bytes > 0 && may_be_shown(c.code) ? text.substr(0, bytes) : "?";
    text.remove_prefix(bytes);
  }
  return out;
}

std::string exact_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, result.ptr);
}

std::string rounded_up_text(double value, int digits) { return rounded_text(value, digits, true); }
std::string rounded_down_text(double value, int digits) { return rounded_text(value, digits, false); }

}  // namespace muffle
