#include "muffle/evaluate/classifiers.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <memory>
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
constexpr std::int64_t kMirroredAtOnce = 200;  ///< what a large network makes of more takes gigabytes

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

Tensor mlp_activations(const Weights& w, const schema::Schema&, const Tensor& x) {
  return torch::relu(torch::linear(x, w.learned[0], w.learned[1]));
}

/// Images, their channels interleaved: pooling and its gradient are several times faster so.
Tensor as_images(const schema::Schema& schema, const Tensor& x) {
  return x.view({x.size(0), as_int(schema.shape[0]), as_int(schema.shape[1]), as_int(schema.shape[2])})
      .contiguous(torch::MemoryFormat::ChannelsLast);
}

/// conv 3x3 (stride 2) 16, ReLU, conv 3x3 32, max pool 2, ReLU, linear. The stride halves the image before
/// the costly layer, so that 60,000 images take seconds.
Shapes cnn_shapes(const schema::Schema& schema) {
  return {{kChannels0, as_int(schema.shape[0]), 3, 3},
          {kChannels1, kChannels0, 3, 3},
          {as_int(schema.classes), as_int(cnn_width(schema))}};
}

Tensor cnn_activations(const Weights& w, const schema::Schema& schema, const Tensor& x) {
  const std::vector<Tensor>& p = w.learned;
  Tensor h = torch::relu(torch::conv2d(as_images(schema, x), p[0], p[1], /*stride=*/2, /*padding=*/1));
  h = torch::relu(torch::max_pool2d(torch::conv2d(h, p[2], p[3], /*stride=*/1, /*padding=*/1), 2));
  return h.flatten(1);
}

/// The ResNet9 by whose accuracy DP-MEPF scores its images: FFCV's for CIFAR-10 (its documentation's example,
/// after D. Page's for DAWNBench), but for the factors of its batch normalisations, which are 1.
Shapes resnet9_shapes(const schema::Schema& schema) {
  return {{64, as_int(schema.shape[0]), 3, 3},
          {128, 64, 5, 5},
          {128, 128, 3, 3},
          {128, 128, 3, 3},
          {256, 128, 3, 3},
          {256, 256, 3, 3},
          {256, 256, 3, 3},
          {128, 256, 3, 3},
          {as_int(schema.classes), 128}};
}
constexpr std::size_t kNormalised = 8;

Tensor resnet9_activations(const Weights& w, const schema::Schema& schema, const Tensor& x) {
  std::size_t layer = 0;
  const auto made = [&](const Tensor& h, std::int64_t stride, std::int64_t padding) {
    const std::size_t i = 2 * layer++;
    const Tensor sums = torch::conv2d(h, w.learned[i], {}, stride, padding);
    return torch::relu(torch::batch_norm(sums, {}, w.learned[i + 1], w.running[i], w.running[i + 1],
                                         w.training, /*momentum=*/0.1, /*eps=*/1e-5,
                                         /*cudnn_enabled=*/false));
  };
  const auto past = [&](const Tensor& h) { return h + made(made(h, 1, 1), 1, 1); };
  const Tensor halved = past(made(made(as_images(schema, x), 1, 1), 2, 2));
  const Tensor quartered = past(torch::max_pool2d(made(halved, 1, 1), 2));
  return 0.2 * torch::amax(made(quartered, 1, 0), {2, 3});
}

bool any(const schema::Schema&) { return true; }
/// Images of at least 3 x 3 pixels.
bool cnn_applies(const schema::Schema& schema) { return cnn_width(schema) > 0; }
/// Halved twice, the second time downwards, it must leave 3 x 3 pixels for the last convolution.
bool resnet9_applies(const schema::Schema& schema) {
  return schema.is_image() && schema.shape[1] >= 11 && schema.shape[2] >= 11;
}

constexpr ClassifierKind logistic_regression_kind{
    "logistic_regression", 0, {10, 500, 5e-3, -1.0, 1000}, regression_shapes, regression_activations, any};
