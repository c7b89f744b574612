#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "mpi_comm.hpp"
#include "muffle/comm/termination.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::comm {
namespace {

/// Unlike a thread's, the kernel's timer runs on in a process that is stopped, and SIGKILL ends that too.
void end_myself_after(std::chrono::milliseconds most) noexcept {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  const auto s = std::chrono::duration_cast<std::chrono::seconds>(most);
  itimerspec when{};
  when.it_value.tv_sec = s.count();
  when.it_value.tv_nsec = std::chrono::nanoseconds(most - s).count();
  timer_t timer{};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && ::timer_settime(timer, 0, &when, nullptr) == 0)
    return;
  spdlog::debug("no timer for this process's end ({}): its launcher would wait for one that is stopped there",
                std::strerror(errno));
}

void meet_all(std::chrono::milliseconds deadline) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
  wait_or_throw(request, "ending the MPI session", deadline, MpiOptions{}.stop_within);
}

}  // namespace

MpiSession::MpiSession(int* argc, char*** argv) {
  int initialized = 0;
  check_mpi(MPI_Initialized(&initialized), "MPI_Initialized");
  require(!initialized, "MPI is up already: there is one MpiSession per process");
  int offered = MPI_THREAD_SINGLE;
  {
    static const std::filesystem::path kCall = "MPI_Init_thread";  // waits for every rank to come
    const WatchedStep step("the call of", kCall);
    check_mpi(MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &offered), "MPI_Init_thread");
  }
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  if (offered < MPI_THREAD_SERIALIZED) {
    throw CommError("this MPI offers no MPI_THREAD_SERIALIZED; use a build of MPI with thread support");
  }
}

std::string MpiSession::library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  // Some libraries count the terminator in.
  const std::string whole(text, strnlen(text, static_cast<std::size_t>(length)));
  return whole.substr(0, whole.find('\n'));
}

std::unique_ptr<HostComm> MpiSession::world(const MpiOptions& options) {
  if (options.deadline.count() <= 0) {
    throw ConfigError(
        fmt::format("the communication deadline is {} ms; it must be above 0", options.deadline.count()));
  }
  constexpr std::size_t kLongest = std::size_t{1} << 30;
  if (options.max_message_bytes < sizeof(std::uint64_t) || options.max_message_bytes > kLongest) {
    throw ConfigError(fmt::format("the longest MPI message is {} bytes; it must be between 8 and {}",
                                  options.max_message_bytes, kLongest));
  }
  if (options.notice_after.count() < 0 || options.termination_grace.count() < 0 ||
      options.stop_within.count() < 0) {
    throw ConfigError("notice_after, termination_grace and stop_within must not be negative");
  }
  deadline_ = options.deadline;
  return std::make_unique<MpiComm>(MPI_COMM_WORLD, options);
}

void MpiSession::abort(ExitCode code) noexcept {
  exit_on_termination(static_cast<int>(code));
  // There is nobody left to tell if this fails.
  static_cast<void>(MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code)));
  std::_Exit(static_cast<int>(code));
}

void MpiSession::finish() {
  int size = 1;
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  if (size > 1) {
    constexpr std::chrono::seconds kLastChance{2};  // so that those who wait give up first, and say so
    constexpr std::chrono::milliseconds kLongest = std::chrono::minutes(10);
    const auto most = std::min(deadline_, kLongest);
    meet_all(deadline_);
    end_myself_after(most + kLastChance);
    meet_all(most);  // whoever stopped before its timer ran is missed here
  }
  static const std::filesystem::path kCall = "MPI_Finalize";  // has no non-blocking form
  const WatchedStep step("the call of", kCall);
  check_mpi(MPI_Finalize(), "MPI_Finalize");
}

}  // namespace muffle::comm
