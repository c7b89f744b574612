#pragma once

#include <atomic>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

/// What CUDA's device code says, for a CPU: a block's threads are threads of this process and meet at a
/// barrier; blocks run one after the other, so that shared memory can be static. Slow, and exact: every
/// intrinsic here is the IEEE operation that CUDA documents for it. It checks a kernel's indices,
/// synchronisation and arithmetic, and nothing about a GPU's memory or compiler.
namespace muffle::test::cuda {

struct Index {
  int x = 0, y = 0;
};

inline thread_local Index thread_index;
inline Index block_index;
inline std::barrier<>* block_barrier = nullptr;

/// kernel() once for each of `threads` threads of each of grid.x x grid.y blocks.
inline void launch(Index grid, int threads, const std::function<void()>& kernel) {
  for (block_index.y = 0; block_index.y < grid.y; ++block_index.y) {
    for (block_index.x = 0; block_index.x < grid.x; ++block_index.x) {
      std::barrier<> barrier(threads);
      block_barrier = &barrier;
      std::vector<std::jthread> running;
      for (int t = 0; t < threads; ++t) {
        running.emplace_back([&kernel, t] {
          thread_index = {t, 0};
          kernel();
        });
      }
    }
  }
}

}  // namespace muffle::test::cuda

#define threadIdx muffle::test::cuda::thread_index
#define blockIdx muffle::test::cuda::block_index
#define MUFFLE_DEVICE inline
#define MUFFLE_KERNEL
#define MUFFLE_SHARED static
#define MUFFLE_UNROLL

inline void __syncthreads() { muffle::test::cuda::block_barrier->arrive_and_wait(); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fsub_rn(float a, float b) { return a - b; }
/// Saturates, and gives 0 for NaN.
inline std::int32_t __float2int_rz(float v) {
  if (std::isnan(v)) return 0;
  if (v >= 0x1p31f) return INT32_MAX;
  if (v < -0x1p31f) return INT32_MIN;
  return static_cast<std::int32_t>(v);
}
template <typename T>
T atomicAdd(T* to, T value) {
  return std::atomic_ref<T>(*to).fetch_add(value);
}
template <typename T>
T atomicOr(T* to, T value) {
  return std::atomic_ref<T>(*to).fetch_or(value);
}
