#pragma once

#include <nccl.h>

#include "muffle/comm/nccl_group.hpp"

namespace muffle::comm {

/// This rank's GPU: NcclOptions::device, or by local rank. Collective. @throws DeviceError  a rank has none,
/// none of that number, or shares one.
int choose_gpu(HostComm& host, int wanted);

/// Root's unique id, or its failure, which all ranks throw as one. Collective. @throws CommError.
ncclUniqueId share_unique_id(HostComm& host);

}  // namespace muffle::comm
