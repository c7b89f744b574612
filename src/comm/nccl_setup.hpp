#pragma once

#include <nccl.h>

#include <string>
#include <vector>

#include "muffle/comm/nccl_group.hpp"

namespace muffle::comm {

/// This rank's GPU, as `options` says. @throws DeviceError  there is none, or none of that number.
int choose_device(const HostComm& host, const NcclOptions& options);

/// The GPU's identity, whatever number each process knows it by.
std::string identity_of(int device);

/// The same verdict on every rank, from the same facts, by rank. @throws DeviceError  two have the same GPU.
void refuse_shared_gpus(const std::vector<std::string>& identities, const std::vector<std::string>& hosts);

/// Root's unique id, or its failure, which all ranks throw as one. Collective. @throws CommError.
ncclUniqueId share_unique_id(HostComm& host);

}  // namespace muffle::comm