constexpr ClassifierKind mlp_kind{"mlp", 1, {8, 200, 2e-3, 1e-4, 1000}, mlp_shapes, mlp_activations, any};
constexpr ClassifierKind cnn_kind{"cnn",           2,           {3, 100, 3e-3, 1e-5, 600},        cnn_shapes,
                                  cnn_activations, cnn_applies, "images of at least 3 x 3 pixels"};
constexpr ClassifierKind resnet9_kind{"resnet9",
                                      3,
                                      {24, 512, 0.5, 5e-4, 0, 24.0 / 5.0, 0.9, 0.1},
                                      resnet9_shapes,
                                      resnet9_activations,
                                      resnet9_applies,
                                      "images of at least 11 x 11 pixels",
                                      kNormalised,
                                      true};

constexpr ClassifierKind kTable[] = {
#define MUFFLE_KIND(kind) kind##_kind,
#include "classifier_kinds.inc"
};
constexpr std::span<const ClassifierKind> kKinds = kTable;

std::uint32_t substream(const ClassifierKind& kind, std::uint32_t index) {
  return (kind.stream << 24) + index;
}

/// Uniform in +-1/sqrt(fan in), weights and biases: LibTorch's own default. Biases of what is normalised: 0.
Weights initial_weights(const ClassifierKind& kind, const schema::Schema& schema, std::uint64_t seed) {
  Weights weights;
  std::vector<Tensor>& out = weights.learned;
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
    const bool normalised = out.size() / 2 < kind.normalised;
    fill(shape, bound);
    fill({shape[0]}, normalised ? 0.0 : bound);
    if (!normalised) continue;
    weights.running.push_back(torch::zeros({shape[0]}));
    weights.running.push_back(torch::ones({shape[0]}));
  }
  return weights;
}

/// Adam or SGD, with the penalty on weights and not on biases.
template <class Optimizer, class Options>
std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::vector<Tensor>& parameters,
                                                        const Options& plain, double l2) {
  std::vector<Tensor> weights, biases;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    (i % 2 == 0 ? weights : biases).push_back(parameters[i]);
  auto penalised = std::make_unique<Options>(plain);
  penalised->weight_decay(l2);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::move(weights), std::move(penalised));
  groups.emplace_back(std::move(biases), std::make_unique<Options>(plain));
  return std::make_unique<Optimizer>(std::move(groups), plain);
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::vector<Tensor>& parameters,
                                                        const TrainingPlan& plan, std::int64_t records) {
  using namespace torch::optim;
  const double l2 = plan.l2 < 0.0 ? 1.0 / static_cast<double>(records) : plan.l2;
  if (plan.momentum == 0.0) return make_optimizer<Adam>(parameters, AdamOptions(plan.learning_rate), l2);
  return make_optimizer<SGD>(parameters, SGDOptions(plan.learning_rate).momentum(plan.momentum), l2);
}

Tensor mirrored(const schema::Schema& schema, const Tensor& x) {
  return as_images(schema, x).flip({3}).flatten(1);
}

/// These records; about half of them mirrored where the kind asks for it.
Tensor shown(const ClassifierKind& kind, const schema::Schema& schema, const Tensor& x, std::uint64_t seed,
             std::int64_t step) {
  if (!kind.mirrors) return x;
  const CounterStream stream(seed, Stream::kEvaluation,
                             substream(kind, 0x10000u + static_cast<std::uint32_t>(step)));
  const Tensor turned = torch::empty({x.size(0), 1}, torch::kBool);
  for (std::int64_t i = 0; i < x.size(0); ++i)
    turned.data_ptr<bool>()[i] = stream.below(static_cast<std::uint64_t>(i), 2) == 1;
  return torch::where(turned, mirrored(schema, x), x);
}

