#include "person_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "muffle/schema/plain_text.hpp"

namespace muffle::data {
namespace {

constexpr std::string_view kDigits = "0123456789";

/// A decimal number in the one spelling that all its spellings have in common, "-123e-2": digits, neither the
/// first nor the last of which is 0, and a power of ten. None: it is no such number.
std::optional<std::string> one_spelling(std::string_view text) {
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t whole = std::min(text.find_first_not_of(kDigits), text.size());
  std::string digits(text.substr(0, whole));
  text.remove_prefix(whole);
  std::int64_t power = 0;
  if (text.starts_with('.')) {
    const std::size_t end = std::min(text.find_first_not_of(kDigits, 1), text.size());
    digits += text.substr(1, end - 1);
    power = -static_cast<std::int64_t>(end - 1);
    text.remove_prefix(end);
  }
  if (digits.empty()) return std::nullopt;
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(text.substr(1).starts_with('+') ? 2 : 1);
    std::int32_t ten = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), ten);
    if (read.ec != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    power += ten;
  }
  if (!text.empty()) return std::nullopt;
  const std::size_t last = digits.find_last_not_of('0');
  if (last == std::string::npos) return "0";
  power += static_cast<std::int64_t>(digits.size() - 1 - last);
  digits.erase(last + 1);
  digits.erase(0, digits.find_first_not_of('0'));
  return (minus ? "-" : "") + digits + "e" + std::to_string(power);
}

/// "-0.00" -> "0.00".
std::string_view without_sign_of_zero(std::string_view text) {
  const bool zero = text.starts_with('-') && text.find_first_not_of("0.", 1) == std::string_view::npos &&
                    text.find('0') != std::string_view::npos;
  return zero ? text.substr(1) : text;
}

}  // namespace

std::string person_text(const schema::Column& column, std::string_view field) {
  const auto person = [&](std::string_view text) {
    std::string plain = schema::plain_text(text);
    if (column.numeric) {
      if (std::optional<std::string> number = one_spelling(plain)) return *number;
    }
    return plain;
  };
  const std::string own = person(field);
  for (const std::string& spelling : column.spellings) {
    if (own == person(spelling)) return {};
  }
  return std::string(without_sign_of_zero(own));
}

std::string person_text(const schema::Column& column, double field) {
  if (std::isnan(field)) return {};
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), field).ptr;
  return person_text(column, std::string_view(text.data(), static_cast<std::size_t>(end - text.data())));
}

}  // namespace muffle::data
