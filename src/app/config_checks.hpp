#pragma once

#include <string>
#include <vector>

#include "muffle/app/config.hpp"

namespace muffle::app {

/// Everything that `stages` would stumble over: what they need and is not there, and values that do not go
/// together. Values that no stage could use are refused by the keys themselves. Makes the release's plan.
std::vector<std::string> contradictions(Config& config, const Stages& stages);

/// How a key or section of an earlier muffle is written now; empty for those that there never were.
std::string renamed_key(const std::string& key);

}  // namespace muffle::app
