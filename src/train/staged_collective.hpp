#pragma once

#include <memory>

#include "muffle/comm/host_comm.hpp"
#include "muffle/model/collective.hpp"

namespace muffle::train {

/// Sums tensors of any device through host memory and `comm`, which outlives the result: for ranks that share
/// a GPU, which NCCL refuses. Slow: each sum waits for the device and crosses to the host and back.
std::shared_ptr<model::TensorCollective> staged_collective(comm::HostComm& comm);

}  // namespace muffle::train
