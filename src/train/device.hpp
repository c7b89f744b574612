#pragma once

#include <torch/types.h>

#include <memory>

#include "muffle/comm/host_comm.hpp"
#include "muffle/model/collective.hpp"

namespace muffle::train {

/// Where this rank trains, and what its tensors are summed over.
struct Placement {
  torch::Device device{torch::kCPU};
  std::shared_ptr<model::TensorCollective> collective;
};

/// A GPU of this rank's own if LibTorch sees one on every rank (and this build has NCCL); else the CPU, over
/// the host communicator. Collective: all ranks choose alike. `comm` outlives the result.
/// @throws DeviceError  GPUs are there, but fewer than ranks on this machine.
Placement choose_placement(comm::HostComm& comm);

}  // namespace muffle::train
