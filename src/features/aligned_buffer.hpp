#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace muffle::features {

/// A fixed-length array of numbers that begins on a cache line, zero-filled.
template <typename T>
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::size_t size)
      : data_(static_cast<T*>(::operator new(std::max<std::size_t>(size, 1) * sizeof(T), kAlignment))),
        size_(size) {
    std::uninitialized_fill_n(data_.get(), size, T{});
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(T* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_;
};

}  // namespace muffle::features
