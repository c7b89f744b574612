#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/comm/messages.hpp"
#include "muffle/core/error.hpp"

namespace muffle::comm {

/// What a rank has spent on one kind of collective so far. Public: sizes and times, no contents.
struct CollectiveUse {
  std::string name;  ///< "all_reduce_sum"
  std::uint64_t calls = 0;
  double seconds = 0;       ///< from entry to return: the wait for the slowest rank is part of it
  std::uint64_t bytes = 0;  ///< that this rank put in (broadcast: that it got), before any algorithm
  bool timed = true;        ///< false: it is part of a CUDA graph, and `seconds` says nothing
};

/// `later` less `earlier`, without what was not called in between.
std::vector<CollectiveUse> use_between(const std::vector<CollectiveUse>& earlier,
                                       const std::vector<CollectiveUse>& later);

/// "all_reduce_sum 1200 calls, 3.21 s, 45.6 MB; ...": of `later` less `earlier`.
std::string describe_use(const std::vector<CollectiveUse>& earlier, const std::vector<CollectiveUse>& later);

/// How a job goes on, and how it ends. Local.
class JobLife {
 public:
  virtual ~JobLife() = default;
  /// For long work between collectives, once a batch, inside agree(). Local and cheap; never waits while all
  /// is well. It is this rank's sign of life, for which the others' deadlines wait: whoever does the work
  /// calls it as the work gets on, one thread at a time, and never a thread that only keeps time.
  /// @param doing  what this rank is at, for the message: "embedding the records".
  /// @throws CommError     a peer is known to be lost, so that the rank can say so before it is killed too.
  /// @throws StoppedError  this rank, or one that could tell it, was told to stop (comm/termination.hpp). The
  /// communicator lives on, and the other ranks will hear of it too: agree() ends all with exit code 75.
  virtual void check_peers(std::string_view doing);
  /// The same for lost peers alone: a request to stop is left for later. @throws CommError.
  virtual void check_lost(std::string_view) {}
  /// Ends every rank of the job with this exit code; does not return. Called by main alone.
  [[noreturn]] virtual void abort(ExitCode code) = 0;
};

/// A group of ranks that talk over host memory: bytes, arithmetic and the job's life, on one group. Backends:
/// a single process, MPI, and threads (tests/support). Code that needs less of it takes less.
class HostComm : public Messages, public JobLife {
 public:
  // Arithmetic over all ranks: collective and bounded in time, as Messages; lengths are equal on all ranks.

  /// Sum modulo 2^64; `out` is written on root only (it may be empty elsewhere). Any length works.
  virtual void reduce_sum(std::span<const std::uint64_t> in, std::span<std::uint64_t> out, int root) = 0;
  virtual void all_reduce_sum(std::span<float> values) = 0;
  virtual void all_reduce_sum(std::span<double> values) = 0;
  virtual void all_reduce_max(std::span<std::int64_t> values) = 0;

  /// A barrier for ranks that have waited for the others elsewhere, on their GPUs, and would give up: whoever
  /// has not come after `within`, where that is shorter than the deadline, is named. One that was heard of
  /// since is waited for as ever. @throws CommError  naming who is missing.
  virtual void roll_call(std::chrono::milliseconds within) {
    static_cast<void>(within);
    barrier();
  }
  /// A communicator for the ranks that say `member`, in their order; null on the others. Collective. This one
  /// outlives it, and abort() is this one's: the process ends as a whole (comm/detachment.hpp).
  virtual std::unique_ptr<HostComm> split(bool member) = 0;

  /// Time spent inside collectives so far, seconds.
  virtual double seconds_in_collectives() const = 0;
  /// The same by collective, in alphabetical order.
  virtual std::vector<CollectiveUse> collective_use() const { return {}; }
};

/// A communicator of one process.
std::unique_ptr<HostComm> single_process();

}  // namespace muffle::comm
