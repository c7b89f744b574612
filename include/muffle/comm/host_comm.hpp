#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/error.hpp"

namespace muffle::comm {

/// What a rank has spent on one kind of collective so far.
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

/// A group of ranks that talk over host memory. Backends: a single process, MPI, and threads (tests/support).
/// Every method but the getters is collective: all ranks call it, in the same order, with equal lengths.
/// Every wait has the deadline; past it, or when a peer is lost, CommError is
/// thrown, which names who is missing as far as is known, and the communicator is dead afterwards. Not
/// thread-safe: one thread per rank calls it.
class HostComm {
 public:
  virtual ~HostComm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Ranks on this machine, and this rank's place among them (split by shared memory).
  virtual int local_size() const = 0;
  virtual int local_rank() const = 0;
  virtual std::string host() const = 0;
  bool is_root() const { return rank() == 0; }

  virtual void barrier() = 0;
  /// A barrier for ranks that have waited for the others elsewhere, on their GPUs, and would give up: whoever
  /// has not come after `within`, where that is shorter than the deadline, is named. One that was heard of
  /// since is waited for as ever. @throws CommError  naming who is missing.
  virtual void roll_call(std::chrono::milliseconds within) {
    static_cast<void>(within);
    barrier();
  }
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  /// Sum modulo 2^64; `out` is written on root only (it may be empty elsewhere). In chunks, so that any
  /// length works.
  virtual void reduce_sum(std::span<const std::uint64_t> in, std::span<std::uint64_t> out, int root) = 0;
  virtual void all_reduce_sum(std::span<float> values) = 0;
  virtual void all_reduce_sum(std::span<double> values) = 0;
  virtual void all_reduce_max(std::span<std::int64_t> values) = 0;
  /// Every rank's bytes, on every rank, by rank. Lengths may differ.
  virtual std::vector<std::string> all_gather(const std::string& bytes) = 0;
  /// Every rank's bytes, on root only, by rank; nothing elsewhere, where nobody else's bytes arrive at all.
  /// Lengths may differ.
  virtual std::vector<std::string> gather(const std::string& bytes, int root) = 0;
  /// For long work between collectives, once a batch, inside agree(). Local and cheap; never waits while all
  /// is well. It is this rank's sign of life, for which the others' deadlines wait: whoever does the work
  /// calls it as the work gets on, one thread at a time, and never a thread that only keeps time.
  /// @param doing  what this rank is at, for the message: "embedding the records".
  /// @throws CommError     a peer is known to be lost, so that the rank can say so before it is killed too.
  /// @throws StoppedError  this rank, or one that could tell it, was told to stop (comm/termination.hpp). The
  /// communicator lives on, and the other ranks will hear of it too: agree() ends all of them with exit
  /// code 75.
  virtual void check_peers(std::string_view doing);
  /// The same for lost peers alone: a request to stop is left for later. @throws CommError.
  virtual void check_lost(std::string_view) {}
  /// A communicator of its own for the ranks that say `member`, in their order; null on the others.
  /// Collective. This one outlives it, and abort() is this one's: the process ends as a whole
  /// (comm/detachment.hpp).
  virtual std::unique_ptr<HostComm> split(bool member) = 0;
  /// Ends every rank of the job with this exit code; does not return. Called by main alone.
  [[noreturn]] virtual void abort(ExitCode code) = 0;

  /// Time spent inside collectives by this rank so far, seconds.
  virtual double seconds_in_collectives() const = 0;
  /// The same by collective, in alphabetical order. Public: sizes and times, no contents.
  virtual std::vector<CollectiveUse> collective_use() const { return {}; }
};

/// Root's text, on every rank.
std::string broadcast_text(HostComm& comm, const std::string& text, int root = 0);

/// Runs `step` locally, then lets all ranks agree on how it went. If it threw an Error anywhere, every rank
/// throws with the same exit code (the highest-ranking problem: lowest failing rank): the failing rank its
/// own error, the others one that names the failing rank and host and repeats its message, which is public.
/// An error's local detail goes to the failing rank's own log file and is not in any error that comes out of
/// here. Rank 0 speaks for all. Non-muffle exceptions count as internal errors. Collective.
/// @param share_message  false for steps that read private records: what a foreign exception says, which
///                       nobody has vetted, is a local detail then.
void agree(HostComm& comm, const std::string& what, const std::function<void()>& step, bool share_message);

/// A communicator of one process.
std::unique_ptr<HostComm> single_process();

}  // namespace muffle::comm
