// Sums of device tensors over NCCL.
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

#include <map>
#include <string>
#include <utility>

#include "device.hpp"
#include "muffle/comm/nccl_group.hpp"
#include "muffle/core/error.hpp"

namespace muffle::train {
namespace {

constexpr const char* kSums = "NCCL all_reduce_sum";
constexpr const char* kBroadcasts = "NCCL broadcast";

class NcclCollective : public model::TensorCollective {
 public:
  NcclCollective(std::unique_ptr<comm::NcclGroup> group, bool alone)
      : group_(std::move(group)), idle_(group_->size() == 1 && !alone) {}

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }

  void all_reduce_sum(torch::Tensor& t) override {
    sum(t, [this](auto* numbers, std::size_t n) { group_->all_reduce_sum(numbers, n, stream()); });
  }

  void begin_all_reduce_sum(torch::Tensor& t) override {
    sum(t, [this](auto* numbers, std::size_t n) {
      begun_ = true;
      group_->begin_all_reduce_sum(numbers, n, stream());
    });
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
  bool overlaps() const override { return !idle_; }
  void before_end(std::function<void()> release) override { group_->before_end(std::move(release)); }

  std::vector<comm::CollectiveUse> use() const override {
    std::vector<comm::CollectiveUse> all;
    for (const auto& [name, use] : use_) {
      all.push_back(use);
      all.back().name = name;
      if (name == kSums) all.back().seconds = group_->time_in_sums().seconds;
      if (name == kBroadcasts) all.back().seconds = group_->time_in_broadcasts().seconds;
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
    count(kBroadcasts, t);
    group_->broadcast(t.data_ptr(), t.nbytes(), 0, stream());
    wait();
  }

  void finish() override {
    wait();
    group_->finish();
  }

 private:
  /// @param call  of a tensor's numbers, and how many they are
  template <class Call>
  void sum(torch::Tensor& t, const Call& call) {
    check(t);
    const auto n = static_cast<std::size_t>(t.numel());
    if (n == 0 || idle_) return;
    count(kSums, t);
    if (t.scalar_type() == torch::kFloat32) {
      call(t.data_ptr<float>(), n);
    } else {
      call(t.data_ptr<double>(), n);
    }
  }

  void count(const char* name, const torch::Tensor& t) {
    const bool in_graph = group_->capturing(stream());
    comm::CollectiveUse& use = use_[in_graph ? std::string(name) + model::kInGraph : name];
    use.timed = !in_graph;
    ++use.calls;
    use.bytes += t.nbytes();
  }

  /// Of the calling thread: the autograd engine sets it for the hooks that it runs.
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
  return std::make_shared<NcclCollective>(
      comm::NcclGroup::create(comm, comm::watched_by(comm, device, deadline)), alone);
}

}  // namespace muffle::train
