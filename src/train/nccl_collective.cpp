#include "nccl_collective.hpp"

#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

#include <map>
#include <string>
#include <utility>

#include "muffle/comm/nccl_group.hpp"
#include "muffle/core/error.hpp"

namespace muffle::train {
namespace {

class NcclCollective : public model::TensorCollective {
 public:
  NcclCollective(std::unique_ptr<comm::NcclGroup> group, bool alone)
      : group_(std::move(group)), idle_(group_->size() == 1 && !alone) {}

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }

  void all_reduce_sum(torch::Tensor& t) override {
    check(t);
    const auto n = static_cast<std::size_t>(t.numel());
    if (n == 0 || idle_) return;
    count("NCCL all_reduce_sum", t);
    if (t.scalar_type() == torch::kFloat32) {
      group_->all_reduce_sum(t.data_ptr<float>(), n, stream());
    } else {
      group_->all_reduce_sum(t.data_ptr<double>(), n, stream());
    }
  }

  void begin_all_reduce_sum(torch::Tensor& t) override {
    check(t);
    const auto n = static_cast<std::size_t>(t.numel());
    if (n == 0 || idle_) return;
    count("NCCL all_reduce_sum", t);
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

  void wait() override {
    const auto start = std::chrono::steady_clock::now();
    group_->synchronize(stream());
    comm::CollectiveUse& use = use_[model::kGpuWait];
    ++use.calls;
    use.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  bool capturable() const override { return true; }
  void before_end(std::function<void()> release) override { group_->before_end(std::move(release)); }

  std::vector<comm::CollectiveUse> use() const override {
    std::vector<comm::CollectiveUse> all;
    for (const auto& [name, use] : use_) {
      all.push_back(use);
      all.back().name = name;
    }
    return all;
  }

  void replayed(const std::vector<comm::CollectiveUse>& calls) override {
    for (const comm::CollectiveUse& c : calls) {
      comm::CollectiveUse& use = use_[c.name];
      use.timed = c.timed;
      use.calls += c.calls;
      use.bytes += c.bytes;
    }
  }

  void broadcast(torch::Tensor& t) override {
    check(t);
    if (t.numel() == 0 || idle_) return;
    count("NCCL broadcast", t);
    group_->broadcast(t.data_ptr(), t.nbytes(), 0, stream());
    wait();
  }

  void finish() override {
    wait();
    group_->finish();
  }

 private:
  void count(const char* name, const torch::Tensor& t) {
    comm::CollectiveUse& use = use_[name];
    use.timed = false;
    ++use.calls;
    use.bytes += t.nbytes();
  }

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
  bool idle_;  ///< one rank: there is nothing to sum
  bool begun_ = false;
  std::map<std::string, comm::CollectiveUse> use_;
};

}  // namespace

std::shared_ptr<model::TensorCollective> nccl_collective(comm::HostComm& comm, int device,
                                                         std::chrono::milliseconds deadline, bool alone) {
  comm::NcclOptions options;
  options.device = device;
  options.deadline = deadline;
  options.meanwhile = [&comm] { comm.check_lost("waiting for the GPUs"); };
  return std::make_shared<NcclCollective>(comm::NcclGroup::create(comm, options), alone);
}

}  // namespace muffle::train
