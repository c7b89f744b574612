#pragma once

#include <memory>

#include "muffle/comm/host_comm.hpp"
#include "muffle/model/collective.hpp"

namespace muffle::train {

/// Sums device tensors over NCCL; only in builds with MUFFLE_CUDA.
struct NcclPlacement {
  int device = -1;  ///< the GPU this rank's tensors must be on
  std::shared_ptr<model::TensorCollective> collective;
};

/// Collective over `comm`, which is used during the call only.
/// @throws DeviceError  a rank has no usable GPU, or shares one. @throws CommError.
NcclPlacement nccl_collective(comm::HostComm& comm);

}  // namespace muffle::train
