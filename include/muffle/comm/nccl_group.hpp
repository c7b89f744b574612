#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "muffle/comm/host_comm.hpp"
#include "muffle/core/heartbeat.hpp"

// Only in builds with MUFFLE_CUDA (library muffle::nccl).
namespace muffle::comm {

/// How many GPUs this process can use. Every error (no driver, no device, a driver older than the toolkit) is
/// 0, the answer of a machine without one.
int visible_gpus() noexcept;
/// UUIDs of the GPUs that this process may use, by device number, such as "GPU-5d1f..."; empty without any.
std::vector<std::string> gpu_uuids() noexcept;

/// Of the NCCL that is loaded, such as "2.28.9".
std::string nccl_version();

/// nccl_version(), after an all-reduce of known integers over the ranks' GPUs gave the known sums.
/// Collective; every rank needs a GPU of its own. @throws DeviceError, CommError as NcclGroup;
/// InvariantError  the sums were wrong. All of them agreed, unless a rank did not come.
/// @param device  this rank's GPU, as this process numbers them
std::string probe_nccl(HostComm& host, int device, double deadline_s);

/// Deadline and GPU of a group, and what its waits ask of the other ranks.
struct NcclOptions {
  /// The longest that setting up, or one wait, may take; > 0. Shorter than the host communicator's, so that a
  /// rank that fails alone is still waited for when the others report what became of them.
  std::chrono::milliseconds deadline{std::chrono::minutes(1)};
  /// The GPU's number as this process sees it; -1: by local rank, round-robin over the visible ones.
  int device = -1;
  /// Called now and then by every wait, so that a rank that waits for a GPU hears what happens elsewhere;
  /// what it throws ends the wait, and the group.
  Heartbeat heartbeat;
  /// Called once the communicator is aborted, where a wait has passed its deadline or NCCL says that another
  /// rank has gone or given up, with how long those that are there need at most to come to the same call. It
  /// may throw a CommError that says who is missing, which becomes a part of the error.
  std::function<void(std::chrono::milliseconds)> call_roll;
};

/// Of a group whose waits hear of lost ranks through `host`, and, past the deadline, have it name who is
/// missing, within half as long again. `host` outlives the group, and is left alone while the group waits.
NcclOptions watched_by(HostComm& host, int device, std::chrono::milliseconds deadline);

/// What the GPU has spent in one kind of collective so far, from its start to its end there: the wait for the
/// slowest rank is part of it, and so is other work that it went on beside. Only of calls that
/// synchronize() has seen done, and of none in a CUDA graph, where CUDA gives no times.
struct GpuTime {
  std::uint64_t calls = 0;
  double seconds = 0;
};

/// Ranks that sum and broadcast device memory with NCCL. The collectives enqueue on a CUDA stream (`stream`
/// is a cudaStream_t) and return before the GPU has done them; all ranks call them in the same order with
/// equal counts. Errors that NCCL meets later surface at the next call or in synchronize(). A stream that is
/// being captured into a CUDA graph may be given to every method but synchronize(). After any CommError or
/// DeviceError the NCCL communicator has been aborted and the group is dead; the process should end through
/// HostComm::abort. Not thread-safe. Privacy: carries partial embeddings of synthetic samples and gradients
/// only; no private record is ever on a GPU through this class.
class NcclGroup {
 public:
  /// Collective over `host`, which is used during the call only. Two ranks on one GPU, which NCCL refuses in
  /// the end, are refused at once, with both names. Either every rank gets a group or every rank
  /// throws: root's unique id travels together with its status, and all agree on the outcome (Error::agreed).
  /// A rank that does not come is named by `host`, in an error that is not agreed.
  /// @throws DeviceError  a rank has no usable GPU, or shares one. @throws CommError  NCCL or a peer did not
  /// answer within the deadline. @throws ConfigError  deadline not above 0.
  static std::unique_ptr<NcclGroup> create(HostComm& host, const NcclOptions& options);
  /// Aborts the communicator unless finish() was called: a failing rank never waits for its peers.
  ~NcclGroup();
  NcclGroup& operator=(NcclGroup&&) = delete;

  int rank() const;
  int size() const;
  int device() const;

  /// In place on `count` elements of this group's device. Integers are summed modulo 2^64.
  void all_reduce_sum(float* data, std::size_t count, void* stream);
  void all_reduce_sum(double* data, std::size_t count, void* stream);
  void all_reduce_sum(std::uint64_t* data, std::size_t count, void* stream);
  /// The same on a stream of the group's own, behind everything that `stream` was given before: `stream` goes
  /// on meanwhile. `data` may not be touched until finish_sums().
  void begin_all_reduce_sum(float* data, std::size_t count, void* stream);
  void begin_all_reduce_sum(double* data, std::size_t count, void* stream);
  /// Lets `stream` wait for all that was begun; returns at once.
  void finish_sums(void* stream);
  /// In place, from `root`.
  void broadcast(void* data, std::size_t bytes, int root, void* stream);
  /// Waits on the host until the stream has done everything, up to the deadline, watching for NCCL's own
  /// errors. Use it in place of cudaStreamSynchronize, which never returns when a peer is lost.
  void synchronize(void* stream);
  /// Is `stream` being captured into a CUDA graph?
  bool capturing(void* stream) const;
  /// Of all_reduce_sum() and begin_all_reduce_sum(), and of broadcast().
  GpuTime time_in_sums() const;
  GpuTime time_in_broadcasts() const;
  /// Called once before the communicator ends, by finish() or by an abort: it drops the CUDA graphs that its
  /// operations were captured into, for as long as there are any NCCL waits, without a deadline.
  void before_end(std::function<void()> release);
  /// Orderly end, after synchronize(); every rank calls it when all went well.
  void finish();

 private:
  struct State;
  explicit NcclGroup(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace muffle::comm
