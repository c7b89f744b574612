#include "muffle/train/objective.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <utility>

#include "muffle/core/error.hpp"

namespace muffle::train {

using torch::Tensor;

Objective::Objective(model::FourierEmbedding embedding, torch::Tensor target,
                     const std::vector<double>& weights, ObjectiveOptions options,
                     std::shared_ptr<model::TensorCollective> collective)
    : embedding_(std::move(embedding)),
      target_(target.contiguous()),
      options_(options),
      collective_(std::move(collective)) {
  const std::int64_t classes = embedding_.classes();
  require(target_.dim() == 2 && target_.size(0) == classes && target_.size(1) == embedding_.features() &&
              static_cast<std::int64_t>(weights.size()) == classes,
          fmt::format("the target must be {} x {}, with a weight a class", classes, embedding_.features()));
  weights_ = torch::tensor(weights, torch::kFloat64).unsqueeze(1).to(target_.device(), target_.scalar_type());
}

Objective::Matched Objective::match(const Tensor& x, const Tensor& labels, std::int64_t batch,
                                    const Tensor& hand) const {
  Matched m;
  m.own_sums = embedding_.class_sums(x, labels);
  const Tensor own = m.own_sums.detach();
  const std::int64_t classes = own.size(0), numbers = own.numel();
  // Sums, class counts and the raised hands travel together: one all-reduce.
  Tensor all = torch::empty({numbers + classes + 1}, own.options());
  all.narrow(0, 0, numbers).copy_(own.reshape(-1));
  // Whole numbers: exact in any order. (LibTorch's bincount waits for the GPU.)
  all.narrow(0, numbers, classes)
      .copy_(torch::zeros({classes}, own.options())
                 .index_add_(0, labels, torch::ones({labels.size(0)}, own.options())));
  all.narrow(0, numbers + classes, 1).copy_(hand);
  collective_->all_reduce_sum(all);
  m.mean = all.narrow(0, 0, numbers).view_as(own) / static_cast<double>(batch);
  m.counts = all.narrow(0, numbers, classes).unsqueeze(1);
  const Tensor loss = ((m.mean - target_).to(torch::kFloat64).square() * weights_).sum();
  // On a GPU both come over in one copy.
  m.seen = torch::stack({loss, all[numbers + classes].to(torch::kFloat64)});
  return m;
}

double Objective::backward(const Tensor& x, const Tensor& labels, std::int64_t batch, bool* hand) const {
  const bool raised = hand != nullptr && *hand;
  const Seen seen = read(enqueue_backward(
      x, labels, batch, torch::full({1}, raised ? 1.0 : 0.0, x.options().requires_grad(false))));
  if (hand != nullptr) *hand = seen.hand;
  return seen.loss;
}

Objective::Seen Objective::read(const Tensor& seen) const {
  collective_->wait();
  const Tensor host = seen.cpu();
  return {host[0].item<double>(), host[1].item<double>() > 0.5};
}

Tensor Objective::enqueue_backward(const Tensor& x, const Tensor& labels, std::int64_t batch,
                                   const Tensor& hand) const {
  const Matched m = match(x, labels, batch, hand);
  const auto b = static_cast<double>(batch);
  Tensor mean = m.mean;
  if (options_.unbiased && options_.stratified) {
    const Tensor others = (m.counts - 1.0).clamp_min(1.0);
    mean = mean * torch::where(m.counts > 1.5, m.counts / others, torch::ones_like(m.counts));
  } else if (options_.unbiased && batch > 1) {
    mean = mean * (b / (b - 1.0));
  }
  m.own_sums.backward((mean - target_) * weights_ * (2.0 / b));
  return m.seen;
}

double Objective::loss(const Tensor& x, const Tensor& labels, std::int64_t batch) const {
  return read(match(x.detach(), labels, batch, torch::zeros({1}, x.options().requires_grad(false))).seen)
      .loss;
}

}  // namespace muffle::train
