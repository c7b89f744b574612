#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace muffle {

/// A progress line on stderr: rewritten in place on a terminal, one plain line every few seconds elsewhere.
/// Shows count, total, rate and time left; without a total, count and time alone. Only rank 0 constructs an
/// enabled one. Not thread-safe. Counts are public numbers (records per rank, steps); nothing private goes
/// into `note`.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kNoTotal = ~std::uint64_t{0};  ///< nobody knows it
  /// @param begun_at  done before this process began, such as the steps of a checkpoint: no part of the rate
  /// @param now       the time (tests)
  Progress(std::string title, std::uint64_t total, std::string unit, bool enabled, std::uint64_t begun_at = 0,
           std::function<Clock::time_point()> now = Clock::now);
  /// Prints the last state and ends the line.
  ~Progress();
  Progress& operator=(Progress&&) = delete;
  /// Whether progress lines are shown at all in this process (`-q`); set_up_logging sets it.
  static void show(bool yes);

  /// `done` so far, out of total; `note` is shown at the end of the line, such as "loss 0.0123".
  void update(std::uint64_t done, const std::string& note = {});

 private:
  void print(bool last);

  std::string title_;
  std::string unit_;
  std::string note_;
  std::uint64_t total_;
  std::uint64_t begun_at_;
  std::uint64_t done_;
  bool enabled_;
  bool terminal_ = false;
  std::function<Clock::time_point()> now_;
  Clock::time_point start_;
  Clock::time_point last_print_;
};

}  // namespace muffle
