#include "nccl_collective.hpp"

#include <torch/types.h>

#include "muffle/comm/nccl_group.hpp"
#include "muffle/core/error.hpp"

namespace muffle::train {
namespace {

/// LibTorch's current stream unless somebody sets another, which muffle does not: the default stream. Work
/// that is enqueued on it before and after a collective is ordered with it.
constexpr void* kStream = nullptr;

class NcclCollective : public model::TensorCollective {
 public:
  explicit NcclCollective(std::unique_ptr<comm::NcclGroup> group) : group_(std::move(group)) {}

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }

  void all_reduce_sum(torch::Tensor& t) override {
    check(t);
    const auto n = static_cast<std::size_t>(t.numel());
    if (n == 0) return;
    if (t.scalar_type() == torch::kFloat32) {
      group_->all_reduce_sum(t.data_ptr<float>(), n, kStream);
    } else {
      group_->all_reduce_sum(t.data_ptr<double>(), n, kStream);
    }
    // LibTorch's own waits have no deadline: wait here, where a lost peer is noticed.
    group_->synchronize(kStream);
  }

  void begin_all_reduce_sum(torch::Tensor& t) override {
    check(t);
    const auto n = static_cast<std::size_t>(t.numel());
    if (n == 0) return;
    if (t.scalar_type() == torch::kFloat32) {
      group_->begin_all_reduce_sum(t.data_ptr<float>(), n, kStream);
    } else {
      group_->begin_all_reduce_sum(t.data_ptr<double>(), n, kStream);
    }
  }

  void finish_sums() override { group_->finish_sums(); }

  void broadcast(torch::Tensor& t) override {
    check(t);
    if (t.numel() == 0) return;
    group_->broadcast(t.data_ptr(), t.nbytes(), 0, kStream);
    group_->synchronize(kStream);
  }

  void finish() override { group_->finish(); }

 private:
  void check(const torch::Tensor& t) const {
    require(t.device().is_cuda() && t.device().index() == group_->device() && t.is_contiguous() &&
                (t.scalar_type() == torch::kFloat32 || t.scalar_type() == torch::kFloat64),
            "the NCCL collective takes contiguous float32 or float64 tensors on its own GPU");
  }

  std::unique_ptr<comm::NcclGroup> group_;
};

}  // namespace

NcclPlacement nccl_collective(comm::HostComm& comm) {
  auto group = comm::NcclGroup::create(comm, comm::NcclOptions{});
  const int device = group->device();
  return {device, std::make_shared<NcclCollective>(std::move(group))};
}

}  // namespace muffle::train
