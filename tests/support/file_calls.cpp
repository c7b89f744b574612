// A library for LD_PRELOAD that sees a program's file operations, and lets them hang. By the environment:
//
// - MUFFLE_HANG=CALL@NAME: CALL (open, flock, ... as below) never returns for a path that has NAME in it;
// - MUFFLE_HANG_RANK=R: on MPI rank R only;
// - MUFFLE_UNWATCHED=NAME:FILE: appends to FILE a line CALL@PATH for each call whose path has NAME in it and
//   which no WatchedStep looks after; for a program that exports its symbols.
//
// What the C library calls of itself is not seen: fopen() stands for its open(), its reads and writes for
// none.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <list>

namespace {

/// Whether the program has a WatchedStep now, on any thread; also where it has none to ask.
bool watched() {
  // Any list will do to ask for its emptiness.
  using Entries = std::list<int>& (*)();
  static const auto entries =
      reinterpret_cast<Entries>(::dlsym(RTLD_DEFAULT, "_ZN6muffle11WatchedStep7entriesB5cxx11Ev"));
  return entries == nullptr || !entries().empty();
}

void note_unwatched(const char* call, const char* path) {
  const char* const setting = ::getenv("MUFFLE_UNWATCHED");
  const char* const file = setting != nullptr ? ::strchr(setting, ':') : nullptr;
  if (file == nullptr ||
      ::memmem(path, ::strlen(path), setting, static_cast<size_t>(file - setting)) == nullptr || watched())
    return;
  char line[4096 + 64];
  const int n = ::snprintf(line, sizeof line, "%s@%s\n", call, path);
  const long fd = ::syscall(SYS_openat, AT_FDCWD, file + 1, O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::syscall(SYS_write, fd, line, n);
  ::syscall(SYS_close, fd);
}

void hang_if_asked(const char* call, const char* path) {
  const char* const hang = ::getenv("MUFFLE_HANG");
  const char* const at = hang != nullptr ? ::strchr(hang, '@') : nullptr;
  if (at == nullptr || ::strlen(call) != static_cast<size_t>(at - hang) ||
      ::strncmp(hang, call, static_cast<size_t>(at - hang)) != 0 || ::strstr(path, at + 1) == nullptr)
    return;
  const char* const only = ::getenv("MUFFLE_HANG_RANK");
  const char* const rank = ::getenv("OMPI_COMM_WORLD_RANK");
  if (only != nullptr && (rank == nullptr || ::strcmp(only, rank) != 0)) return;
  for (;;) ::pause();
}

/// Allocates nothing: it is called before main() too.
void look(const char* call, const char* path) {
  if (path == nullptr) return;
  note_unwatched(call, path);
  hang_if_asked(call, path);
}

void look(const char* call, int fd) {
  char link[32], path[4096];
  ::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const long n = ::syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (n <= 0) return;
  path[n] = 0;
  look(call, path);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// A call that looks at its first argument, a path or a descriptor.
#define PASS(result, name, parameters, subject, ...)    \
  result name parameters {                              \
    look(#name, subject);                               \
    return next<result parameters>(#name)(__VA_ARGS__); \
  }

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  look("open", path);
  return next<int(const char*, int, ...)>("open")(path, flags, mode);
}

PASS(FILE*, fopen, (const char* path, const char* mode), path, path, mode)
PASS(FILE*, fopen64, (const char* path, const char* mode), path, path, mode)
PASS(DIR*, opendir, (const char* path), path, path)
PASS(int, mkostemp, (char* path, int flags), path, path, flags)
PASS(int, mkstemp, (char* path), path, path)
PASS(int, stat, (const char* path, struct stat* out), path, path, out)
PASS(int, lstat, (const char* path, struct stat* out), path, path, out)
PASS(int, access, (const char* path, int mode), path, path, mode)
PASS(int, statvfs, (const char* path, struct statvfs* out), path, path, out)
PASS(int, rename, (const char* from, const char* to), to, from, to)
PASS(int, link, (const char* from, const char* to), to, from, to)
PASS(int, unlink, (const char* path), path, path)
PASS(int, remove, (const char* path), path, path)
PASS(int, mkdir, (const char* path, mode_t mode), path, path, mode)
PASS(char*, realpath, (const char* path, char* out), path, path, out)
PASS(ssize_t, readlink, (const char* path, char* out, size_t n), path, path, out, n)
PASS(int, fstat, (int fd, struct stat* out), fd, fd, out)
PASS(int, flock, (int fd, int operation), fd, fd, operation)
PASS(int, fsync, (int fd), fd, fd)
PASS(int, ftruncate, (int fd, off_t size), fd, fd, size)
PASS(int, fallocate, (int fd, int mode, off_t at, off_t size), fd, fd, mode, at, size)
PASS(int, fchmod, (int fd, mode_t mode), fd, fd, mode)
PASS(ssize_t, read, (int fd, void* out, size_t n), fd, fd, out, n)
PASS(ssize_t, pread, (int fd, void* out, size_t n, off_t at), fd, fd, out, n, at)
PASS(ssize_t, write, (int fd, const void* bytes, size_t n), fd, fd, bytes, n)
PASS(int, close, (int fd), fd, fd)
}
