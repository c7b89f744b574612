#include "poll.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace muffle::comm {
namespace {

constexpr std::chrono::microseconds kSpinFor{50};

}  // namespace

void Backoff::pause() {
  if (!sleeping_) {
    sleeping_ = Clock::now() - start_ >= kSpinFor;
    sched_yield();
    return;
  }
  std::this_thread::sleep_for(sleep_);
  sleep_ = std::min(longest_, sleep_ + sleep_ / 4);
}

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace muffle::comm
