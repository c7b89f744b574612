#pragma once

#include <chrono>

namespace muffle::comm {

using Clock = std::chrono::steady_clock;

/// Pauses between polls of an operation that MPI or NCCL drives only when asked: it yields the processor at
/// first, for latency, then sleeps, longer and longer up to `longest`, so that waiting ranks leave the cores
/// to working ones.
class Backoff {
 public:
  explicit Backoff(std::chrono::microseconds longest = std::chrono::milliseconds(1)) : longest_(longest) {}
  void pause();
  /// True once the short waits are over: the time to look at anything but the operation itself.
  bool sleeping() const { return sleeping_; }

 private:
  std::chrono::microseconds longest_;
  Clock::time_point start_ = Clock::now();
  std::chrono::microseconds sleep_{20};
  bool sleeping_ = false;
};

double seconds_between(Clock::time_point from, Clock::time_point to);

}  // namespace muffle::comm
