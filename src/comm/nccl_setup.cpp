#include "nccl_setup.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "../core/cuda_check.hpp"

namespace muffle::comm {

int visible_gpus() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return std::max(count, 0);
}

int choose_device(const HostComm& host, const NcclOptions& options) {
  const int gpus = visible_gpus();
  if (gpus == 0) {
    throw DeviceError(
        fmt::format("rank {} (host {}) sees no GPU. Look at nvidia-smi and CUDA_VISIBLE_DEVICES there, or "
                    "train on CPUs",
                    host.rank(), host.host()));
  }
  const int device = options.device < 0 ? host.local_rank() % gpus : options.device;
  if (device >= gpus) {
    throw DeviceError(fmt::format("rank {} (host {}) was given GPU {}, but sees only {}", host.rank(),
                                  host.host(), device, gpus));
  }
  return device;
}

std::string identity_of(int device) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device),
             fmt::format("asking for GPU {}'s properties", device));
  return {properties.uuid.bytes, sizeof properties.uuid.bytes};
}

void refuse_shared_gpus(const std::vector<std::string>& identities, const std::vector<std::string>& hosts) {
  std::map<std::string, std::size_t> owner;
  for (std::size_t rank = 0; rank < identities.size(); ++rank) {
    const auto [first, is_new] = owner.emplace(identities[rank], rank);
    if (is_new) continue;
    throw DeviceError(
        fmt::format("ranks {} and {} (host {}) would share one GPU. Start at most one rank per GPU, or give "
                    "each rank its own by CUDA_VISIBLE_DEVICES",
                    first->second, rank, hosts[rank]));
  }
}

ncclUniqueId share_unique_id(HostComm& host) {
  ncclUniqueId id{};
  std::string message;
  if (host.is_root()) {
    const ncclResult_t result = ncclGetUniqueId(&id);
    message = result == ncclSuccess
                  ? "+" + std::string(id.internal, sizeof id.internal)
                  : fmt::format("-{}: {}", ncclGetErrorString(result), ncclGetLastError(nullptr));
  }
  message = broadcast_text(host, message);
  agree(host, "making NCCL's unique id", true, [&] {
    if (message.size() == 1 + sizeof id.internal && message[0] == '+') return;
    throw CommError(
        "NCCL made no unique id on rank 0: " + message.substr(std::min<std::size_t>(1, message.size())) +
        ". Check NCCL_SOCKET_IFNAME and that the machine has a network interface");
  });
  std::memcpy(id.internal, message.data() + 1, sizeof id.internal);
  return id;
}

}  // namespace muffle::comm
