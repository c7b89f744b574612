#include "muffle/core/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <utility>

namespace muffle {
namespace {
constexpr auto kTerminalPeriod = std::chrono::milliseconds(200);
constexpr auto kPlainPeriod = std::chrono::seconds(5);

std::atomic<bool> shown = true;

std::string duration_text(double seconds) {
  const long s = std::lround(seconds);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}
}  // namespace

Progress::Progress(std::string title, std::uint64_t total, std::string unit, bool enabled,
                   std::uint64_t begun_at, std::function<Clock::time_point()> now)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      total_(total),
      begun_at_(begun_at),
      done_(begun_at),
      enabled_(enabled && shown),
      terminal_(::isatty(STDERR_FILENO) == 1),
      now_(std::move(now)),
      start_(now_()),
      last_print_(start_) {}

void Progress::show(bool yes) { shown = yes; }

Progress::~Progress() {
  if (enabled_) print(true);
}

void Progress::update(std::uint64_t done, const std::string& note) {
  done_ = done;
  note_ = note;
  if (!enabled_) return;
  const auto now = now_();
  if (terminal_ ? now - last_print_ < kTerminalPeriod : now - last_print_ < kPlainPeriod) return;
  last_print_ = now;
  print(false);
}

void Progress::print(bool last) {
  const double elapsed = std::chrono::duration<double>(now_() - start_).count();
  const double rate = elapsed > 0 ? static_cast<double>(done_ - begun_at_) / elapsed : 0.0;
  std::string tail = fmt::format("in {}", duration_text(elapsed));
  if (!last && rate > 0 && total_ != kNoTotal && total_ >= done_) {
    tail = fmt::format("{} left", duration_text(static_cast<double>(total_ - done_) / rate));
  }
  const double percent =
      total_ > 0 ? 100.0 * static_cast<double>(done_) / static_cast<double>(total_) : 100.0;
  const std::string note = note_.empty() ? "" : ", " + note_;
  const std::string line = total_ == kNoTotal
                               ? fmt::format("{}: {} {}, {}{}", title_, done_, unit_, tail, note)
                               : fmt::format("{}: {}/{} {} ({:.0f}%), {:.4g} {}/s, {}{}", title_, done_,
                                             total_, unit_, percent, rate, unit_, tail, note);
  if (terminal_) {
    std::fprintf(stderr, "\r\033[K%s%s", line.c_str(), last ? "\n" : "");
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  std::fflush(stderr);
}

}  // namespace muffle
