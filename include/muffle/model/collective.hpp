#pragma once

#include <torch/types.h>

#include <memory>

#include "muffle/comm/host_comm.hpp"

namespace muffle::model {

/// Sums tensors over the ranks that train together: the seam between the training step and the wire. Host
/// tensors go over MPI (host_collective); device tensors over NCCL (train/nccl_collective.hpp, when built
/// with CUDA). Collective: every rank calls the same methods in the same order with equal shapes.
class TensorCollective {
 public:
  virtual ~TensorCollective() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// In place; `t` is contiguous float32 or float64.
  virtual void all_reduce_sum(torch::Tensor& t) = 0;
  /// Begins the same sum; `t` may not be touched until finish_sums(). Device memory is summed on a stream of
  /// its own while the GPU goes on with what it was given; host memory is summed at once (docs/adr: MPI does
  /// not progress by itself). Collective, in order with the other calls.
  virtual void begin_all_reduce_sum(torch::Tensor& t) { all_reduce_sum(t); }
  /// Waits for all that begin_all_reduce_sum() began.
  virtual void finish_sums() {}
  /// In place, from rank 0.
  virtual void broadcast(torch::Tensor& t) = 0;
  /// Orderly end: every rank calls it once when all went well, and nothing afterwards.
  virtual void finish() {}
};

/// Over a host communicator; tensors must be on the CPU. `comm` outlives the result. With one rank every call
/// returns at once.
std::shared_ptr<TensorCollective> host_collective(comm::HostComm& comm);

}  // namespace muffle::model
