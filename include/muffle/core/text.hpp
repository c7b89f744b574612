#pragma once

#include <string>
#include <string_view>

namespace muffle {

/// Text of a stranger as it may go to a terminal or a log: one line, UTF-8, nothing that moves the cursor,
/// rings, colours or turns the direction. Every control character (C0, DEL, and C1, which terminals obey
/// too), line separator, direction mark and byte that is no UTF-8 becomes '?'; all else stays as it is.
std::string printable(std::string_view text);

/// Shortest decimal text that reads back as the same double ("0.1", "1e-05"); "nan", "inf" for those.
std::string exact_text(double value);

/// So many significant digits of a number from 1e-12 to 1e9, fewer if they are zeros: what is read back is
/// not below it, or not above it. exact_text() where that is short enough, and for other numbers.
std::string rounded_up_text(double value, int digits);
std::string rounded_down_text(double value, int digits);

/// An ASCII digit, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace muffle
