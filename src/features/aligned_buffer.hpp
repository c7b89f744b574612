#pragma once

#include <cstddef>
#include <vector>

namespace muffle::features {

/// A fixed-length array of numbers that begins on a cache line, zero-filled.
template <typename T>
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::size_t size) : lines_((size * sizeof(T) + sizeof(Line) - 1) / sizeof(Line)) {}
  T* data() { return reinterpret_cast<T*>(lines_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(lines_.data()); }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
};

}  // namespace muffle::features
