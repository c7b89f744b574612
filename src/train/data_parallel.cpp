#include "muffle/train/data_parallel.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/model/sync_batch_norm.hpp"
#include "step_graph.hpp"

namespace muffle::train {
namespace {

using torch::Tensor;

void set_momentum(model::Generator& generator, double momentum) {
  for (const auto& m : generator.modules(/*include_self=*/false)) {
    if (auto* norm = dynamic_cast<model::SyncBatchNorm*>(m.get())) norm->set_momentum(momentum);
  }
}

/// The tensors of a training by name; they share its storage.
std::vector<std::pair<std::string, Tensor>> tensors_of(const model::Generator& generator,
                                                       torch::optim::Adam& optimizer,
                                                       const Objective& objective) {
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto& p : generator.named_parameters())
    out.emplace_back("parameter/" + p.key(), p.value().detach());
  for (const auto& b : generator.named_buffers()) out.emplace_back("buffer/" + b.key(), b.value());
  for (const auto& p : generator.named_parameters()) {
    auto& adam = adam_state(optimizer, p.value());
    out.emplace_back("adam.mean/" + p.key(), adam.exp_avg());
    out.emplace_back("adam.square/" + p.key(), adam.exp_avg_sq());
  }
  for (auto& named : objective.tensors()) out.push_back(std::move(named));
  return out;
}

std::unique_ptr<Objective> make_objective(Problem problem, ObjectiveOptions options, std::uint64_t seed,
                                          const std::shared_ptr<model::TensorCollective>& collective) {
  if (problem.records)
    return std::make_unique<RecordsObjective>(std::move(*problem.records), std::move(options), seed,
                                              collective);
  return std::make_unique<SumsObjective>(std::move(problem.maps), std::move(options), collective);
}

}  // namespace

DataParallel::DataParallel(const model::NetworkSettings& network, const schema::Schema& schema,
                           const TrainSpec& spec, Problem problem,
                           std::shared_ptr<model::TensorCollective> collective)
    : spec_(spec),
      class_share_(std::move(problem.class_share)),
      device_(problem.device),
      collective_(std::move(collective)),
      generator_(network.build(schema, spec.seed, collective_)),
      objective_(
          make_objective(std::move(problem),
                         {spec.unbiased, spec.stratified, spec.average_rate, class_share_, spec.credible},
                         spec.seed, collective_)),
      reducer_((generator_->to(device_), generator_->parameters()), collective_),
      optimizer_(generator_->parameters(),
                 torch::optim::AdamOptions(spec.learning_rate).betas({spec.beta1, 0.999})) {}

DataParallel::~DataParallel() = default;

DataParallel::Batch DataParallel::draw(std::uint32_t substream, std::uint64_t batch) const {
  const auto rank = static_cast<std::uint64_t>(collective_->rank());
  const auto ranks = static_cast<std::uint64_t>(collective_->size());
  const std::uint64_t first = rank * batch / ranks, last = (rank + 1) * batch / ranks;
  Batch b;
  b.codes = generator_->codes(spec_.seed, true, substream, first, last - first).to(device_);
  b.labels = model::label_tensor(spec_.seed, true, substream, first, last - first, batch, class_share_,
                                 spec_.stratified)
                 .to(device_);
  return b;
}

Tensor DataParallel::enqueue(const Tensor& codes, const Tensor& labels, const Tensor& stop_request) {
  generator_->train();
  reducer_.zero();
  const Tensor records = generator_->forward(codes, labels);
  const Tensor seen =
      objective_->enqueue_backward(records, labels, static_cast<std::int64_t>(spec_.batch), stop_request);
  reducer_.reduce();
  return seen;
}

double DataParallel::step(bool wish_to_stop) {
  constexpr int kWarm = 3;
  const Batch batch = draw(static_cast<std::uint32_t>(step_), spec_.batch);
  learning_rate_ =
      spec_.learning_rate * std::pow(spec_.decay, static_cast<double>(step_ / spec_.decay_every));
  if (graph_wanted_ && graph_ == nullptr && eager_steps_ >= kWarm) {
    graph_ = StepGraph::capture(
        batch.codes, batch.labels, *collective_, optimizer_, generator_->parameters(), step_,
        [this](const Tensor& codes, const Tensor& labels, const Tensor& stop_request) {
          return enqueue(codes, labels, stop_request);
        });
    graph_wanted_ = graph_ != nullptr;
  }
  Objective::Seen seen{};
  if (graph_ != nullptr) {
    seen = objective_->read(graph_->replay(batch.codes, batch.labels, wish_to_stop, learning_rate_));
  } else {
    const Tensor stop_request = torch::full({1}, wish_to_stop ? 1.0 : 0.0, batch.codes.options());
    seen = objective_->read(enqueue(batch.codes, batch.labels, stop_request));
    ++eager_steps_;
  }
  const double loss = seen.loss;
  stop_agreed_ = seen.stop_requested;
  if (!std::isfinite(loss)) {
    throw InvariantError(
        fmt::format("training diverged: the loss of step {} is {}. The learning rate {} is probably too "
                    "large for this generator: try train.learning_rate = {}",
                    step_, loss, spec_.learning_rate, spec_.learning_rate / 10));
  }
  if (graph_ == nullptr) {
    for (auto& group : optimizer_.param_groups())
      static_cast<torch::optim::AdamOptions&>(group.options()).lr(learning_rate_);
    optimizer_.step();
  }
  ++step_;
  return loss;
}

double DataParallel::take_statistics(std::uint64_t batch) {
  const torch::NoGradGuard no_grad;
  const Batch b = draw(kStatisticsSubstream, batch);
  generator_->train();
  set_momentum(*generator_, 1.0);
  generator_->forward(b.codes, b.labels);
  set_momentum(*generator_, model::SyncBatchNorm::kMomentum);
  generator_->eval();
  const double loss =
      objective_->loss(generator_->forward(b.codes, b.labels), b.labels, static_cast<std::int64_t>(batch));
  generator_->train();
  return loss;
}

double DataParallel::disagreement() {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> flat;
  for (const auto& p : generator_->parameters()) flat.push_back(p.detach().reshape(-1));
  const Tensor own = torch::cat(flat);
  Tensor root = own.clone();
  collective_->broadcast(root);
  Tensor worst = torch::zeros({collective_->size()}, own.options());
  worst[collective_->rank()] = ((own - root).abs().max() / root.abs().max());
  collective_->all_reduce_sum(worst);
  collective_->wait();
  return worst.max().item<double>();
}

Checkpoint DataParallel::checkpoint() const {
  const torch::NoGradGuard no_grad;
  Checkpoint c;
  c.ranks = collective_->size();
  c.seed = spec_.seed;
  c.step = step_;
  // The optimizer has no const way to its state; nothing is changed.
  auto& optimizer = const_cast<torch::optim::Adam&>(optimizer_);
  for (const auto& [name, tensor] : tensors_of(*generator_, optimizer, *objective_)) {
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
  const auto tensors = tensors_of(*generator_, optimizer_, *objective_);
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
  objective_->set_steps(checkpoint.step);
  step_ = checkpoint.step;
}

}  // namespace muffle::train
