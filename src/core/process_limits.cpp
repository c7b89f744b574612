#include "muffle/core/process_limits.hpp"

#include <sys/resource.h>

#include <initializer_list>

#include "muffle/core/standard_streams.hpp"

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

}  // namespace muffle
