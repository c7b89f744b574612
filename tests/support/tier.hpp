#pragma once

#include <cstdlib>
#include <string_view>

namespace muffle::test {

/// Whether `launch/test.sh thorough` asks: then tests of chance and of every step do all of them, otherwise a
/// slice.
inline bool thorough() {
  const char* tier = std::getenv("MUFFLE_TIER");
  return tier != nullptr && std::string_view(tier) == "thorough";
}

}  // namespace muffle::test
