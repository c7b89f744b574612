// What a training's next step depends on, as a checkpoint and back.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "adam_state.hpp"
#include "muffle/core/error.hpp"
#include "muffle/train/data_parallel.hpp"

namespace muffle::train {
namespace {

using torch::Tensor;

/// The tensors of a training by name; they share its storage.
std::vector<std::pair<std::string, Tensor>> tensors_of(const model::Generator& generator,
                                                       torch::optim::Adam& optimizer) {
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto& p : generator.named_parameters())
    out.emplace_back("parameter/" + p.key(), p.value().detach());
  for (const auto& b : generator.named_buffers()) out.emplace_back("buffer/" + b.key(), b.value());
  for (const auto& p : generator.named_parameters()) {
    auto& adam = adam_state(optimizer, p.value());
    out.emplace_back("adam.mean/" + p.key(), adam.exp_avg());
    out.emplace_back("adam.square/" + p.key(), adam.exp_avg_sq());
  }
  return out;
}

}  // namespace

Checkpoint DataParallel::checkpoint() const {
  const torch::NoGradGuard no_grad;
  Checkpoint c;
  c.ranks = collective_->size();
  c.seed = spec_.seed;
  c.step = step_;
  // The optimizer has no const way to its state; nothing is changed.
  auto& optimizer = const_cast<torch::optim::Adam&>(optimizer_);
  for (const auto& [name, tensor] : tensors_of(*generator_, optimizer)) {
    require(tensor.scalar_type() == torch::kFloat32, fmt::format("{} is no float32 tensor", name));
    const Tensor host = tensor.to(torch::kCPU).contiguous();
    const auto* numbers = host.data_ptr<float>();
    c.tensors.push_back({name, host.sizes().vec(), {numbers, numbers + host.numel()}});
  }
  for (const auto& p : generator_->parameters()) {
    require(adam_state(optimizer, p).step() == static_cast<std::int64_t>(step_),
            "the optimizer has not taken a step for every step of the training");
  }
  return c;
}

void DataParallel::resume(const Checkpoint& checkpoint) {
  const torch::NoGradGuard no_grad;
  const auto tensors = tensors_of(*generator_, optimizer_);
  const auto refuse = [&](const std::string& what) {
    throw ProtocolError(fmt::format(
        "the checkpoint of step {} is of another training: {}. Remove it to train from the beginning",
        checkpoint.step, what));
  };
  if (checkpoint.seed != spec_.seed || checkpoint.step > spec_.steps) refuse("other random streams or steps");
  if (checkpoint.tensors.size() != tensors.size())
    refuse(fmt::format("it has {} tensors, not {}", checkpoint.tensors.size(), tensors.size()));
  // All is checked before anything is changed.
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const CheckpointTensor& saved = checkpoint.tensors[i];
    if (saved.name != tensors[i].first || saved.shape != tensors[i].second.sizes().vec())
      refuse(fmt::format("its tensor '{}' stands where '{}' should", saved.name, tensors[i].first));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const CheckpointTensor& saved = checkpoint.tensors[i];
    Tensor to = tensors[i].second;
    // Copied in place: gradients, buckets and the optimizer hold on to these very tensors.
    to.copy_(torch::tensor(saved.values, torch::kFloat32).view(saved.shape));
  }
  for (const auto& p : generator_->parameters())
    adam_state(optimizer_, p).step(static_cast<std::int64_t>(checkpoint.step));
  step_ = checkpoint.step;
}

}  // namespace muffle::train
