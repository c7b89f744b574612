#pragma once

#include <chrono>

namespace muffle::comm {

using Clock = std::chrono::steady_clock;

/// Pauses between polls of an operation that MPI or NCCL drives only when asked: it yields the processor at
/// first, for latency, then sleeps, so that waiting ranks leave the cores to working ones: a small part of
/// the time waited already, up to `longest`. A long message goes in many pieces, each driven by a poll:
/// sleeps that grow faster would make it take a hundred times as long.
class Backoff {
 public:
  explicit Backoff(std::chrono::microseconds longest = std::chrono::milliseconds(1)) : longest_(longest) {}
  void pause();
  /// True once the short waits are over: the time to look at anything but the operation itself.
  bool sleeping() const { return sleeping_; }

 private:
  std::chrono::microseconds longest_;
  Clock::time_point start_ = Clock::now();
  bool sleeping_ = false;
};

double seconds_between(Clock::time_point from, Clock::time_point to);

}  // namespace muffle::comm
