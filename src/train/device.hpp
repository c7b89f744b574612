#pragma once

#include <torch/types.h>

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

}  // namespace muffle::train
