#include <fmt/format.h>

#include "mpi_comm.hpp"
#include "muffle/comm/termination.hpp"

namespace muffle::comm {

Waited wait_for(MPI_Request& request, std::string_view operation, Clock::time_point until,
                std::chrono::milliseconds termination_grace,
                const std::function<bool(Clock::time_point)>& meanwhile) {
  Backoff backoff;
  Clock::time_point stop_at = Clock::time_point::max();
  Waited reason = Waited::kDone;
  for (;;) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), operation);
    if (done) return Waited::kDone;
    if (backoff.sleeping()) {
      const auto now = Clock::now();
      const bool peer_gone = meanwhile && meanwhile(now);
      if (now >= until) return Waited::kDeadline;
      if (reason == Waited::kDone && (peer_gone || termination_requested())) {
        reason = termination_requested() ? Waited::kTermination : Waited::kPeerGone;
        stop_at = now + termination_grace;
      }
      if (now >= stop_at) return reason;
    }
    backoff.pause();
  }
}

void wait_or_throw(MPI_Request& request, std::string_view operation, std::chrono::milliseconds deadline,
                   std::chrono::milliseconds termination_grace) {
  switch (wait_for(request, operation, Clock::now() + deadline, termination_grace)) {
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
