#include "muffle/model/collective.hpp"

#include <cstddef>
#include <span>

#include "muffle/core/error.hpp"

namespace muffle::model {
namespace {

class HostCollective : public TensorCollective {
 public:
  explicit HostCollective(comm::HostComm& comm) : comm_(comm) {}

  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.size(); }

  void all_reduce_sum(torch::Tensor& t) override {
    check(t);
    if (comm_.size() == 1 || t.numel() == 0) return;
    const auto n = static_cast<std::size_t>(t.numel());
    if (t.scalar_type() == torch::kFloat32) {
      comm_.all_reduce_sum(std::span<float>(t.data_ptr<float>(), n));
    } else {
      comm_.all_reduce_sum(std::span<double>(t.data_ptr<double>(), n));
    }
  }

  void broadcast(torch::Tensor& t) override {
    check(t);
    if (comm_.size() == 1 || t.numel() == 0) return;
    comm_.broadcast(std::span<std::byte>(static_cast<std::byte*>(t.data_ptr()), t.nbytes()), 0);
  }

 private:
  static void check(const torch::Tensor& t) {
    require(t.device().is_cpu() && t.is_contiguous() &&
                (t.scalar_type() == torch::kFloat32 || t.scalar_type() == torch::kFloat64),
            "the host collective takes contiguous float32 or float64 tensors in host memory");
  }

  comm::HostComm& comm_;
};

}  // namespace

std::shared_ptr<TensorCollective> host_collective(comm::HostComm& comm) {
  return std::make_shared<HostCollective>(comm);
}

}  // namespace muffle::model
