#include "muffle/core/process.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>

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

}  // namespace muffle
