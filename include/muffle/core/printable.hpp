#pragma once

#include <string>
#include <string_view>

namespace muffle {

/// Text of a stranger as it may go to a terminal or a log: one line, UTF-8, nothing that moves the cursor,
/// rings, colours or turns the direction. Every control character (C0, DEL, and C1, which terminals obey
/// too), line separator, direction mark and byte that is no UTF-8 becomes '?'; all else stays as it is.
std::string printable(std::string_view text);

}  // namespace muffle
