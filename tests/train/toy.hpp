#pragma once

#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/model/fourier_embedding.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/train/data_parallel.hpp"
#include "support/generators.hpp"

namespace muffle::test {

/// A small problem: 3 classes, 64 features, 8 x 8 images (or 5 columns), and a target that some data could
/// have.
struct Toy {
  std::shared_ptr<const model::NetworkSettings> generator;
  schema::Schema schema;
  train::TrainSpec spec;
  torch::Tensor frequencies;
  release::Target target;
  torch::Tensor mean;  ///< C x D: the mean embedding to match
};

inline torch::Tensor toy_normal(std::vector<std::int64_t> shape, std::uint32_t substream) {
  const CounterStream stream(11, Stream::kTest, substream);
  torch::Tensor t = torch::empty(shape);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    t.data_ptr<float>()[i] = static_cast<float>(stream.normal(static_cast<std::uint64_t>(i)));
  }
  return t;
}

/// A kind of generator with its settings, and the shape of its records.
struct ToyNetwork {
  std::string kind;
  std::vector<std::size_t> shape;
  nlohmann::json settings;
};
inline const ToyNetwork kColumns{"fully-connected", {5}, {{"hidden", {16, 12}}}},
    kImages{"convolutional", {1, 8, 8}, {{"hidden", {16}}, {"channels", {4, 3}}}},
    kBlocks{"resnet", {1, 8, 8}, {{"hidden", nlohmann::json::array()}, {"blocks", {6, 4, 3}}}};

inline Toy toy(const ToyNetwork& of, std::size_t batch, bool stratified, bool unbiased = true) {
  Toy t;
  t.schema = {of.shape, 3};
  t.generator = network(of.kind, of.settings);
  t.spec = {.batch = batch,
            .learning_rate = 0.01,
            .decay_every = 7,
            .unbiased = unbiased,
            .stratified = stratified};
  const auto dims = static_cast<std::int64_t>(t.schema.dims());
  t.frequencies = toy_normal({32, dims}, 1) / (2.0 * M_PI * 0.5 * std::sqrt(static_cast<double>(dims)));
  t.target.class_share = {0.3, 0.5, 0.2};
  t.target.column_weight = {1.0, 1.0, 1.0};
  t.target.records = 300;
  // 300 records, each class around a level of its own.
  const torch::Tensor labels = model::label_tensor(1, false, 0, 0, 300, 300, t.target.class_share, true);
  const torch::Tensor x = torch::sigmoid(toy_normal({300, dims}, 2) + 2.0 * (labels.unsqueeze(1) - 1));
  t.mean = model::FourierEmbedding(t.frequencies, 3).class_sums(x, labels) / 300.0;
  return t;
}

/// The toy's random Fourier features, matched.
inline train::Problem problem(const Toy& toy, torch::Device device = torch::kCPU) {
  const auto classes = static_cast<std::int64_t>(toy.schema.classes);
  const model::FourierEmbedding embedding(toy.frequencies.to(device), classes);
  std::vector<double> weights = toy.target.column_weight;
  for (double& w : weights) w *= w;
  return {
      {{[embedding](const torch::Tensor& x, const torch::Tensor& y) { return embedding.class_sums(x, y); },
        toy.mean.to(device), weights}},
      toy.target.class_share,
      device};
}

inline train::DataParallel training(const Toy& toy, std::shared_ptr<model::TensorCollective> collective,
                                    torch::Device device = torch::kCPU) {
  return {*toy.generator, toy.schema, toy.spec, problem(toy, device), std::move(collective)};
}

/// Everything that training moves: losses, parameters and running statistics.
struct Trajectory {
  std::vector<double> losses;
  std::vector<std::pair<std::string, torch::Tensor>> state;
};

inline void add_state(Trajectory& out, const model::Generator& generator) {
  for (const auto& p : generator.named_parameters())
    out.state.emplace_back(p.key(), p.value().detach().clone());
  for (const auto& b : generator.named_buffers()) out.state.emplace_back(b.key(), b.value().clone());
}

inline constexpr int kSteps = 20;

inline Trajectory follow(train::DataParallel& training, int steps = kSteps) {
  Trajectory out;
  for (int i = 0; i < steps; ++i) out.losses.push_back(training.step());
  add_state(out, *training.generator());
  return out;
}
inline Trajectory follow(const Toy& toy, std::shared_ptr<model::TensorCollective> collective,
                         int steps = kSteps) {
  train::DataParallel own = training(toy, std::move(collective));
  return follow(own, steps);
}
inline std::shared_ptr<model::TensorCollective> alone() {
  static const auto comm = comm::single_process();
  return model::host_collective(*comm);
}
inline Trajectory follow_alone(const Toy& toy, int steps = kSteps) { return follow(toy, alone(), steps); }

/// Largest difference of any loss, parameter or statistic; infinite where one is not finite, or has no
/// counterpart.
inline double distance(const Trajectory& a, const Trajectory& b) {
  constexpr double kApart = std::numeric_limits<double>::infinity();
  if (a.losses.size() != b.losses.size() || a.state.size() != b.state.size()) return kApart;
  double worst = 0.0;
  const auto add = [&](double difference) {
    if (!(difference <= worst)) worst = std::isfinite(difference) ? difference : kApart;
  };
  for (std::size_t i = 0; i < a.losses.size(); ++i) add(std::fabs(a.losses[i] - b.losses[i]));
  for (std::size_t i = 0; i < a.state.size(); ++i) {
    const torch::Tensor &mine = a.state[i].second, &other = b.state[i].second;
    if (mine.sizes() != other.sizes()) return kApart;
    if (mine.numel() == 0) continue;  // a linear lift has no blob, for example
    add((mine - other).abs().max().item<double>());
  }
  return worst;
}

/// K ranks add the same float32 numbers as one rank, in another order: gradients differ by about 1e-7 of
/// their size. Adam divides a gradient by its own running size, so a component near zero can amplify that;
/// over 20 steps of 0.01 (parameters move by up to 0.2) 1e-5 was seen. A wrong sum moves parameters by 0.01
/// and more (see the tests with broken collectives).
/// Not with 2 samples: what a batch norm makes of two numbers is +1 and -1 whatever they are, so the gradient
/// through it is a difference that all but cancels, most of it rounding, and Adam makes whole steps of that.
/// There the products' last bits show, which in MKL (LibTorch 2.11) depend on the number of rows: 1.1e-3 was
/// seen.
inline constexpr double kTolerance = 2e-4;

/// Uneven splits for 2, 3 and 4 ranks, and batches smaller than 4 ranks (a rank without samples); both
/// generators with both forms of the objective.
inline std::vector<Toy> toy_cases() {
  Toy averaged = toy(kColumns, 24, true, false), credible = toy(kColumns, 25, false, true);
  averaged.spec.average_rate = 1e-3;
  averaged.spec.beta1 = 0.5;
  credible.spec.credible = true;
  return {averaged,
          credible,
          toy(kColumns, 24, true, true),
          toy(kColumns, 25, false, false),
          toy(kImages, 23, true, false),
          toy(kImages, 24, false, true),
          toy(kColumns, 3, true, false),
          toy(kImages, 3, false, true),
          toy(kColumns, 25, false, true),
          toy(kColumns, 24, true, false),
          toy(kBlocks, 23, true, false),
          toy(kBlocks, 3, false, true)};
}

}  // namespace muffle::test
