#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <vector>

#include "muffle/comm/host_comm.hpp"

namespace muffle::model {

/// What TensorCollective::use() calls the host's waits for a GPU: for its own work as for the sums beside it.
constexpr const char* kGpuWait = "waits for the GPU's work and sums";
/// Behind the name of collectives that a CUDA graph held: CUDA gives no times within graphs.
constexpr const char* kInGraph = " in CUDA graphs";

/// Sums tensors over the ranks that train together: the seam between the training step and the wire. Host
/// tensors go over MPI (host_collective); device tensors over NCCL (train/nccl_collective.cpp, when built
/// with CUDA). Collective: every rank calls the same methods in the same order with equal shapes.
///
/// On a GPU the methods return once the work is enqueued, behind what the current stream was given before,
/// and before what it is given next. Before the host looks at a result it calls wait(), which has a deadline,
/// where LibTorch's own waits have none.
class TensorCollective {
 public:
  virtual ~TensorCollective() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// In place; `t` is contiguous float32 or float64.
  virtual void all_reduce_sum(torch::Tensor& t) = 0;
  /// Begins the same sum; `t` may not be touched until finish_sums(). Device memory is summed on a stream of
  /// its own while the GPU goes on with what it was given; host memory is summed at once: MPI does not
  /// progress by itself (docs/adr/0006-buckets-leave-early.md). Collective, in order with the other calls.
  virtual void begin_all_reduce_sum(torch::Tensor& t) { all_reduce_sum(t); }
  /// What the stream is given from now on comes behind all that begin_all_reduce_sum() began.
  virtual void finish_sums() {}
  /// Waits on the host until all that is enqueued is done. @throws CommError  a peer is lost, or late.
  virtual void wait() {}
  /// Do sums that were begun go on beside what the caller does next?
  virtual bool overlaps() const { return false; }
  /// May the calls be captured into a CUDA graph?
  virtual bool capturable() const { return false; }
  /// `release` is called before the collective ends, in order or not, and drops the graphs that calls were
  /// captured into: NCCL's communicators do not end before them.
  virtual void before_end(std::function<void()> release) { static_cast<void>(release); }
  /// What this rank has spent so far, where the host communicator does not know of it (NCCL: the GPU's time
  /// up to the last wait()), by name, with kGpuWait. Public.
  virtual std::vector<comm::CollectiveUse> use() const { return {}; }
  /// A graph with these calls in it was launched: they count again.
  virtual void replayed(const std::vector<comm::CollectiveUse>& calls) { static_cast<void>(calls); }
  /// In place, from rank 0.
  virtual void broadcast(torch::Tensor& t) = 0;
  /// Orderly end: every rank calls it once when all went well, and nothing afterwards.
  virtual void finish() {}
};

/// Over a host communicator, which outlives it; tensors on the CPU. With one rank calls return at once.
std::shared_ptr<TensorCollective> host_collective(comm::HostComm& comm);

}  // namespace muffle::model