double learning_rate(const TrainingPlan& plan, std::int64_t step, std::int64_t steps) {
  const double warm_up = std::max(1.0, static_cast<double>(steps) / plan.parts);
  const double rising = (static_cast<double>(step) + 1.0) / warm_up;
  const double falling = 1.0 - static_cast<double>(step) / static_cast<double>(steps);
  return plan.learning_rate * std::min(rising, falling);
}

}  // namespace

const ClassifierKind& classifier_kind(const std::string& name) {
  return find_kind(kKinds, name, "classifier");
}

Tensor Classifier::logits(const Tensor& x) const {
  const Tensor last = kind->activations(weights, schema, x);
  return torch::linear(last, weights.learned.end()[-2], weights.learned.end()[-1]);
}

Tensor Classifier::activations(const Tensor& x) const {
  const torch::NoGradGuard no_grad;
  return kind->activations(weights, schema, x);
}

Tensor Classifier::predict(const Tensor& x) const {
  const torch::NoGradGuard no_grad;
  if (!kind->mirrors) return logits(x).argmax(1);
  std::vector<Tensor> classes;
  for (const Tensor& part : x.split(kMirroredAtOnce))
    classes.push_back((logits(part) + logits(mirrored(schema, part))).argmax(1));
  return torch::cat(classes);
}

TrainingPlan plan_of(const ClassifierKind& kind, std::uint64_t epochs) {
  TrainingPlan plan = kind.plan;
  if (epochs > 0) {
    plan.epochs = static_cast<std::int64_t>(epochs);
    plan.min_steps = 0;
  }
  return plan;
}

std::uint64_t training_steps(const TrainingPlan& plan, std::uint64_t records) {
  const Schedule schedule = schedule_for(plan, static_cast<std::int64_t>(records));
  return static_cast<std::uint64_t>(schedule.epochs * schedule.per_epoch);
}

Classifier train_classifier(const ClassifierKind& kind, const TrainingPlan& plan, const TrainingSet& set,
                            const schema::Schema& schema, std::uint64_t seed, const Heartbeat& heartbeat) {
  require(kind.applies(schema), std::string(kind.name) + " cannot look at records of this shape");
  const std::int64_t n = set.x.size(0);
  require(n > 0 && set.y.size(0) == n && set.x.size(1) == as_int(schema.dims()),
          fmt::format("a training set of {} records of {} numbers with {} labels does not fit the schema", n,
                      set.x.size(1), set.y.size(0)));
  const auto [batch, per_epoch, epochs] = schedule_for(plan, n);
  Classifier classifier{&kind, schema, initial_weights(kind, schema, seed)};
  classifier.weights.training = true;
  const auto optimizer = make_optimizer(classifier.weights.learned, plan, n);
  for (std::int64_t step = 0, epoch = 0; epoch < epochs; ++epoch) {
    const CounterStream stream(seed, Stream::kShuffle, substream(kind, static_cast<std::uint32_t>(epoch)));
    const Tensor order = torch::tensor(shuffled_indices(stream, static_cast<std::size_t>(n)));
    for (std::int64_t first = 0; first < n; first += batch, ++step) {
      const Tensor rows = order.slice(0, first, std::min(n, first + batch));
      beat(heartbeat);
      if (kind.normalised > 0 && rows.size(0) == 1) continue;  // one record has no variance
      const Tensor x = shown(kind, schema, set.x.index_select(0, rows), seed, step);
      const Tensor loss =
          torch::cross_entropy_loss(classifier.logits(x), set.y.index_select(0, rows), /*weight=*/{},
                                    at::Reduction::Mean, /*ignore_index=*/-100, plan.smoothing);
      for (auto& group : optimizer->param_groups())
        group.options().set_lr(learning_rate(plan, step, epochs * per_epoch));
      optimizer->zero_grad();
      loss.backward();
      optimizer->step();
    }
  }
  classifier.weights.training = false;
  return classifier;
}

}  // namespace muffle::evaluate
