#include "muffle/core/process.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <omp.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>

namespace muffle {

void forbid_core_dumps() {
  for (const rlim_t limit : {rlim_t{1}, rlim_t{0}}) {
    const rlimit none{limit, limit};
    if (::setrlimit(RLIMIT_CORE, &none) == 0) return;
  }
  last_words("core dumps could not be switched off; one would hold private records");
}

void allow_many_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &files));
}

void secure_standard_streams() noexcept {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number: this one, as those below it are open by now.
    static_cast<void>(::open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY));
  }
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
}

bool flush_standard_output() noexcept {
  try {
    std::cout.flush();
    return std::cout.good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  } catch (...) {
    return false;
  }
}

void last_words(const char* text) noexcept {
  static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text)));
  static_cast<void>(!::write(STDERR_FILENO, "\n", 1));
}

CoreFacts core_facts() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CoreFacts facts;
  facts.online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  facts.allowed = ::sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : facts.online;
  facts.quota = core_quota();
  const char* const asked = std::getenv("OMP_NUM_THREADS");  // a list, perhaps
  facts.asked = asked == nullptr ? 0 : std::max(0, std::atoi(asked));
  return facts;
}

int owned_cores(const CoreFacts& facts, int processes_here, int same_mask) {
  processes_here = std::max(1, processes_here);
  // A mask smaller than the machine: a launcher's binding, or a limit that ranks with the same mask share.
  int cores = std::min(facts.allowed / std::max(1, same_mask), facts.online / processes_here);
  if (facts.quota > 0) cores = std::min(cores, static_cast<int>(facts.quota / processes_here));
  if (facts.asked > 0) cores = std::min(cores, facts.asked);
  return std::max(1, cores);
}

std::string affinity_mask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return "unknown";
  std::string text;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &mask)) text += (text.empty() ? "" : ",") + std::to_string(i);
  }
  return text;
}

std::string control_group() {
  std::ifstream in("/proc/self/cgroup");
  std::string line;
  std::getline(in, line);
  return line.rfind("0::", 0) == 0 ? "/sys/fs/cgroup" + line.substr(3) : "";
}

double core_quota() {
  double least = 0;
  std::filesystem::path group = control_group();
  while (group.string().size() > std::string_view("/sys/fs").size()) {
    std::ifstream limit(group / "cpu.max");
    double quota = 0, period = 0;  // "max 100000": no limit
    if (limit >> quota >> period && period > 0) {
      const double cores = quota / period;
      least = least > 0 ? std::min(least, cores) : cores;
    }
    group = group.parent_path();
  }
  return least;
}

void set_compute_threads(int threads) {
  threads = std::max(1, threads);
  omp_set_num_threads(threads);
  // Debian's OpenBLAS has threads of its own, one per core of the machine, and LibTorch does not limit them.
  if (void* symbol = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
    reinterpret_cast<void (*)(int)>(symbol)(threads);
}

std::string blas_kernels() {
  void* const symbol = ::dlsym(RTLD_DEFAULT, "openblas_get_corename");
  return symbol == nullptr ? "" : reinterpret_cast<const char* (*)()>(symbol)();
}

std::string better_blas_kernels([[maybe_unused]] std::string_view kernels) {
#ifdef __x86_64__
  if (kernels != "Prescott" || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return "";
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
  return wide ? "SkylakeX" : "Haswell";
#else
  return "";
#endif
}

void help_blas() {
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) return;
  // Global, so that its names are found. It is never closed: it may have threads.
  if (::dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_GLOBAL) == nullptr) return;
  if (const std::string better = better_blas_kernels(blas_kernels()); !better.empty())
    ::setenv("OPENBLAS_CORETYPE", better.c_str(), 1);
}

}  // namespace muffle
