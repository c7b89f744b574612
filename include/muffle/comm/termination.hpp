#pragma once

#include <string>
#include <string_view>

#include "muffle/core/error.hpp"

namespace muffle::comm {

/// Stopped early because a rank was told to, in order: run the same command again.
using StoppedError = ErrorOf<ExitCode::kStopped>;

/// What a StoppedError of work that is done again from its beginning says.
std::string stopped_while(std::string_view doing);

/// Makes SIGTERM and SIGUSR1 set a flag instead of ending the process: a scheduler sends one of them before
/// it takes the machine away. Long work looks at the flag once a batch (JobLife::check_peers), a training
/// once a step (train/data_parallel.hpp), and the ranks agree, so that a signal to one rank stops all with
/// exit code 75. Whoever waits in a collective waits on, for at most MpiOptions::stop_within. Called by main,
/// before MpiSession and again after it, as MPI_Init may install handlers of its own. @throws IoError.
void install_termination_handler();

/// Undoes install_termination_handler: for work that would not look, and leaves nothing half-done.
void end_on_termination() noexcept;

/// True once SIGTERM or SIGUSR1 has arrived, unless it is held off.
bool termination_requested() noexcept;

/// From now on SIGTERM ends the process at once with this code; so does one that has arrived already. For the
/// last moment before MPI_Abort: the launcher answers it by SIGTERM, or not at all if it is ending the job
/// already, and its SIGKILL a second later would lose the code.
void exit_on_termination(int exit_code) noexcept;

/// While one lives, termination_requested() is false on this thread: for work that may not be left half-done.
/// A signal that comes meanwhile is found afterwards.
class TerminationHold {
 public:
  TerminationHold() noexcept;
  ~TerminationHold();
  TerminationHold& operator=(TerminationHold&&) = delete;
};

/// Forgets a signal that has arrived (tests).
void clear_termination_request() noexcept;

}  // namespace muffle::comm
