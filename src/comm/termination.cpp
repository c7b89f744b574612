#include "muffle/comm/termination.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>

#include "muffle/core/error.hpp"

namespace muffle::comm {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

void note_stop(int) { stop_requested = 1; }

}  // namespace

void install_termination_handler() {
  struct sigaction action {};
  action.sa_handler = note_stop;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // file reads elsewhere go on; only the waits look at the flag
  if (sigaction(SIGTERM, &action, nullptr) != 0) {
    throw IoError(std::string("cannot install a handler for SIGTERM: ") + std::strerror(errno));
  }
}

bool termination_requested() noexcept { return stop_requested != 0; }

void clear_termination_request() noexcept { stop_requested = 0; }

}  // namespace muffle::comm
