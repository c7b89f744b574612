#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "muffle/comm/host_comm.hpp"

namespace muffle::comm {

/// How a communicator over MPI behaves.
struct MpiOptions {
  /// The longest that one collective may take, all of its chunks together, once every rank has come; and the
  /// longest that a rank may be silent while others wait for it. A rank that works shows life through
  /// JobLife::check_peers, and is waited for. > 0.
  std::chrono::milliseconds deadline{std::chrono::minutes(2)};
  /// No message is longer than this, so counts never overflow MPI's int; >= 8. Each rank holds up to two
  /// buffers of this size. Equal on all ranks. Small only in tests.
  std::size_t max_message_bytes = std::size_t{16} << 20;
  /// A rank that has waited longer than this tells rank 0 that it has arrived, and asks who has not; again
  /// and again, every sixth of the deadline. Never more than a third of the deadline.
  std::chrono::milliseconds notice_after{3000};
  /// When a peer is seen to have ended, a collective gets this long to finish before it gives up (the peers
  /// may be on the point of arriving); as long again is spent to find out who is lost. Twice this must stay
  /// below the second that mpirun leaves between SIGTERM, which it sends when a rank dies, and SIGKILL.
  std::chrono::milliseconds termination_grace{300};
  /// After SIGTERM or SIGUSR1 a collective has at most this long: the other ranks are told too, and come to
  /// it once they are done with the batch at hand.
  std::chrono::milliseconds stop_within{std::chrono::minutes(1)};
};

/// MPI's lifetime: constructed once in main, before anything else; finalizes in finish(), never in its
/// destructor, where a failing process would block. One thread at a time calls MPI (MPI_THREAD_SERIALIZED).
class MpiSession {
 public:
  /// MPI_Init_thread. @throws CommError if MPI offers less; InvariantError on a second session.
  MpiSession(int* argc, char*** argv);
  MpiSession& operator=(MpiSession&&) = delete;
  /// The MPI library's name and version, one line.
  static std::string library();
  /// A duplicate of MPI_COMM_WORLD with MPI_ERRORS_RETURN; every collective is non-blocking inside and polled
  /// up to the deadline. Collective: all ranks call it, with equal options. May be called again for an
  /// independent communicator.
  ///
  /// After a CommError the communicator is dead: later calls throw at once, and the process should end by
  /// abort(). MPI may go on reading and writing the buffers of an abandoned collective; those are the
  /// communicator's own staging buffers, never the caller's, and are kept until the process ends.
  ///
  /// Who is missing: rank 0 keeps a roll call. Its limits: a rank that has passed through the collective
  /// already (a sender in a reduction) and then computes for longer than the deadline without
  /// JobLife::check_peers is listed as not heard from; and if rank 0 itself is lost, or busy without it, the
  /// others can say only that it did not answer.
  /// @throws ConfigError  options out of range. @throws CommError  a rank did not come.
  std::unique_ptr<HostComm> world(const MpiOptions& options);
  /// Ends every rank with this exit code, when there is no communicator to do it in order. Never returns.
  [[noreturn]] static void abort(ExitCode code) noexcept;
  /// MPI_Finalize, after a barrier that has the deadline of the last world(); every rank calls it when all
  /// went well. Communicators may outlive it, but not be used. From here on nobody would notice a rank that
  /// is stopped (SIGSTOP), and its launcher would wait for it for ever: the kernel ends each process by
  /// SIGKILL if it is still there after the deadline (at most 10 minutes) and 2 s. @throws CommError.
  void finish();

 private:
  std::chrono::milliseconds deadline_{std::chrono::minutes(2)};
};

}  // namespace muffle::comm
