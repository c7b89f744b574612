#include "muffle/core/watchdog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace muffle {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Never destroyed: a step may end while the process does.
std::mutex& WatchedStep::mutex() {
  static auto* const m = new std::mutex;
  return *m;
}

std::list<WatchedStep::Entry>& WatchedStep::entries() {
  static auto* const all = new std::list<Entry>;
  return *all;
}

WatchedStep::WatchedStep(const char* doing, const std::filesystem::path& what) {
  const std::lock_guard lock(mutex());
  try {
    entry_ = entries().insert(entries().end(), {doing, &what, Clock::now()});
  } catch (const std::bad_alloc&) {
    entry_ = entries().end();  // not watched: steps stand in destructors too, which may not throw
  }
}

WatchedStep::~WatchedStep() {
  const std::lock_guard lock(mutex());
  if (entry_ != entries().end()) entries().erase(entry_);
}

Watchdog::Watchdog(milliseconds deadline, std::function<void(const std::string&)> expired)
    : expired_(std::move(expired)), deadline_(deadline), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Watchdog::set_deadline(milliseconds deadline) {
  const std::lock_guard lock(mutex_);
  deadline_ = deadline;
}

void Watchdog::watch() {
  constexpr milliseconds kLookEvery{200};  // it fires at most this much late
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::min(kLookEvery, deadline_), [this] { return ending_; })) {
    const std::string expired = expired_step(Clock::now(), deadline_);
    if (expired.empty()) continue;
    lock.unlock();
    expired_(expired);
    return;
  }
}

std::string Watchdog::expired_step(Clock::time_point now, milliseconds deadline) {
  const std::lock_guard lock(WatchedStep::mutex());
  // In the order in which they began, so the first has lasted longest.
  for (const auto& step : WatchedStep::entries()) {
    if (now - step.since < deadline) return {};
    return fmt::format(
        "{} '{}' has not come to an end within {:.1f} s: the disk, file system, network or device behind it "
        "hangs or is far too slow. Mend it, or raise runtime.deadline_s (muffle doctor: --deadline)",
        step.doing, step.what->string(), static_cast<double>(deadline.count()) / 1000);
  }
  return {};
}

}  // namespace muffle
