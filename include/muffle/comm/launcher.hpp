#pragma once

namespace muffle::comm {

// What a launcher (mpirun, srun) says of this process, by its environment. Needs no MPI.

/// True when one that speaks to MPI started this process.
bool launched_by_mpi();
/// How many processes a launcher says that it started, of which this is one; 1 if none says so.
int launched_processes();

}  // namespace muffle::comm
