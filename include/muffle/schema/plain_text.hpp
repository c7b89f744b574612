#pragma once

#include <string>
#include <string_view>

namespace muffle::schema {

/// Without the blanks, tabs and line ends around it.
std::string_view trimmed(std::string_view text);
/// A text as schemas and fields are compared by: trimmed, and in Unicode's composed form (NFC), so that an
/// "a" with an umlaut behind it is the one character. What is not UTF-8 is only trimmed.
std::string plain_text(std::string_view text);
/// The same without a difference between capitals and small letters: for hints.
std::string caseless(std::string_view text);

/// All of it is ASCII: plain_text() has nothing to compose.
bool is_ascii(std::string_view text);

}  // namespace muffle::schema
