#include "staged_collective.hpp"

#include <torch/types.h>

namespace muffle::train {
namespace {

class StagedCollective : public model::TensorCollective {
 public:
  explicit StagedCollective(comm::HostComm& comm) : host_(model::host_collective(comm)) {}

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  void all_reduce_sum(torch::Tensor& t) override {
    if (size() == 1) return;
    torch::Tensor staged = t.cpu().contiguous();
    host_->all_reduce_sum(staged);
    t.copy_(staged);
  }
  void broadcast(torch::Tensor& t) override {
    if (size() == 1) return;
    torch::Tensor staged = t.cpu().contiguous();
    host_->broadcast(staged);
    t.copy_(staged);
  }

 private:
  std::shared_ptr<model::TensorCollective> host_;
};

}  // namespace

std::shared_ptr<model::TensorCollective> staged_collective(comm::HostComm& comm) {
  return std::make_shared<StagedCollective>(comm);
}

}  // namespace muffle::train
