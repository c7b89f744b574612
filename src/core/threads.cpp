#include "muffle/core/threads.hpp"

#include <dlfcn.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace muffle {
namespace {

/// OMP_NUM_THREADS, by which users and batch scripts say how many cores a rank was given; 0 if it says
/// nothing. Its first number, where it is a list.
int asked_threads() {
  const char* const text = std::getenv("OMP_NUM_THREADS");
  return text == nullptr ? 0 : std::max(0, std::atoi(text));
}

}  // namespace

int owned_cores(int processes_here) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  const int all = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  const int allowed = ::sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : all;
  // A mask smaller than the machine is a launcher's binding, or a container's limit that all ranks here
  // share.
  const int share = all / std::max(1, processes_here);
  const int owned = std::max(1, std::min(allowed, share));
  const int asked = asked_threads();
  return asked > 0 ? std::min(owned, asked) : owned;
}

void set_compute_threads(int threads) {
  threads = std::max(1, threads);
  omp_set_num_threads(threads);
  // Debian's OpenBLAS has threads of its own, one per core of the machine, and LibTorch does not limit them.
  if (void* symbol = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<void (*)(int)>(symbol)(threads);
  }
}

}  // namespace muffle
