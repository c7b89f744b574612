// A library for LD_PRELOAD, whose getrandom(2) fails like a kernel without entropy.
//   MUFFLE_FAIL_ENTROPY=noise      requests of 256 bytes fail, as which libsodium asks for blocks of noise;
//   keys,
//                                  ids and salts (smaller) still come
//   MUFFLE_FAIL_ENTROPY=noise:N    the first N of those requests are still answered
//   MUFFLE_FAIL_ENTROPY=all        everything fails, and so does opening /dev/urandom and /dev/random
//   MUFFLE_FAIL_ENTROPY_RANK=R     on MPI rank R only
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>

namespace {

constexpr size_t kBlock = 256;

struct Setting {
  bool noise = false, all = false;
  long answered = 0;
};

Setting read_setting() {
  Setting s;
  const char* mode = ::getenv("MUFFLE_FAIL_ENTROPY");
  const char* only = ::getenv("MUFFLE_FAIL_ENTROPY_RANK");
  const char* rank = ::getenv("OMPI_COMM_WORLD_RANK");
  if (mode == nullptr || (only != nullptr && (rank == nullptr || std::strcmp(only, rank) != 0))) return s;
  const std::string text = mode;
  s.all = text == "all";
  s.noise = text.rfind("noise", 0) == 0;
  if (text.rfind("noise:", 0) == 0) s.answered = std::stol(text.substr(6));
  return s;
}

const Setting& setting() {
  static const Setting s = read_setting();
  return s;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

bool refused(const char* path) {
  return setting().all && (std::strcmp(path, "/dev/urandom") == 0 || std::strcmp(path, "/dev/random") == 0);
}

}  // namespace

extern "C" {

ssize_t getrandom(void* out, size_t n, unsigned flags) {
  static std::atomic<long> blocks = 0;
  if (setting().all || (setting().noise && n == kBlock && ++blocks > setting().answered)) {
    errno = EIO;
    return -1;
  }
  return next<ssize_t (*)(void*, size_t, unsigned)>("getrandom")(out, n, flags);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  if (refused(path)) {
    errno = EIO;
    return -1;
  }
  return next<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}
}
