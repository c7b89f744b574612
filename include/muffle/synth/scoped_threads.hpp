#pragma once

namespace muffle::synth {

/// Sets the thread counts of LibTorch, OpenMP and OpenBLAS for its own lifetime; then the count that LibTorch
/// had before holds for all three. They belong to the process: no other thread may compute with LibTorch
/// meanwhile, unless with the same count.
class ScopedThreads {
 public:
  explicit ScopedThreads(int threads);
  ~ScopedThreads();
  ScopedThreads& operator=(ScopedThreads&&) = delete;

 private:
  int before_;
};

}  // namespace muffle::synth
