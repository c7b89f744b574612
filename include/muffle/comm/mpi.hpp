#pragma once

#include <chrono>
#include <memory>

#include "muffle/comm/host_comm.hpp"

namespace muffle::comm {

/// MPI's lifetime: constructed once in main, before anything else; finalizes in finish(), not in the destructor, so
/// that a failing process never blocks in MPI_Finalize.
class MpiSession {
 public:
  MpiSession(int* argc, char*** argv);
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  /// True when a launcher (mpirun, srun) started this process.
  static bool launched_by_mpi();
  /// A duplicate of MPI_COMM_WORLD with MPI_ERRORS_RETURN; every collective is non-blocking inside and polled up to the
  /// deadline.
  std::unique_ptr<HostComm> world(std::chrono::milliseconds deadline);
  /// MPI_Finalize; every rank calls it when all went well.
  void finish();
};

}  // namespace muffle::comm
