#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace muffle::comm {

using Clock = std::chrono::steady_clock;

/// Pauses between polls of an operation that MPI or NCCL drives only when asked: it yields the processor at
/// first, for latency, then sleeps, so that waiting ranks leave the cores to working ones: a small part of
/// the time waited already, up to `longest`. A long message goes in many pieces, each driven by a poll:
/// sleeps that grow faster would make it take a hundred times as long.
class Backoff {
 public:
  explicit Backoff(std::chrono::microseconds longest = std::chrono::milliseconds(1)) : longest_(longest) {}
  void pause() {
    constexpr std::chrono::microseconds kSpinFor{50}, kShortest{20};
    constexpr int kPartOfWait = 32;
    const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start_);
    if (!sleeping_) {
      sleeping_ = waited >= kSpinFor;
      sched_yield();
      return;
    }
    std::this_thread::sleep_for(std::min(longest_, std::max(kShortest, waited / kPartOfWait)));
  }
  /// True once the short waits are over: the time to look at anything but the operation itself.
  bool sleeping() const { return sleeping_; }

 private:
  std::chrono::microseconds longest_;
  Clock::time_point start_ = Clock::now();
  bool sleeping_ = false;
};

inline double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace muffle::comm
