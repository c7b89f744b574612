#include "muffle/evaluate/classifiers.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/evaluate/evaluate.hpp"

namespace muffle::evaluate {
namespace {

using torch::Tensor;

constexpr std::int64_t kHidden = 100, kChannels0 = 16, kChannels1 = kCnnChannels;

struct Schedule {
  std::int64_t batch, per_epoch, epochs;
};

Schedule schedule_for(const TrainingPlan& plan, std::int64_t records) {
  const std::int64_t batch = std::max<std::int64_t>(1, std::min(plan.batch, records));
  const std::int64_t per_epoch = std::max<std::int64_t>(1, (records + batch - 1) / batch);
  return {batch, per_epoch, std::max(plan.epochs, (plan.min_steps + per_epoch - 1) / per_epoch)};
}

std::int64_t as_int(std::size_t n) { return static_cast<std::int64_t>(n); }

using Shapes = std::vector<std::vector<std::int64_t>>;
using Weights = std::vector<Tensor>;

/// Multinomial, L2 penalty ||W||^2 / (2 n) as in scikit-learn with C = 1.
Shapes regression_shapes(const schema::Schema& schema) {
  return {{as_int(schema.classes), as_int(schema.dims())}};
}

Tensor regression_activations(const Weights&, const schema::Schema&, const Tensor& x) { return x; }

/// One hidden layer of 100 ReLU units, Adam, batch 200, L2 1e-4: scikit-learn's MLPClassifier, with a
/// learning rate that falls to zero in a fixed number of steps instead of a stopping rule.
Shapes mlp_shapes(const schema::Schema& schema) {
  return {{kHidden, as_int(schema.dims())}, {as_int(schema.classes), kHidden}};
}

Tensor mlp_activations(const Weights& p, const schema::Schema&, const Tensor& x) {
  return torch::relu(torch::linear(x, p[0], p[1]));
}

/// conv 3x3 (stride 2) 16, ReLU, conv 3x3 32, max pool 2, ReLU, linear. The stride halves the image before
/// the costly layer, so that 60,000 images take seconds.
Shapes cnn_shapes(const schema::Schema& schema) {
  return {{kChannels0, as_int(schema.shape[0]), 3, 3},
          {kChannels1, kChannels0, 3, 3},
          {as_int(schema.classes), as_int(cnn_width(schema))}};
}

Tensor cnn_activations(const Weights& p, const schema::Schema& schema, const Tensor& x) {
  const Tensor images =
      x.view({x.size(0), as_int(schema.shape[0]), as_int(schema.shape[1]), as_int(schema.shape[2])})
          .contiguous(torch::MemoryFormat::ChannelsLast);
  Tensor h = torch::relu(torch::conv2d(images, p[0], p[1], /*stride=*/2, /*padding=*/1));
  h = torch::relu(torch::max_pool2d(torch::conv2d(h, p[2], p[3], /*stride=*/1, /*padding=*/1), 2));
  return h.flatten(1);
}

bool any(const schema::Schema&) { return true; }
/// Images of at least 3 x 3 pixels.
bool cnn_applies(const schema::Schema& schema) { return cnn_width(schema) > 0; }

constexpr ClassifierKind logistic_regression_kind{
    "logistic_regression", 0, {10, 500, 5e-3, -1.0, 1000}, regression_shapes, regression_activations, any};
constexpr ClassifierKind mlp_kind{"mlp", 1, {8, 200, 2e-3, 1e-4, 1000}, mlp_shapes, mlp_activations, any};
constexpr ClassifierKind cnn_kind{"cnn",           2,          {3, 100, 3e-3, 1e-5, 600}, cnn_shapes,
                                  cnn_activations, cnn_applies};

constexpr ClassifierKind kTable[] = {
#define MUFFLE_KIND(kind) kind##_kind,
#include "classifier_kinds.inc"
};
constexpr std::span<const ClassifierKind> kKinds = kTable;

std::uint32_t substream(const ClassifierKind& kind, std::uint32_t index) {
  return (kind.stream << 24) + index;
}

/// Uniform in +-1/sqrt(fan in), weights and biases: LibTorch's own default.
std::vector<Tensor> initial_parameters(const ClassifierKind& kind, const schema::Schema& schema,
                                       std::uint64_t seed) {
  std::vector<Tensor> out;
  const auto fill = [&](std::vector<std::int64_t> shape, double bound) {
    const CounterStream stream(seed, Stream::kEvaluation,
                               substream(kind, static_cast<std::uint32_t>(out.size())));
    Tensor t = torch::empty(shape);
    float* values = t.data_ptr<float>();
    for (std::int64_t i = 0; i < t.numel(); ++i) {
      values[i] = static_cast<float>(bound * (2.0 * stream.uniform(static_cast<std::uint64_t>(i)) - 1.0));
    }
    // Pooling and its gradient are several times faster on interleaved channels.
    if (t.dim() == 4) t = t.contiguous(torch::MemoryFormat::ChannelsLast);
    out.push_back(t.requires_grad_());
  };
  for (const auto& shape : kind.weight_shapes(schema)) {
    const std::int64_t fan_in =
        std::accumulate(shape.begin() + 1, shape.end(), std::int64_t{1}, std::multiplies<>());
    const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
    fill(shape, bound);
    fill({shape[0]}, bound);
  }
  return out;
}

torch::optim::Adam make_optimizer(const std::vector<Tensor>& parameters, const TrainingPlan& plan,
                                  std::int64_t records) {
  std::vector<Tensor> weights, biases;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    (i % 2 == 0 ? weights : biases).push_back(parameters[i]);
  const torch::optim::AdamOptions plain(plan.learning_rate);
  auto penalised = std::make_unique<torch::optim::AdamOptions>(plain);
  penalised->weight_decay(plan.l2 < 0.0 ? 1.0 / static_cast<double>(records) : plan.l2);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::move(weights), std::move(penalised));
  groups.emplace_back(std::move(biases), std::make_unique<torch::optim::AdamOptions>(plain));
  return torch::optim::Adam(std::move(groups), plain);
}

double learning_rate(const TrainingPlan& plan, std::int64_t step, std::int64_t steps) {
  const double warm_up = std::max(1.0, static_cast<double>(steps) / 20.0);
  const double rising = (static_cast<double>(step) + 1.0) / warm_up;
  const double falling = 1.0 - static_cast<double>(step) / static_cast<double>(steps);
  return plan.learning_rate * std::min(rising, falling);
}

}  // namespace

