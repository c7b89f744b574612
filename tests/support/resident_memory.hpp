#pragma once

#include <malloc.h>

#include <fstream>
#include <string>

namespace muffle::test {

/// Of this process's resident memory, kB: "VmRSS" now, or "VmHWM" at its peak. (getrusage would count the
/// parent's from before exec.)
inline long resident_kb(const std::string& which) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(which + ":", 0) == 0) return std::stol(line.substr(which.size() + 1));
  }
  return -1;
}

/// The peak begins anew.
inline void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

/// Freed blocks of a megabyte and more are resident no longer, in any thread: what is measured is then what
/// is held at a time, and not what glibc keeps of it for the next (up to 64 MB a thread, by chance of who
/// frees when).
inline void keep_no_freed_memory() { mallopt(M_MMAP_THRESHOLD, 1 << 20); }

/// kB by which the peak rises above what is resident before.
template <class Work>
long rise_kb(const Work& work) {
  malloc_trim(0);  // what is free is not resident
  forget_peak();
  const long before = resident_kb("VmRSS");
  work();
  return resident_kb("VmHWM") - before;
}

}  // namespace muffle::test
