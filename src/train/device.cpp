#include "device.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <span>

#ifdef MUFFLE_CUDA
#include "muffle/comm/nccl_group.hpp"
#include "nccl_collective.hpp"
#endif

namespace muffle::train {

Placement choose_placement(comm::HostComm& comm) {
#ifdef MUFFLE_CUDA
  std::int64_t without_gpu = torch::cuda::is_available() && comm::visible_gpus() > 0 ? 0 : 1;
  comm.all_reduce_max(std::span(&without_gpu, 1));
  if (without_gpu == 0) {
    NcclPlacement gpu = nccl_collective(comm);
    return {torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(gpu.device)),
            std::move(gpu.collective)};
  }
#endif
  return {torch::Device(torch::kCPU), model::host_collective(comm)};
}

}  // namespace muffle::train
