#pragma once

namespace muffle::comm {

/// Makes SIGTERM set a flag instead of ending the process. mpirun sends SIGTERM to the remaining ranks when
/// one dies, and SIGKILL about a second later; a scheduler sends it before it takes the machine away. With
/// the handler in place, a collective that waits for a lost peer ends in CommError within
/// MpiOptions::termination_grace, so that the log says why. Call once in main, after MpiSession (MPI_Init
/// installs handlers of its own). @throws IoError if refused.
void install_termination_handler();

/// True once SIGTERM has arrived. Long local loops may ask it between batches.
bool termination_requested() noexcept;

/// From now on SIGTERM ends the process at once with this code; so does one that has arrived already. For the
/// last moment before MPI_Abort: the launcher answers it by SIGTERM, or not at all if it is ending the job
/// already, and its SIGKILL a second later would lose the code.
void exit_on_termination(int exit_code) noexcept;

/// Forgets a SIGTERM that has arrived (tests).
void clear_termination_request() noexcept;

}  // namespace muffle::comm
