#pragma once

#include <string>
#include <string_view>

namespace muffle {

/// Text of a stranger as it may stand in HTML, between tags or in a quoted attribute: printable(), and no
/// character that means something there.
std::string html_escaped(std::string_view text);

}  // namespace muffle
