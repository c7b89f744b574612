#include "device.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <spdlog/spdlog.h>
#include <torch/torch.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/core/process.hpp"

#ifdef MUFFLE_TORCH_CUDA
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#endif

namespace muffle::train {
namespace {

class StagedCollective : public model::TensorCollective {
 public:
  explicit StagedCollective(comm::HostComm& comm) : host_(model::host_collective(comm)) {}

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  void all_reduce_sum(torch::Tensor& t) override { stage(t, &model::TensorCollective::all_reduce_sum); }
  void broadcast(torch::Tensor& t) override { stage(t, &model::TensorCollective::broadcast); }

 private:
  void stage(torch::Tensor& t, void (model::TensorCollective::*call)(torch::Tensor&)) {
    if (size() == 1) return;
    torch::Tensor staged = t.cpu().contiguous();
    (*host_.*call)(staged);
    t.copy_(staged);
  }

  std::shared_ptr<model::TensorCollective> host_;
};

}  // namespace

std::shared_ptr<model::TensorCollective> staged_collective(comm::HostComm& comm) {
  return std::make_shared<StagedCollective>(comm);
}

#ifdef MUFFLE_TORCH_CUDA

int torch_gpus() noexcept { return at::hasCUDA() ? static_cast<int>(c10::cuda::device_count()) : 0; }
std::string why_no_torch_gpus() { return torch_gpus() > 0 ? "" : "CUDA sees no GPU"; }

Placement place(comm::HostComm& comm, const TrainSetup& setup) {
  if (setup.gpu < 0) return {torch::Device(torch::kCPU), model::host_collective(comm), nullptr};
  Placement p;
  p.device = torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(setup.gpu));
  comm::agree(comm, "preparing the GPU", true, [&] {
    try {
      // Convolutions in float32, as on the CPU, not in the tensor cores' 10 bits.
      at::globalContext().setAllowTF32CuDNN(false);
      at::globalContext().setAllowTF32CuBLAS(false);
      p.stream = std::make_shared<c10::cuda::CUDAStreamGuard>(
          c10::cuda::getStreamFromPool(/*isHighPriority=*/false, p.device.index()));
    } catch (const c10::Error& e) {
      throw DeviceError(fmt::format("GPU {} of rank {} (host {}) cannot be used: {}", setup.gpu, comm.rank(),
                                    comm.host(), e.what_without_backtrace()));
    }
  });
  p.collective = setup.shared_gpus
                     ? staged_collective(comm)
                     : nccl_collective(comm, setup.gpu, setup.device_deadline, setup.nccl_alone);
  return p;
}

#else

int torch_gpus() noexcept { return 0; }
std::string why_no_torch_gpus() {
#ifdef MUFFLE_CUDA
  return "the LibTorch that muffle was built with has no CUDA";
#else
  return "this muffle was built without CUDA";
#endif
}

Placement place(comm::HostComm& comm, const TrainSetup& setup) {
  require(setup.gpu < 0, "a GPU was asked for, but " + why_no_torch_gpus());
  return {torch::Device(torch::kCPU), model::host_collective(comm), nullptr};
}

#endif

void set_torch_threads(int threads) {
  set_compute_threads(threads);
  at::set_num_threads(threads);
  // May be set once a process, before torch's first parallel work; muffle runs none, so later is no harm.
  static const bool once = [] {
    try {
      at::set_num_interop_threads(1);
    } catch (const std::exception& e) {
      spdlog::debug("train: torch keeps its interop threads: {}", e.what());
    }
    return true;
  }();
  static_cast<void>(once);
}

FlushDenormalsOfTeam::FlushDenormalsOfTeam(int threads)
    : team_(static_cast<std::size_t>(std::max(threads, 1))) {
#pragma omp parallel num_threads(static_cast <int>(team_.size()))
  team_[static_cast<std::size_t>(omp_get_thread_num())].emplace();
}

FlushDenormalsOfTeam::~FlushDenormalsOfTeam() {
#pragma omp parallel num_threads(static_cast <int>(team_.size()))
  team_[static_cast<std::size_t>(omp_get_thread_num())].reset();
}

}  // namespace muffle::train
