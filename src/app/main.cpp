#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "muffle/app/commands.hpp"
#include "muffle/comm/host_comm.hpp"
#include "muffle/comm/mpi.hpp"
#include "muffle/comm/termination.hpp"
#include "muffle/core/error.hpp"

namespace {

// Owned by main for the whole process; connect() below hands out the communicator once the deadline is known.
std::unique_ptr<muffle::comm::MpiSession> session;
std::unique_ptr<muffle::comm::HostComm> world;

muffle::comm::HostComm& connect(double deadline_s) {
  const auto deadline = std::chrono::milliseconds(static_cast<long long>(deadline_s * 1000.0));
  world = session ? session->world(deadline) : muffle::comm::single_process();
  return *world;
}

/// Ends the process: in order if every rank knows of the error, else by MPI_Abort, so that nobody waits.
int fail(const muffle::Error& e) {
  if (e.quiet()) {
    spdlog::debug("{}", e.what());
  } else {
    spdlog::error("{}", e.what());
  }
  spdlog::debug("exit {} ({}), thrown in {} line {}", static_cast<int>(e.code()), muffle::describe(e.code()),
                e.where().file_name(), e.where().line());
  const bool alone = !session || (world && world->size() == 1) || e.agreed();
  if (alone) {
    if (session) session->finish();
    return static_cast<int>(e.code());
  }
  spdlog::shutdown();
  if (!world) connect(30.0);
  world->abort(e.code());
  return static_cast<int>(e.code());  // not reached: GCC 12 does not see [[noreturn]] through unique_ptr
}

}  // namespace

int main(int argc, char** argv) {
  // A core dump would hold records and exact sums.
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  try {
    if (muffle::comm::MpiSession::launched_by_mpi()) {
      session = std::make_unique<muffle::comm::MpiSession>(&argc, &argv);
      muffle::comm::install_termination_handler();
    }
    const int code = muffle::app::dispatch(argc, argv, connect);
    world.reset();
    if (session) session->finish();
    return code;
  } catch (const muffle::Error& e) {
    return fail(e);
  } catch (const std::exception& e) {
    return fail(muffle::Error(muffle::ExitCode::kInternal, std::string("internal error: ") + e.what() +
                                                               ". Please report it with the log files."));
  }
}
