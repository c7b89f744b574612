#pragma once

#include <cuda_runtime_api.h>

#include <deque>

#include "../core/cuda_check.hpp"
#include "muffle/comm/nccl_group.hpp"

namespace muffle::comm {

/// Times what is enqueued on streams of the current device, by events that are read once they are done.
class GpuStopwatch {
 public:
  ~GpuStopwatch() {
    for (const auto* pairs : {&running_, &idle_}) {
      for (const Pair& p : *pairs) {
        static_cast<void>(cudaEventDestroy(p.start));
        static_cast<void>(cudaEventDestroy(p.stop));
      }
    }
  }
  GpuStopwatch() = default;
  GpuStopwatch& operator=(GpuStopwatch&&) = delete;

  void start(cudaStream_t stream) {
    if (idle_.empty()) {
      Pair made;
      check_cuda(cudaEventCreateWithFlags(&made.start, cudaEventDefault), "cudaEventCreateWithFlags");
      idle_.push_back(made);
      check_cuda(cudaEventCreateWithFlags(&idle_.back().stop, cudaEventDefault), "cudaEventCreateWithFlags");
    }
    check_cuda(cudaEventRecord(idle_.back().start, stream), "cudaEventRecord");
  }
  void stop(cudaStream_t stream) {
    check_cuda(cudaEventRecord(idle_.back().stop, stream), "cudaEventRecord");
    running_.push_back(idle_.back());
    idle_.pop_back();
  }
  /// What is done, in order; what is not yet is left for later.
  void read() {
    while (!running_.empty()) {
      float ms = 0;
      const cudaError_t known = cudaEventElapsedTime(&ms, running_.front().start, running_.front().stop);
      if (known == cudaErrorNotReady) {
        static_cast<void>(cudaGetLastError());
        return;
      }
      check_cuda(known, "cudaEventElapsedTime");
      total_.seconds += static_cast<double>(ms) / 1000;
      ++total_.calls;
      idle_.push_back(running_.front());
      running_.pop_front();
    }
  }
  GpuTime total() const { return total_; }

 private:
  struct Pair {
    cudaEvent_t start = nullptr, stop = nullptr;
  };
  std::deque<Pair> running_, idle_;
  GpuTime total_;
};

}  // namespace muffle::comm
