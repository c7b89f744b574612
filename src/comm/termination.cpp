#include "muffle/comm/termination.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "muffle/comm/host_comm.hpp"

namespace muffle::comm {
namespace {

// Set by a handler on whichever thread the signal finds, read by all.
std::atomic<bool> told_to_stop{false};
std::atomic<bool> told_by_sigterm{false};
std::atomic<int> last_code{0};
thread_local int holds = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void note(int signal) {
  if (signal == SIGTERM) told_by_sigterm = true;
  told_to_stop = true;
}

void stop_now(int) { ::_exit(last_code); }

}  // namespace

std::string stopped_while(std::string_view doing) {
  return fmt::format(
      "told to stop (SIGTERM or SIGUSR1) while {}. Run the same command again: finished stages are kept",
      doing);
}

void install_termination_handler() {
  struct sigaction action {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // file reads elsewhere go on; only the waits look at the flag
  for (const int signal : {SIGTERM, SIGUSR1}) {
    if (sigaction(signal, &action, nullptr) != 0) {
      throw IoError(fmt::format("cannot install a handler for signal {}: {}", signal, std::strerror(errno)));
    }
  }
}

void end_on_termination() noexcept {
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGUSR1, SIG_DFL);
}

bool termination_requested() noexcept { return told_to_stop && holds == 0; }

void exit_on_termination(int exit_code) noexcept {
  last_code = exit_code;
  struct sigaction action {};
  action.sa_handler = stop_now;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
  if (told_by_sigterm) ::_exit(exit_code);
}

TerminationHold::TerminationHold() noexcept { ++holds; }

TerminationHold::~TerminationHold() { --holds; }

void clear_termination_request() noexcept {
  told_to_stop = false;
  told_by_sigterm = false;
}

void JobLife::check_peers(std::string_view doing) {
  if (termination_requested()) throw StoppedError(stopped_while(doing));
}

}  // namespace muffle::comm
