#pragma once

#include <torch/types.h>

#include <chrono>
#include <memory>

#include "muffle/comm/host_comm.hpp"
#include "muffle/model/collective.hpp"
#include "muffle/train/trainer.hpp"

namespace muffle::train {

/// Where this rank trains, and what its tensors are summed over.
struct Placement {
  torch::Device device{torch::kCPU};
  std::shared_ptr<model::TensorCollective> collective;
  /// On a GPU: makes a stream of its own LibTorch's current one on this thread, for as long as it lives; the
  /// default stream cannot be captured into a graph. Training is built and run under it.
  std::shared_ptr<void> stream;
};

/// As `setup` says, which all ranks were given alike but for the GPU's number. Collective over `comm`, which
/// outlives the result.
/// @throws DeviceError  the GPU cannot be used. @throws CommError  NCCL could not be set up.
Placement place(comm::HostComm& comm, const TrainSetup& setup);

/// Sums tensors of any device through host memory and `comm`, which outlives the result: for ranks that share
/// a GPU, which NCCL refuses. Slow: each sum waits for the device and crosses to the host and back.
std::shared_ptr<model::TensorCollective> staged_collective(comm::HostComm& comm);

/// Sums device tensors over NCCL, on LibTorch's current stream; only in builds with MUFFLE_CUDA. Collective
/// over `comm`, which outlives the result: while it waits for a GPU it listens to the other ranks.
/// @param device  this rank's GPU, as this process numbers them  @param deadline  of one wait
/// @param alone  a single rank's sums go through NCCL too, which its tests need
/// @throws DeviceError  a rank has no usable GPU, or shares one. @throws CommError.
std::shared_ptr<model::TensorCollective> nccl_collective(comm::HostComm& comm, int device,
                                                         std::chrono::milliseconds deadline,
                                                         bool alone = false);

}  // namespace muffle::train
