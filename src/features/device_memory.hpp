#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "../core/cuda_check.hpp"

namespace muffle::features {

/// Device memory, zero at first, that is overwritten with zeros before it is given back. The device must be
/// current at both ends.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : size_(size) {
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()),
               "cudaMalloc of " + std::to_string(bytes()) + " bytes");
    cudaError_t code = cudaMemset(data_, 0, bytes());
    // On the default stream, for which streams of our own do not wait: or it could come after their writes.
    if (code == cudaSuccess) code = cudaDeviceSynchronize();
    if (code != cudaSuccess) {
      static_cast<void>(cudaFree(data_));
      check_cuda(code, "clearing memory");
    }
  }
  ~DeviceArray() {
    // After an error of the device these fail: then nothing can be done, and the driver clears memory before
    // it hands it to another process.
    static_cast<void>(cudaMemset(data_, 0, bytes()));
    static_cast<void>(cudaDeviceSynchronize());
    static_cast<void>(cudaFree(data_));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::size_t bytes() const { return size_ * sizeof(T) + (size_ == 0 ? 1 : 0); }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

/// Pinned host memory, likewise.
template <typename T>
class PinnedArray {
 public:
  explicit PinnedArray(std::size_t size) : size_(size) {
    check_cuda(cudaMallocHost(reinterpret_cast<void**>(&data_), bytes()),
               "cudaMallocHost of " + std::to_string(bytes()) + " bytes");
  }
  ~PinnedArray() {
    explicit_bzero(data_, bytes());
    static_cast<void>(cudaFreeHost(data_));
  }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;

  T* data() const { return data_; }
  std::size_t bytes() const { return size_ * sizeof(T) + (size_ == 0 ? 1 : 0); }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

}  // namespace muffle::features
