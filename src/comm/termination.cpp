#include "muffle/comm/termination.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "muffle/core/error.hpp"

namespace muffle::comm {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

volatile std::sig_atomic_t last_code = 0;

void note_stop(int) { stop_requested = 1; }

void stop_now(int) { ::_exit(last_code); }

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

void exit_on_termination(int exit_code) noexcept {
  last_code = exit_code;
  struct sigaction action {};
  action.sa_handler = stop_now;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
  if (termination_requested()) ::_exit(exit_code);
}

void clear_termination_request() noexcept { stop_requested = 0; }

}  // namespace muffle::comm
