#include "muffle/core/printable.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

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

}  // namespace muffle
