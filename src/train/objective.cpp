#include "muffle/train/objective.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "backward_here.hpp"
#include "muffle/core/error.hpp"

namespace muffle::train {

using torch::Tensor;

Objective::Seen Objective::read(const Tensor& seen) const {
  collective_->wait();
  const Tensor host = seen.cpu();
  return {host[0].item<double>(), host[1].item<double>() > 0.5};
}

SumsObjective::SumsObjective(std::vector<Matching> maps, ObjectiveOptions options,
                             std::shared_ptr<model::TensorCollective> collective)
    : Objective(std::move(collective)), maps_(std::move(maps)), options_(std::move(options)) {
  require(!maps_.empty(), "there is nothing to match: this is a bug in muffle.");
  for (const Matching& map : maps_) {
    if (map.target.dim() == 2) classes_ = std::max(classes_, map.target.size(0));
  }
  for (const Matching& map : maps_) {
    require(map.target.dim() == 2 && map.target.is_contiguous() &&
                (map.target.size(0) == classes_ || map.target.size(0) == 1) &&
                static_cast<std::int64_t>(map.weights.size()) == map.target.size(0),
            "the maps to be matched need a row and a weight for each class: this is a bug in muffle.");
    weights_.push_back(torch::tensor(map.weights, torch::kFloat64)
                           .unsqueeze(1)
                           .to(map.target.device(), map.target.scalar_type()));
  }
  if (options_.average_rate <= 0) return;
  for (const Matching& map : maps_) {
    averages_.emplace_back(map.target, options_.average_rate);
    const bool labelled = map.target.size(0) > 1;
    require(!labelled || static_cast<std::int64_t>(options_.class_share.size()) == classes_,
            "moving averages need the classes' shares: this is a bug in muffle.");
    shares_.push_back((labelled ? torch::tensor(options_.class_share, torch::kFloat64).clamp_min(1e-12)
                                : torch::ones({1}, torch::kFloat64))
                          .unsqueeze(1)
                          .to(map.target.device(), map.target.scalar_type()));
  }
}

SumsObjective::Matched SumsObjective::match(const Tensor& x, const Tensor& labels, std::int64_t batch,
                                            const Tensor& stop_request,
                                            std::optional<std::uint64_t> step) const {
  Matched m;
  std::vector<Tensor> parts;
  for (const Matching& map : maps_) {
    m.own_sums.push_back(map.sums(x, labels));
    parts.push_back(m.own_sums.back().detach().reshape(-1));
  }
  // Sums, class counts and the wish to stop travel together: one all-reduce.
  const torch::TensorOptions options = parts.front().options();
  // Whole numbers: exact in any order. (LibTorch's bincount waits for the GPU.)
  parts.push_back(torch::zeros({classes_}, options)
                      .index_add_(0, labels.clamp_max(classes_ - 1), torch::ones({labels.size(0)}, options)));
  parts.push_back(stop_request.to(options));
  Tensor all = torch::cat(parts);
  collective().all_reduce_sum(all);
  std::int64_t at = 0;
  Tensor loss = torch::zeros({}, all.options().dtype(torch::kFloat64));
  for (std::size_t b = 0; b < maps_.size(); ++b) {
    const Tensor& own = m.own_sums[b];
    m.mean.push_back(all.narrow(0, at, own.numel()).view_as(own) / static_cast<double>(batch));
    at += own.numel();
    const std::vector<Tensor>& minibatches = maps_[b].minibatches;
    m.target.push_back(step && !minibatches.empty() ? minibatches[*step % minibatches.size()]
                                                    : maps_[b].target);
    loss = loss + ((m.mean[b] - m.target[b]).to(torch::kFloat64).square() * weights_[b]).sum();
  }
  m.counts = all.narrow(0, at, classes_).unsqueeze(1);
  // On a GPU both come over in one copy.
  m.seen = torch::stack({loss, all[at + classes_].to(torch::kFloat64)});
  return m;
}

Tensor SumsObjective::credible_part(const Matched& m, std::size_t map, double batch) const {
  const Tensor& mean = m.mean[map];
  const Tensor n = mean.size(0) == classes_ ? m.counts : torch::full_like(mean.narrow(1, 0, 1), batch);
  // Of n records of one norm among the batch's.
  const Tensor sampling = (n * (maps_[map].norm_square / (batch * batch)) -
                           mean.square().sum(1, /*keepdim=*/true) / n.clamp_min(1.0))
                              .clamp_min(0.0);
  const Tensor distance = (mean - m.target[map]).square().sum(1, /*keepdim=*/true);
  // Of the square of D normal numbers that much is there nearly always.
  const double noise =
      maps_[map].noise_square * std::max(0.0, 1.0 - 2.0 * std::sqrt(2.0 / static_cast<double>(mean.size(1))));
  return (1.0 - (sampling + noise) / distance.clamp_min(1e-30)).clamp_min(0.0);
}

Tensor SumsObjective::enqueue_backward(const Tensor& x, const Tensor& labels, std::int64_t batch,
                                       const Tensor& stop_request) {
  const Matched m = match(x, labels, batch, stop_request, step_++);
  const auto b = static_cast<double>(batch);
  std::vector<Tensor> gradients;
  for (std::size_t i = 0; i < maps_.size(); ++i) {
    Tensor mean = m.mean[i];
    if (options_.unbiased && options_.stratified && mean.size(0) == classes_) {
      const Tensor others = (m.counts - 1.0).clamp_min(1.0);
      mean = mean * torch::where(m.counts > 1.5, m.counts / others, torch::ones_like(m.counts));
    } else if (options_.unbiased && batch > 1) {
      mean = mean * (b / (b - 1.0));
    }
    Tensor residual = mean - m.target[i];
    if (!averages_.empty()) residual = averages_[i].step(residual.neg() / shares_[i]) * -shares_[i];
    if (options_.credible) residual = residual * credible_part(m, i, b);
    gradients.push_back(residual * weights_[i] * (2.0 / b));
  }
  [[maybe_unused]] const BackwardHere here;
  torch::autograd::backward(m.own_sums, gradients);
  return m.seen;
}

double SumsObjective::loss(const Tensor& x, const Tensor& labels, std::int64_t batch) const {
  const Tensor nobody = torch::zeros({1}, x.options().requires_grad(false));
  return read(match(x.detach(), labels, batch, nobody, std::nullopt).seen).loss;
}

void SumsObjective::set_steps(std::uint64_t steps) {
  step_ = steps;
  for (ResidualAverage& average : averages_) average.set_steps(steps);
}

std::vector<std::pair<std::string, Tensor>> SumsObjective::tensors() const {
  std::vector<std::pair<std::string, Tensor>> out;
  for (std::size_t b = 0; b < averages_.size(); ++b) {
    for (const auto& [name, tensor] : averages_[b].tensors())
      out.emplace_back(fmt::format("average.{}/{}", name, b), tensor);
  }
  return out;
}

}  // namespace muffle::train
