#include "nccl_collective.hpp"

#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

#include <utility>

#include "muffle/comm/nccl_group.hpp"
#include "muffle/core/error.hpp"

namespace muffle::train {
namespace {

class NcclCollective : public model::TensorCollective {
 public:
  explicit NcclCollective(std::unique_ptr<comm::NcclGroup> group) : group_(std::move(group)) {}

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }

  void all_reduce_sum(torch::Tensor& t) override {
    check(t);
    const auto n = static_cast<std::size_t>(t.numel());
    if (n == 0 || size() == 1) return;
    if (t.scalar_type() == torch::kFloat32) {
      group_->all_reduce_sum(t.data_ptr<float>(), n, stream());
    } else {
      group_->all_reduce_sum(t.data_ptr<double>(), n, stream());
    }
  }

  void begin_all_reduce_sum(torch::Tensor& t) override {
    check(t);
    const auto n = static_cast<std::size_t>(t.numel());
    if (n == 0 || size() == 1) return;
    begun_ = true;
    if (t.scalar_type() == torch::kFloat32) {
      group_->begin_all_reduce_sum(t.data_ptr<float>(), n, stream());
    } else {
      group_->begin_all_reduce_sum(t.data_ptr<double>(), n, stream());
    }
  }

  void finish_sums() override {
    if (std::exchange(begun_, false)) group_->finish_sums(stream());
  }

  void wait() override { group_->synchronize(stream()); }
  bool capturable() const override { return true; }

  void broadcast(torch::Tensor& t) override {
    check(t);
    if (t.numel() == 0) return;
    group_->broadcast(t.data_ptr(), t.nbytes(), 0, stream());
    wait();
  }

  void finish() override { group_->finish(); }

 private:
  /// Of the calling thread: the autograd engine sets it for the hooks that it runs on threads of its own.
  void* stream() const {
    return at::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(group_->device())).stream();
  }

  void check(const torch::Tensor& t) const {
    require(t.device().is_cuda() && t.device().index() == group_->device() && t.is_contiguous() &&
                (t.scalar_type() == torch::kFloat32 || t.scalar_type() == torch::kFloat64),
            "the NCCL collective takes contiguous float32 or float64 tensors on its own GPU");
  }

  std::unique_ptr<comm::NcclGroup> group_;
  bool begun_ = false;
};

}  // namespace

std::shared_ptr<model::TensorCollective> nccl_collective(comm::HostComm& comm, int device,
                                                         std::chrono::milliseconds deadline) {
  comm::NcclOptions options;
  options.device = device;
  options.deadline = deadline;
  options.meanwhile = [&comm] { comm.check_lost("waiting for the GPUs"); };
  return std::make_shared<NcclCollective>(comm::NcclGroup::create(comm, options));
}

}  // namespace muffle::train
