#pragma once

#include <sodium.h>

#include <type_traits>
#include <utility>
#include <vector>

namespace muffle {

/// Overwrites the numbers with zeros, in a way that no compiler leaves out; the vector keeps its length.
template <class T>
void wipe(std::vector<T>& values) {
  if (!values.empty()) sodium_memzero(values.data(), values.size() * sizeof(T));
}

/// Numbers that are wiped when they go, also when an exception passes by. Move-only.
template <class T>
struct Wiped {
  explicit Wiped(std::vector<T>&& numbers = {}) : values(std::move(numbers)) {}
  Wiped(Wiped&&) noexcept = default;
  ~Wiped() { wipe(values); }

  std::vector<T> values;
};
static_assert(!std::is_copy_constructible_v<Wiped<int>> && !std::is_move_assignable_v<Wiped<int>>);

}  // namespace muffle
