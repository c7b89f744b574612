#pragma once

#include <sodium.h>

#include <vector>

namespace muffle {

/// Overwrites the numbers with zeros, in a way that no compiler leaves out; the vector keeps its length.
template <class T>
void wipe(std::vector<T>& values) {
  if (!values.empty()) sodium_memzero(values.data(), values.size() * sizeof(T));
}

}  // namespace muffle
