#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <thread>

#include "muffle/app/commands.hpp"
#include "muffle/comm/host_comm.hpp"
#include "muffle/comm/launcher.hpp"
#include "muffle/comm/mpi.hpp"
#include "muffle/comm/termination.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/process.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/privacy/entropy.hpp"
#include "program.hpp"

namespace {

// Owned by main for the whole process; connect() below hands out the communicator once the deadline is known.
std::unique_ptr<muffle::comm::MpiSession> session;
std::unique_ptr<muffle::comm::HostComm> world;
std::unique_ptr<muffle::Watchdog> watchdog;
bool is_root = true;  ///< outlives `world`

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<long long>(seconds * 1000.0));
}

/// @param deadline_s  of a wait for another rank  @param io_deadline_s  of one read or write
muffle::comm::HostComm& connect(double deadline_s, double io_deadline_s) {
  const auto deadline = milliseconds_of(deadline_s);
  watchdog->set_deadline(milliseconds_of(io_deadline_s));
  muffle::comm::install_termination_handler();
  world = session ? session->world({.deadline = deadline}) : muffle::comm::single_process();
  is_root = world->is_root();
  return *world;
}

/// The error's message: on the console, unless another rank says it, and in this rank's log.
void tell(const muffle::Error& e) noexcept {
  try {
    if (e.quiet()) {
      spdlog::debug("{}", e.what());
    } else {
      spdlog::error("{}", e.what());
    }
    spdlog::debug("exit {} ({}), thrown in {} line {}", static_cast<int>(e.code()),
                  muffle::describe(e.code()), e.where().file_name(), e.where().line());
  } catch (...) {
    muffle::last_words(e.what());
  }
}

/// Ends the process once everything is said and written, and MPI is over. Without the teardown of libraries:
/// it takes LibTorch a tenth of a second, in which a rank that is stopped (SIGSTOP) has no peer left to
/// notice it, and its launcher waits for ever.
[[noreturn]] void leave(int code) noexcept {
  try {
    spdlog::shutdown();
  } catch (...) {
  }
  std::fflush(nullptr);
  std::_Exit(code);
}

/// What a rank of a job that ended in order with this code ends with. Where a rank ends with another code
/// than 0, mpirun gives the others seconds for their last words, also if none is left. So launch/local.sh
/// names a file for the job's code: root writes it there, and all end with 0.
int code_for_launcher(int code) noexcept {
  const char* file = std::getenv("MUFFLE_EXIT_FILE");
  if (code == 0 || file == nullptr || *file == '\0') return code;
  if (!is_root) return 0;
  const int opened = ::open(file, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
  return opened >= 0 && ::dprintf(opened, "%d\n", code) > 0 && ::close(opened) == 0 ? 0 : code;
}

/// Ends the process: in order if every rank knows of the error, else by MPI_Abort, so that nobody waits. It
/// is the last handler there is, so nothing may come out of it.
int fail(const muffle::Error& e) noexcept {
  tell(e);
  const int code = static_cast<int>(e.code());
  if (!session) return code;
  if (e.agreed() || (world && world->size() == 1)) {
    try {
      session->finish();
      leave(code_for_launcher(code));
    } catch (...) {  // the others are gone; the first error is the one to report
    }
  }
  try {
    spdlog::shutdown();  // writes the log out; abort() runs no destructors
  } catch (...) {
  }
  if (world) world->abort(e.code());
  // Without a communicator there is no time to make one: the others may never come.
  muffle::comm::MpiSession::abort(e.code());
}

int fail_internally(const char* what) noexcept {
  try {
    return fail(muffle::Error(muffle::ExitCode::kInternal, std::string("internal error: ") + what +
                                                               ". Please report it with the log files."));
  } catch (...) {  // no memory for the message
    muffle::last_words(what);
    constexpr int kCode = static_cast<int>(muffle::ExitCode::kInternal);
    if (session) muffle::comm::MpiSession::abort(muffle::ExitCode::kInternal);
    return kCode;
  }
}

/// The main thread is stuck in a system call: ends all ranks from the watchdog's thread.
void end_stuck(const std::string& what) {
  constexpr auto kPeer = muffle::ExitCode::kPeer;
  const std::string message =
      world ? "rank " + std::to_string(world->rank()) + " (host " + world->host() + "): " + what : what;
  // The main thread may hold the log's lock, or MPI's: then this process ends all the same, and its launcher
  // ends the others.
  std::thread([message] {
    std::this_thread::sleep_for(std::chrono::seconds(5));
    muffle::last_words(message.c_str());
    std::_Exit(static_cast<int>(kPeer));
  }).detach();
  spdlog::error("{}", message);
  if (session) muffle::comm::MpiSession::abort(kPeer);
  std::_Exit(static_cast<int>(kPeer));
}

}  // namespace

int main(int argc, char** argv) {
  muffle::forbid_core_dumps();
  muffle::allow_many_files();
  muffle::secure_standard_streams();
  muffle::privacy::exit_on_entropy_failure();
  try {
    // Until the configuration is read, its default holds.
    watchdog = std::make_unique<muffle::Watchdog>(std::chrono::minutes(10), end_stuck);
    muffle::app::become_needed_program(argc, argv);
    if (muffle::comm::launched_by_mpi()) {
      muffle::comm::install_termination_handler();  // a large job's start takes minutes
      session = std::make_unique<muffle::comm::MpiSession>(&argc, &argv);
      muffle::comm::install_termination_handler();  // MPI has its own
    }
    const int code = muffle::app::dispatch(argc, argv, connect);
    if (!muffle::flush_standard_output())
      throw muffle::IoError(
          "standard output could not be written to the end: is the disk full, or its reader gone?");
    world.reset();
    if (!session) return code;
    session->finish();
    leave(code_for_launcher(code));
  } catch (const muffle::Error& e) {
    return fail(e);
  } catch (const std::exception& e) {
    return fail_internally(e.what());
  } catch (...) {
    return fail_internally("an exception of an unknown type");
  }
}
