#pragma once

#include <string>
#include <string_view>

namespace muffle::schema {

/// Without the blanks of any width, tabs, line ends and invisible marks around it.
std::string_view trimmed(std::string_view text);
/// A text as schemas and fields are compared by: trimmed, and in Unicode's composed form (NFC), so that an
/// "a" with an umlaut behind it is the one character. What is not UTF-8 is only trimmed.
std::string plain_text(std::string_view text);
/// The same without a difference between capitals and small letters: for hints.
std::string caseless(std::string_view text);

/// Digits other than 0 to 9, full-width or Arabic ones for example, of which it has no fewer than letters.
bool has_digits_of_other_scripts(std::string_view text);

/// All of it is ASCII: plain_text() has nothing to compose.
bool is_ascii(std::string_view text);

}  // namespace muffle::schema
