#include <fmt/format.h>

#include "mpi_comm.hpp"
#include "muffle/comm/termination.hpp"

namespace muffle::comm {

Waited wait_for(MPI_Request& request, std::string_view operation, const Patience& patience,
                const std::function<bool(Clock::time_point)>& look_for_loss) {
  Backoff backoff;
  Wait wait;
  for (;;) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), operation);
    if (done) return Waited::kDone;
    if (backoff.sleeping()) {
      const auto now = Clock::now();
      const bool peer_gone = look_for_loss && look_for_loss(now);
      if (const auto how = wait.over(now, patience, peer_gone, termination_requested())) return *how;
    }
    backoff.pause();
  }
}

void wait_or_throw(MPI_Request& request, std::string_view operation, std::chrono::milliseconds deadline,
                   std::chrono::milliseconds after_stop) {
  switch (wait_for(request, operation, {Clock::now() + deadline, {}, after_stop})) {
    case Waited::kDone:
      return;
    case Waited::kTermination:
    case Waited::kPeerGone:
      throw CommError(fmt::format(
          "{}: told to stop (SIGTERM) while waiting for the other ranks, most likely because one of "
          "them failed: the first error in their logs is the cause",
          operation));
    case Waited::kDeadline:
      throw CommError(
          fmt::format("{} did not finish within {:.1f} s: a rank has died, hangs or is still busy. Look for "
                      "the rank whose log ends "
                      "first, or raise the deadline if the ranks are only slow",
                      operation, static_cast<double>(deadline.count()) / 1000));
  }
}

}  // namespace muffle::comm
