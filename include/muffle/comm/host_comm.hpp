#pragma once

#include <chrono>
#include <memory>

#include "muffle/comm/collective_use.hpp"
#include "muffle/comm/job_life.hpp"
#include "muffle/comm/messages.hpp"
#include "muffle/comm/reductions.hpp"

namespace muffle::comm {

/// A group of ranks that talk over host memory: all that the smaller interfaces offer, on one group.
/// Backends: a single process, MPI, and threads (tests/support). Code that needs less of it takes less.
class HostComm : public Messages, public Reductions, public JobLife, public UseStatistics {
 public:
  /// A barrier for ranks that have waited for the others elsewhere, on their GPUs, and would give up: whoever
  /// has not come after `within`, where that is shorter than the deadline, is named. One that was heard of
  /// since is waited for as ever. @throws CommError  naming who is missing.
  virtual void roll_call(std::chrono::milliseconds within) {
    static_cast<void>(within);
    barrier();
  }
  /// A communicator of its own for the ranks that say `member`, in their order; null on the others.
  /// Collective. This one outlives it, and abort() is this one's: the process ends as a whole
  /// (comm/detachment.hpp).
  virtual std::unique_ptr<HostComm> split(bool member) = 0;
};

/// A communicator of one process.
std::unique_ptr<HostComm> single_process();

}  // namespace muffle::comm
