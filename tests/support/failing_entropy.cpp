// A library for LD_PRELOAD, whose getrandom(2) fails like a kernel without entropy.
//   MUFFLE_FAIL_ENTROPY=noise      requests of 256 bytes fail, as which libsodium asks for blocks of noise;
//                                  keys, ids and salts (smaller) still come
//   MUFFLE_FAIL_ENTROPY=noise:N    the first N of those requests are still answered
//   MUFFLE_FAIL_ENTROPY=all        everything fails, and so does opening /dev/urandom and /dev/random
//   MUFFLE_FAIL_ENTROPY_RANK=R     on MPI rank R only
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/random.h>

#include <atomic>
#include <string>
#include <string_view>

namespace {

/// MUFFLE_FAIL_ENTROPY, if it is meant for this rank.
const std::string& mode() {
  static const std::string text = [] {
    const char* const mode = ::getenv("MUFFLE_FAIL_ENTROPY");
    const char* const only = ::getenv("MUFFLE_FAIL_ENTROPY_RANK");
    const char* const rank = ::getenv("OMPI_COMM_WORLD_RANK");
    const bool mine = only == nullptr || (rank != nullptr && std::string_view(only) == rank);
    return std::string(mode != nullptr && mine ? mode : "");
  }();
  return text;
}

int refuse() {
  errno = EIO;
  return -1;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t getrandom(void* out, size_t n, unsigned flags) {
  static const long answered = mode().starts_with("noise:") ? std::stol(mode().substr(6)) : 0;
  static std::atomic<long> blocks = 0;
  if (mode() == "all" || (mode().starts_with("noise") && n == 256 && ++blocks > answered)) return refuse();
  return next<ssize_t(void*, size_t, unsigned)>("getrandom")(out, n, flags);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t permissions = va_arg(rest, mode_t);
  va_end(rest);
  const std::string_view name = path;
  if (mode() == "all" && (name == "/dev/urandom" || name == "/dev/random")) return refuse();
  return next<int(const char*, int, ...)>("open")(path, flags, permissions);
}
}
