#include "poll.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace muffle::comm {
namespace {

constexpr std::chrono::microseconds kSpinFor{50}, kShortest{20};
constexpr int kPartOfWait = 32;

}  // namespace

void Backoff::pause() {
  const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start_);
  if (!sleeping_) {
    sleeping_ = waited >= kSpinFor;
    sched_yield();
    return;
  }
  std::this_thread::sleep_for(std::min(longest_, std::max(kShortest, waited / kPartOfWait)));
}

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace muffle::comm
