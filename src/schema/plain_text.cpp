#include "muffle/schema/plain_text.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "muffle/core/error.hpp"

namespace muffle::schema {
namespace {

/// Unicode's blanks, and two marks that nobody sees.
constexpr std::string_view kWideBlanks[] = {"\u00A0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
                                            "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009",
                                            "\u200A", "\u200B", "\u202F", "\u205F", "\u3000", "\uFEFF"};

std::string mapped(std::string_view text, int options) {
  utf8proc_uint8_t* out = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
      &out, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(out, &std::free);
  require(size != UTF8PROC_ERROR_NOMEM, "utf8proc ran out of memory");
  if (size < 0) return std::string(text);
  return {reinterpret_cast<const char*>(out), static_cast<std::size_t>(size)};
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  const auto is_wide = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  for (std::size_t before = text.size() + 1; !text.empty() && text.size() < before;) {
    before = text.size();
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    if (text.empty() || !(is_wide(text.front()) || is_wide(text.back()))) break;
    for (const std::string_view blank : kWideBlanks) {
      if (text.starts_with(blank)) text.remove_prefix(blank.size());
      if (text.ends_with(blank)) text.remove_suffix(blank.size());
    }
  }
  return text;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string plain_text(std::string_view text) {
  text = trimmed(text);
  return is_ascii(text) ? std::string(text) : mapped(text, 0);
}

bool has_digits_of_other_scripts(std::string_view text) {
  if (is_ascii(text)) return false;
  std::size_t digits = 0, letters = 0;
  bool other = false;
  while (!text.empty()) {
    utf8proc_int32_t character = 0;
    const utf8proc_ssize_t size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                   static_cast<utf8proc_ssize_t>(text.size()), &character);
    if (size <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(size));
    const utf8proc_category_t category = utf8proc_category(character);
    other = other || (category == UTF8PROC_CATEGORY_ND && character >= 0x80);
    digits += category == UTF8PROC_CATEGORY_ND ? 1 : 0;
    letters += category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO ? 1 : 0;
  }
  return other && digits >= letters;
}

std::string caseless(std::string_view text) { return mapped(trimmed(text), UTF8PROC_CASEFOLD); }

}  // namespace muffle::schema
