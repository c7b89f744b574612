#include "side_by_side.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace muffle::evaluate {
namespace {

/// Ends a task because another one has failed.
struct Abandoned {};

}  // namespace

void run_side_by_side(const std::vector<std::function<void(const Heartbeat&)>>& tasks, int threads,
                      const Heartbeat& heartbeat) {
  std::mutex one_at_a_time;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr first_error;
  const auto fail = [&] {
    if (!failed.exchange(true)) first_error = std::current_exception();
  };
  const Heartbeat shared = [&] {
    const std::lock_guard lock(one_at_a_time);
    if (failed) throw Abandoned{};
    try {
      beat(heartbeat);
    } catch (...) {
      fail();  // still under the lock: after an error nobody beats any more
      throw;
    }
  };
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size() && !failed; i = next++) {
      try {
        tasks[i](shared);
      } catch (...) {
        fail();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (int i = 1; i < std::min(threads, static_cast<int>(tasks.size())); ++i) helpers.emplace_back(work);
    work();
  }
  if (first_error) std::rethrow_exception(first_error);
}

}  // namespace muffle::evaluate