const ClassifierKind& classifier_kind(const std::string& name) {
  return find_kind(kKinds, name, "classifier");
}

Tensor Classifier::logits(const Tensor& x) const {
  const Tensor last = kind->activations(parameters, schema, x);
  return torch::linear(last, parameters.end()[-2], parameters.end()[-1]);
}

Tensor Classifier::activations(const Tensor& x) const {
  const torch::NoGradGuard no_grad;
  return kind->activations(parameters, schema, x);
}

Tensor Classifier::predict(const Tensor& x) const {
  const torch::NoGradGuard no_grad;
  return logits(x).argmax(1);
}

std::uint64_t training_steps(const ClassifierKind& kind, std::uint64_t records) {
  const Schedule schedule = schedule_for(kind.plan, static_cast<std::int64_t>(records));
  return static_cast<std::uint64_t>(schedule.epochs * schedule.per_epoch);
}

Classifier train_classifier(const ClassifierKind& kind, const TrainingSet& set, const schema::Schema& schema,
                            std::uint64_t seed, const Heartbeat& heartbeat) {
  require(kind.applies(schema), std::string(kind.name) + " cannot look at records of this shape");
  const std::int64_t n = set.x.size(0);
  require(n > 0 && set.y.size(0) == n && set.x.size(1) == as_int(schema.dims()),
          fmt::format("a training set of {} records of {} numbers with {} labels does not fit the schema", n,
                      set.x.size(1), set.y.size(0)));
  const TrainingPlan& plan = kind.plan;
  const auto [batch, per_epoch, epochs] = schedule_for(plan, n);
  const Classifier classifier{&kind, schema, initial_parameters(kind, schema, seed)};
  torch::optim::Adam optimizer = make_optimizer(classifier.parameters, plan, n);
  for (std::int64_t step = 0, epoch = 0; epoch < epochs; ++epoch) {
    const CounterStream stream(seed, Stream::kShuffle, substream(kind, static_cast<std::uint32_t>(epoch)));
    const Tensor order = torch::tensor(shuffled_indices(stream, static_cast<std::size_t>(n)));
    for (std::int64_t first = 0; first < n; first += batch, ++step) {
      const Tensor rows = order.slice(0, first, std::min(n, first + batch));
      const Tensor loss = torch::cross_entropy_loss(classifier.logits(set.x.index_select(0, rows)),
                                                    set.y.index_select(0, rows));
      for (auto& group : optimizer.param_groups())
        group.options().set_lr(learning_rate(plan, step, epochs * per_epoch));
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      beat(heartbeat);
    }
  }
  return classifier;
}

}  // namespace muffle::evaluate
