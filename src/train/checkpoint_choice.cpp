#include "checkpoint_choice.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/train/trainer.hpp"

namespace muffle::train {
namespace {

using torch::Tensor;

/// Samples of a look: as many as DP-MEPF's, in batches that a network's outputs of are held at once.
constexpr std::uint64_t kBatch = 250, kBatches = 20;

/// They share the generator's storage.
std::vector<std::pair<std::string, Tensor>> state_of(const model::Generator& generator) {
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto& p : generator.named_parameters())
    out.emplace_back("parameter/" + p.key(), p.value().detach());
  for (const auto& b : generator.named_buffers()) out.emplace_back("buffer/" + b.key(), b.value());
  return out;
}

}  // namespace

CheckpointChoice::CheckpointChoice(std::vector<Matching> judges, std::vector<double> class_share,
                                   const schema::Schema& schema, const model::GeneratorSettings& network,
                                   const TrainSpec& spec, const Placement& placement, Heartbeat heartbeat)
    : every_(spec.choose_every),
      steps_(spec.steps),
      statistics_batch_(statistics_batch(network, schema, spec)),
      device_(placement.device),
      collective_(placement.collective),
      measurement_{.seed = spec.seed,
                   .batch = kBatch,
                   .batches = kBatches,
                   .class_share = std::move(class_share),
                   .device = placement.device,
                   .heartbeat = std::move(heartbeat)},
      judges_(std::move(judges)) {
  require(!judges_.empty(), "nothing judges a training's states: this is a bug in muffle.");
}

double CheckpointChoice::look(DataParallel& training) {
  const torch::NoGradGuard no_grad;
  training.take_statistics(statistics_batch_);
  beat(measurement_.heartbeat);
  model::Generator& generator = *training.generator();
  double sum = 0;
  for (const Matching& judge : judges_) {
    const Tensor mean = mean_embedding(generator, judge, measurement_, *collective_);
    sum += squared_distance(judge, mean, measurement_, judge.noise_square);
  }
  // Root's: sums of doubles may differ in their last bit between processors, and all are to keep one model.
  Tensor distance = torch::full({1}, sum, torch::kFloat64);
  distance = distance.to(device_);
  collective_->broadcast(distance);
  collective_->wait();
  const double found = distance.item<double>();
  if (step_ == 0 || found < distance_) {
    step_ = training.steps_done();
    distance_ = found;
    nearest_.clear();
    for (const auto& [name, tensor] : state_of(generator)) nearest_.emplace_back(name, tensor.clone());
  }
  return found;
}

void CheckpointChoice::take(model::Generator& generator) const {
  require(step_ > 0, "no state was looked at: this is a bug in muffle.");
  const torch::NoGradGuard no_grad;
  const auto to = state_of(generator);
  for (std::size_t i = 0; i < to.size(); ++i) Tensor(to[i].second).copy_(nearest_[i].second);
}

std::optional<ChosenState> CheckpointChoice::state() const {
  if (step_ == 0) return std::nullopt;
  ChosenState out{step_, distance_, {}};
  for (const auto& [name, tensor] : nearest_) {
    const Tensor host = tensor.to(torch::kCPU).contiguous();
    const auto* numbers = host.data_ptr<float>();
    out.tensors.push_back({name, host.sizes().vec(), {numbers, numbers + host.numel()}});
  }
  return out;
}

void CheckpointChoice::resume(const std::optional<ChosenState>& state, const model::Generator& generator) {
  if (!state) return;
  const auto tensors = state_of(generator);
  bool same = state->step > 0 && state->tensors.size() == tensors.size();
  for (std::size_t i = 0; same && i < tensors.size(); ++i)
    same = state->tensors[i].name == tensors[i].first &&
           state->tensors[i].shape == tensors[i].second.sizes().vec();
  if (!same) {
    throw ProtocolError(
        fmt::format("the checkpoint's nearest model, of step {}, is that of another generator. Remove the "
                    "checkpoint to train from the beginning",
                    state->step));
  }
  const torch::NoGradGuard no_grad;
  step_ = state->step;
  distance_ = state->distance;
  nearest_.clear();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const CheckpointTensor& saved = state->tensors[i];
    nearest_.emplace_back(saved.name,
                          torch::empty_like(tensors[i].second)
                              .copy_(torch::tensor(saved.values, torch::kFloat32).view(saved.shape)));
  }
}

}  // namespace muffle::train
