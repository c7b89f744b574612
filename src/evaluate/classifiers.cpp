#include "muffle/evaluate/classifiers.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"

namespace muffle::evaluate {
namespace {

using torch::Tensor;

constexpr std::int64_t kHidden = 100, kChannels0 = 16, kChannels1 = 32;

/// How one kind is trained. Synthetic records are noisy: the schedules end by steps, not by a score that
/// could be followed into the noise.
struct Plan {
  std::int64_t epochs;
  std::int64_t batch;
  double learning_rate;    ///< peak; warms up over a twentieth of the steps, then falls linearly to zero
  double l2;               ///< per weight, not per bias; negative: 1 / n
  std::int64_t min_steps;  ///< small sets are passed over more often
};

Plan plan_for(ClassifierKind kind) {
  switch (kind) {
    case ClassifierKind::kLogisticRegression:
      return {10, 500, 5e-3, -1.0, 1000};
    case ClassifierKind::kMlp:
      return {8, 200, 2e-3, 1e-4, 1000};
    case ClassifierKind::kCnn:
      break;
  }
  return {3, 100, 3e-3, 1e-5, 600};
}

struct Schedule {
  std::int64_t batch, per_epoch, epochs;
};

Schedule schedule_for(const Plan& plan, std::int64_t records) {
  const std::int64_t batch = std::max<std::int64_t>(1, std::min(plan.batch, records));
  const std::int64_t per_epoch = std::max<std::int64_t>(1, (records + batch - 1) / batch);
  return {batch, per_epoch, std::max(plan.epochs, (plan.min_steps + per_epoch - 1) / per_epoch)};
}

std::int64_t as_int(std::size_t n) { return static_cast<std::int64_t>(n); }

/// Numbers that are left of an image after the convolutions.
std::int64_t cnn_features(const schema::Schema& schema) {
  const auto halved_twice = [](std::size_t side) { return as_int((side + 1) / 2 / 2); };
  return kChannels1 * halved_twice(schema.shape[1]) * halved_twice(schema.shape[2]);
}

std::vector<std::vector<std::int64_t>> weight_shapes(ClassifierKind kind, const schema::Schema& schema) {
  const std::int64_t dims = as_int(schema.dims()), classes = as_int(schema.classes);
  switch (kind) {
    case ClassifierKind::kLogisticRegression:
      return {{classes, dims}};
    case ClassifierKind::kMlp:
      return {{kHidden, dims}, {classes, kHidden}};
    case ClassifierKind::kCnn:
      break;
  }
  return {{kChannels0, as_int(schema.shape[0]), 3, 3},
          {kChannels1, kChannels0, 3, 3},
          {classes, cnn_features(schema)}};
}

/// Distinct streams for distinct kinds, so that a classifier's score does not depend on which others are
/// asked for.
std::uint32_t substream(ClassifierKind kind, std::uint32_t index) {
  return (static_cast<std::uint32_t>(kind) << 24) + index;
}

/// Uniform in +-1/sqrt(fan in), weights and biases: LibTorch's own default.
std::vector<Tensor> initial_parameters(ClassifierKind kind, const schema::Schema& schema, std::uint64_t seed) {
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
  for (const auto& shape : weight_shapes(kind, schema)) {
    const std::int64_t fan_in =
        std::accumulate(shape.begin() + 1, shape.end(), std::int64_t{1}, std::multiplies<>());
    const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
    fill(shape, bound);
    fill({shape[0]}, bound);
  }
  return out;
}

/// Fisher and Yates, from the last place down.
Tensor shuffled_indices(std::int64_t n, const CounterStream& stream) {
  Tensor order = torch::arange(n, torch::kInt64);
  std::int64_t* at = order.data_ptr<std::int64_t>();
  for (std::int64_t i = n - 1; i > 0; --i) {
    std::swap(at[i], at[stream.below(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(i) + 1)]);
  }
  return order;
}

torch::optim::Adam make_optimizer(const std::vector<Tensor>& parameters, const Plan& plan,
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

double learning_rate(const Plan& plan, std::int64_t step, std::int64_t steps) {
  const double warm_up = std::max(1.0, static_cast<double>(steps) / 20.0);
  const double rising = (static_cast<double>(step) + 1.0) / warm_up;
  const double falling = 1.0 - static_cast<double>(step) / static_cast<double>(steps);
  return plan.learning_rate * std::min(rising, falling);
}

}  // namespace

ClassifierKind classifier_kind(const std::string& name) {
  for (const auto kind : {ClassifierKind::kLogisticRegression, ClassifierKind::kMlp, ClassifierKind::kCnn}) {
    if (name == classifier_name(kind)) return kind;
  }
  throw ConfigError("there is no classifier '" + name +
                    "'; evaluate.classifiers is a list of logistic_regression, mlp and cnn.");
}

std::string classifier_name(ClassifierKind kind) {
  switch (kind) {
    case ClassifierKind::kLogisticRegression:
      return "logistic_regression";
    case ClassifierKind::kMlp:
      return "mlp";
    case ClassifierKind::kCnn:
      break;
  }
  return "cnn";
}

bool classifier_applies(ClassifierKind kind, const schema::Schema& schema) {
  return kind != ClassifierKind::kCnn || (schema.is_image() && cnn_features(schema) > 0);
}

Classifier::Classifier(ClassifierKind kind, const schema::Schema& schema, std::vector<Tensor> parameters)
    : kind_(kind), schema_(schema), parameters_(std::move(parameters)) {}

Tensor Classifier::logits(const Tensor& x) const {
  const auto& p = parameters_;
  switch (kind_) {
    case ClassifierKind::kLogisticRegression:
      return torch::linear(x, p[0], p[1]);
    case ClassifierKind::kMlp:
      return torch::linear(torch::relu(torch::linear(x, p[0], p[1])), p[2], p[3]);
    case ClassifierKind::kCnn:
      break;
  }
  const Tensor images =
      x.view({x.size(0), as_int(schema_.shape[0]), as_int(schema_.shape[1]), as_int(schema_.shape[2])})
          .contiguous(torch::MemoryFormat::ChannelsLast);
  Tensor h = torch::relu(torch::conv2d(images, p[0], p[1], /*stride=*/2, /*padding=*/1));
  h = torch::relu(torch::max_pool2d(torch::conv2d(h, p[2], p[3], /*stride=*/1, /*padding=*/1), 2));
  return torch::linear(h.flatten(1), p[4], p[5]);
}

Tensor Classifier::predict(const Tensor& x) const {
  const torch::NoGradGuard no_grad;
  return logits(x).argmax(1);
}

std::uint64_t training_steps(ClassifierKind kind, std::uint64_t records) {
  const Schedule schedule = schedule_for(plan_for(kind), static_cast<std::int64_t>(records));
  return static_cast<std::uint64_t>(schedule.epochs * schedule.per_epoch);
}

Classifier train_classifier(ClassifierKind kind, const TrainingSet& set, const schema::Schema& schema,
                            std::uint64_t seed, const std::function<void()>& on_step) {
  require(classifier_applies(kind, schema), classifier_name(kind) + " cannot look at records of this shape");
  const std::int64_t n = set.x.size(0);
  require(n > 0 && set.y.size(0) == n && set.x.size(1) == as_int(schema.dims()),
          fmt::format("a training set of {} records of {} numbers with {} labels does not fit the schema", n,
                      set.x.size(1), set.y.size(0)));
  const Plan plan = plan_for(kind);
  const auto [batch, per_epoch, epochs] = schedule_for(plan, n);
  Classifier classifier(kind, schema, initial_parameters(kind, schema, seed));
  torch::optim::Adam optimizer = make_optimizer(classifier.parameters(), plan, n);
  for (std::int64_t step = 0, epoch = 0; epoch < epochs; ++epoch) {
    const Tensor order = shuffled_indices(
        n, CounterStream(seed, Stream::kShuffle, substream(kind, static_cast<std::uint32_t>(epoch))));
    for (std::int64_t first = 0; first < n; first += batch, ++step) {
      const Tensor rows = order.slice(0, first, std::min(n, first + batch));
      const Tensor loss = torch::cross_entropy_loss(classifier.logits(set.x.index_select(0, rows)),
                                                    set.y.index_select(0, rows));
      for (auto& group : optimizer.param_groups())
        group.options().set_lr(learning_rate(plan, step, epochs * per_epoch));
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      on_step();
    }
  }
  return classifier;
}

}  // namespace muffle::evaluate
