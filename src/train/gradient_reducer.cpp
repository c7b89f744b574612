#include "muffle/train/gradient_reducer.hpp"

#include <torch/torch.h>

#include <utility>

#include "muffle/core/error.hpp"

namespace muffle::train {

GradientReducer::GradientReducer(std::vector<torch::Tensor> parameters,
                                 std::shared_ptr<model::TensorCollective> collective,
                                 std::size_t bucket_bytes)
    : parameters_(std::move(parameters)), collective_(std::move(collective)) {
  // Last parameters first: a backward pass finishes them first, so that a bucket can leave while the rest is
  // computed.
  auto end = parameters_.rbegin();
  while (end != parameters_.rend()) {
    const auto begin = end;
    std::int64_t numbers = 0;
    while (end != parameters_.rend() &&
           (end == begin ||
            static_cast<std::size_t>(numbers + end->numel()) * end->element_size() <= bucket_bytes)) {
      numbers += end->numel();
      ++end;
    }
    torch::Tensor bucket = torch::zeros({numbers}, begin->options().requires_grad(false));
    std::int64_t offset = 0;
    for (auto p = begin; p != end; ++p) {
      p->mutable_grad() = bucket.narrow(0, offset, p->numel()).view_as(*p);
      offset += p->numel();
    }
    buckets_.push_back(std::move(bucket));
  }
  for (const auto& p : parameters_) places_.push_back(p.grad().data_ptr());
}

void GradientReducer::zero() {
  for (auto& bucket : buckets_) bucket.zero_();
}

void GradientReducer::reduce() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    require(parameters_[i].grad().defined() && parameters_[i].grad().data_ptr() == places_[i],
            "a parameter's gradient was replaced, and would not have been summed over the ranks");
  }
  for (auto& bucket : buckets_) collective_->all_reduce_sum(bucket);
}

}  // namespace muffle::train
