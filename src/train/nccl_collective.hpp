#pragma once

#include <chrono>
#include <memory>

#include "muffle/comm/host_comm.hpp"
#include "muffle/model/collective.hpp"

namespace muffle::train {

/// Sums device tensors over NCCL, on LibTorch's current stream; only in builds with MUFFLE_CUDA. Collective
/// over `comm`, which outlives the result: while it waits for a GPU it listens to the other ranks.
/// @param device  this rank's GPU, as this process numbers them  @param deadline  of one wait
/// @param alone  a single rank's sums go through NCCL too, which its tests need
/// @throws DeviceError  a rank has no usable GPU, or shares one. @throws CommError.
std::shared_ptr<model::TensorCollective> nccl_collective(comm::HostComm& comm, int device,
                                                         std::chrono::milliseconds deadline,
                                                         bool alone = false);

}  // namespace muffle::train
