#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace muffle {

/// While it lives, the calling thread is in a call that may block for as long as a disk or a network file
/// system likes: the Watchdog looks after it. Cheap: a lock at either end.
class WatchedStep {
 public:
  /// Both must outlive it. @param doing  "reading"; @param what  usually a file.
  WatchedStep(const char* doing, const std::filesystem::path& what);
  WatchedStep(const char* doing, const std::filesystem::path&& what) = delete;  // it would be gone
  ~WatchedStep();
  WatchedStep& operator=(WatchedStep&&) = delete;

 private:
  struct Entry {
    const char* doing;
    const std::filesystem::path* what;
    std::chrono::steady_clock::time_point since;
  };
  friend class Watchdog;
  static std::mutex& mutex();
  static std::list<Entry>& entries();
  std::list<Entry>::iterator entry_;
};

/// A thread that looks at the process's watched steps, so that a rank whose main thread is stuck in a system
/// call still ends at its deadline, says why, and ends the other ranks. (Collectives, comm/host_comm.hpp,
/// hold deadlines of their own, which serve where a process is stopped.) One a process, owned by main.
class Watchdog {
 public:
  /// @param expired  called once, on the watchdog's thread, with a sentence that names the step that has
  /// lasted longer than the deadline; it ends the process, as nothing else frees the thread that is stuck.
  Watchdog(std::chrono::milliseconds deadline, std::function<void(const std::string&)> expired);
  ~Watchdog();

  /// Holds for steps that have begun too.
  void set_deadline(std::chrono::milliseconds deadline);

  /// A sentence that names the step that at `now` has lasted longest, if it is the deadline or more; else "".
  static std::string expired_step(std::chrono::steady_clock::time_point now,
                                  std::chrono::milliseconds deadline);

 private:
  void watch();

  std::function<void(const std::string&)> expired_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::chrono::milliseconds deadline_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace muffle
