#pragma once

#include <string>

namespace muffle::app {

/// What became of a key that an earlier muffle had: how it is written now; empty for keys that there never
/// were.
std::string renamed_key(const std::string& key);

}  // namespace muffle::app
