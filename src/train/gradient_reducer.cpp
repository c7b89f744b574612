#include "muffle/train/gradient_reducer.hpp"

#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/torch.h>

#include <algorithm>
#include <utility>

#include "muffle/core/error.hpp"

namespace muffle::train {

struct GradientReducer::State {
  struct Bucket {
    torch::Tensor gradients;
    std::size_t parameters = 0;
    std::size_t missing = 0;  ///< gradients that this backward pass has still to bring
  };

  std::vector<torch::Tensor> parameters;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators;  ///< a parameter holds its own weakly
  std::vector<const void*> places;
  std::vector<Bucket> buckets;
  std::shared_ptr<model::TensorCollective> collective;
  std::size_t begun = 0;  ///< buckets whose sums are on their way: always the first ones
  bool armed = false;

  void arrived(std::size_t bucket) {
    if (!armed) return;  // a backward pass that is none of ours
    require(buckets[bucket].missing > 0,
            "a second backward pass would add to gradients that are being summed already");
    --buckets[bucket].missing;
    while (begun < buckets.size() && buckets[begun].missing == 0) begin_next();
  }

  void begin_next() {
    const torch::NoGradGuard no_grad;
    collective->begin_all_reduce_sum(buckets[begun++].gradients);
  }
};

std::size_t GradientReducer::bucket_bytes(std::size_t total, bool overlaps) {
  return overlaps ? std::clamp(total / 4, kLeastBucketBytes, kBucketBytes) : kBucketBytes;
}

GradientReducer::GradientReducer(std::vector<torch::Tensor> parameters,
                                 std::shared_ptr<model::TensorCollective> collective, std::size_t most_bytes)
    : state_(std::make_shared<State>()) {
  State& s = *state_;
  s.parameters = std::move(parameters);
  s.collective = std::move(collective);
  if (most_bytes == 0) {
    std::size_t total = 0;
    for (const torch::Tensor& p : s.parameters) total += p.nbytes();
    most_bytes = bucket_bytes(total, s.collective->overlaps());
  }
  // Last parameters first: a backward pass finishes them first.
  auto end = s.parameters.rbegin();
  while (end != s.parameters.rend()) {
    const auto begin = end;
    std::int64_t numbers = 0;
    while (end != s.parameters.rend() &&
           (end == begin ||
            static_cast<std::size_t>(numbers + end->numel()) * end->element_size() <= most_bytes)) {
      numbers += end->numel();
      ++end;
    }
    State::Bucket bucket;
    bucket.gradients = torch::zeros({numbers}, begin->options().requires_grad(false));
    std::int64_t offset = 0;
    for (auto p = begin; p != end; ++p) {
      p->mutable_grad() = bucket.gradients.narrow(0, offset, p->numel()).view_as(*p);
      offset += p->numel();
      ++bucket.parameters;
      auto accumulator = torch::autograd::impl::grad_accumulator(*p);
      accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
          [weak = std::weak_ptr<State>(state_), place = s.buckets.size()](
              const torch::autograd::variable_list& outputs, const torch::autograd::variable_list&) {
            if (const auto state = weak.lock()) state->arrived(place);
            return outputs;
          }));
      s.accumulators.push_back(std::move(accumulator));
    }
    s.buckets.push_back(std::move(bucket));
  }
  for (const auto& p : s.parameters) s.places.push_back(p.grad().data_ptr());
}

std::size_t GradientReducer::buckets() const { return state_->buckets.size(); }

void GradientReducer::zero() {
  for (auto& bucket : state_->buckets) {
    bucket.gradients.zero_();
    bucket.missing = bucket.parameters;
  }
  state_->begun = 0;
  state_->armed = true;
}

void GradientReducer::reduce() {
  State& s = *state_;
  for (std::size_t i = 0; i < s.parameters.size(); ++i) {
    require(s.parameters[i].grad().defined() && s.parameters[i].grad().data_ptr() == s.places[i],
            "a parameter's gradient was replaced, and would not have been summed over the ranks");
  }
  while (s.begun < s.buckets.size()) s.begin_next();  // parameters that the loss does not depend on
  s.collective->finish_sums();
  s.armed = false;
}

}  // namespace muffle::train
