// A library for LD_PRELOAD, in whose programs it is MUFFLE_CLOCK_AHEAD seconds later than it is: what waits
// for a day in a test need not wait. Clocks that measure how long something takes go as they do.
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

namespace {

time_t ahead() {
  const char* const seconds = ::getenv("MUFFLE_CLOCK_AHEAD");
  return seconds == nullptr ? 0 : static_cast<time_t>(::atol(seconds));
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const auto real =
      reinterpret_cast<int (*)(clockid_t, timespec*)>(::dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += ahead();
  return result;
}

extern "C" time_t time(time_t* out) noexcept {
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}
