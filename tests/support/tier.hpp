#pragma once

#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace muffle::test {

/// Whether `launch/test.sh thorough` asks: then tests of chance and of every step do all of them, otherwise a
/// slice.
inline bool thorough() {
  const char* tier = std::getenv("MUFFLE_TIER");
  return tier != nullptr && std::string_view(tier) == "thorough";
}

/// All of them where `launch/test.sh thorough` asks, otherwise the one of turn `which`: so many cases, each
/// with one of these, have them all.
template <class T>
std::vector<T> slice(std::initializer_list<T> all, std::size_t which) {
  if (thorough()) return all;
  return {all.begin()[which % all.size()]};
}

}  // namespace muffle::test
