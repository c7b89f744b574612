#pragma once

#include <string>
#include <vector>

#include "muffle/comm/host_comm.hpp"

namespace muffle::comm {

/// UUIDs of the GPUs that this process may use, by device number, such as "GPU-5d1f...". Empty without a
/// driver or device. Only in builds with MUFFLE_CUDA (library muffle::nccl).
std::vector<std::string> gpu_uuids() noexcept;

/// Of the NCCL that is loaded, such as "2.28.9".
std::string nccl_version();

/// nccl_version(), after an all-reduce of known integers over the ranks' GPUs gave the
/// known sums. Collective; every rank needs a GPU of its own. @throws DeviceError, CommError as NcclGroup;
/// InvariantError  the sums were wrong. All of them agreed, unless a rank did not come.
/// @param device  this rank's GPU, as this process numbers them
std::string probe_nccl(HostComm& host, int device, double deadline_s);

}  // namespace muffle::comm
