#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace muffle {

/// What others wrote as JSON; not readable: discarded. What is nested deeper than anything of muffle's is
/// left out, so that no text makes dump() use up the stack: spelt again it is then another text.
nlohmann::json parse_json(std::string_view text);

}  // namespace muffle
