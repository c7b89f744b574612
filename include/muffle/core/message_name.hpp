#pragma once

#include <string_view>

namespace muffle {

/// Whether a message between institutions may be called so: 1 to 128 of a-z, A-Z, 0-9, '.', '_' and '-',
/// beginning with a letter or a digit: a file's name everywhere, and a piece of an address as it is.
bool is_message_name(std::string_view name);

}  // namespace muffle
