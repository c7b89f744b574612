// One training step at the papers' size: batch 500, D = 10,000, 28 x 28 images, 10 classes, the convolutional
// generator. "ratio" is the time of a step whose objective is plain loops over ours; "ratio_torch" that of a
// step of plain LibTorch operations (phi materialised, torch's autograd). The generator and Adam are
// LibTorch's in all three.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "muffle/core/philox.hpp"
#include "muffle/model/fourier_embedding.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/train/data_parallel.hpp"
#include "muffle/train/flush_denormals.hpp"
#include "muffle/train/trainer.hpp"
#include "reference/mean_embedding_reference.hpp"

namespace {

using namespace muffle;
using torch::Tensor;

constexpr std::int64_t kClasses = 10, kHalf = 5000, kDims = 784, kBatch = 500;

Tensor normal(std::vector<std::int64_t> shape, std::uint32_t substream) {
  const CounterStream stream(1, Stream::kTest, substream);
  Tensor t = torch::empty(shape);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    t.data_ptr<float>()[i] = static_cast<float>(stream.normal(static_cast<std::uint64_t>(i)));
  }
  return t;
}

struct Setup {
  std::unique_ptr<model::GeneratorSettings> generator = model::make_generator_settings("convolutional");
  const model::NetworkSettings& network = *generator->network();
  schema::Schema schema;
  train::TrainSpec spec;
  Tensor frequencies = normal({kHalf, kDims}, 1) / (2 * M_PI * std::sqrt(127.0));
  release::Target target;

  Setup() {
    schema.shape = {1, 28, 28};
    schema.classes = kClasses;
    spec.batch = kBatch;
    const Tensor mean = normal({kClasses, 2 * kHalf}, 2) * 1e-3;
    target.mean_embedding.assign(mean.data_ptr<float>(), mean.data_ptr<float>() + mean.numel());
    target.class_share.assign(kClasses, 1.0 / kClasses);
    target.column_weight.assign(target.class_share.size(), 1.0);
  }
};

/// Back-propagates the objective's gradient into the records x; y are their labels.
using Backward = std::function<void(const Tensor& x, const Tensor& y)>;

/// As one writes it first.
Backward torch_operations(const Setup& setup) {
  const Tensor target = torch::tensor(setup.target.mean_embedding).view({kClasses, 2 * kHalf});
  return [=, frequencies = setup.frequencies](const Tensor& x, const Tensor& y) {
    const Tensor angles = x.mm(frequencies.t()) * (2 * M_PI);
    const Tensor phi = torch::cat({torch::cos(angles), torch::sin(angles)}, 1) * std::sqrt(1.0 / kHalf);
    const Tensor mean = torch::one_hot(y, kClasses).to(torch::kFloat32).t().mm(phi) / kBatch;
    (mean - target).square().sum().backward();
  };
}

std::vector<double> doubles(const Tensor& t) {
  const Tensor flat = t.detach().to(torch::kFloat64).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

/// The loops that tests/train hold the objective to.
Backward plain_loops(const Setup& setup) {
  const auto& target = setup.target.mean_embedding;
  const std::vector<double> ones(kClasses, 1.0);
  const reference::MeanEmbeddingProblem problem{
      kDims, kHalf, kClasses, doubles(setup.frequencies), {target.begin(), target.end()}, ones};
  return [=](const Tensor& x, const Tensor& y) {
    const std::vector<std::int64_t> labels(y.data_ptr<std::int64_t>(), y.data_ptr<std::int64_t>() + kBatch);
    const std::vector<double> gradient = reference::gradient(problem, doubles(x), labels, ones);
    x.backward(torch::tensor(gradient, torch::kFloat32).view_as(x));
  };
}

/// A training step around an objective.
class PlainStep {
 public:
  PlainStep(const Setup& setup, Backward backward)
      : setup_(setup),
        backward_(std::move(backward)),
        generator_(setup.network.build(setup.schema, 1, nullptr)),
        optimizer_(generator_->parameters(), torch::optim::AdamOptions(0.01)) {}

  void step() {
    optimizer_.zero_grad();
    const Tensor codes = model::latent_codes(1, true, step_, 0, kBatch, setup_.network.code);
    const Tensor labels =
        model::label_tensor(1, true, step_, 0, kBatch, kBatch, setup_.target.class_share, true);
    ++step_;
    backward_(generator_->forward(codes, labels), labels);
    optimizer_.step();
  }

 private:
  const Setup& setup_;
  Backward backward_;
  std::shared_ptr<model::Generator> generator_;
  torch::optim::Adam optimizer_;
  std::uint32_t step_ = 0;
};

template <class Step>
double best_seconds(int repeats, Step&& step) {
  double best = HUGE_VAL;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    step();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void training_step(benchmark::State& state) {
  static const Setup setup;
  train::set_torch_threads(static_cast<int>(state.range(0)));
  const train::FlushDenormals flush_denormals(static_cast<int>(state.range(0)));
  const auto comm = comm::single_process();
  const model::FourierEmbedding embedding(setup.frequencies, kClasses);
  train::DataParallel training(
      setup.network, setup.schema, setup.spec,
      {{{[embedding](const Tensor& x, const Tensor& y) { return embedding.class_sums(x, y); },
         torch::tensor(setup.target.mean_embedding).view({kClasses, 2 * kHalf}),
         std::vector<double>(kClasses, 1.0)}},
       setup.target.class_share,
       torch::kCPU},
      model::host_collective(*comm));
  training.step();
  double best = HUGE_VAL;
  for (auto _ : state) best = std::min(best, best_seconds(1, [&] { training.step(); }));
  PlainStep plain(setup, torch_operations(setup));
  plain.step();
  const double torch_best = best_seconds(5, [&] { plain.step(); });
  static const double loops = [] {  // on one thread, whatever LibTorch has
    PlainStep step(setup, plain_loops(setup));
    return best_seconds(1, [&] { step.step(); });
  }();
  state.counters["best_ms"] = best * 1e3;
  state.counters["torch_ms"] = torch_best * 1e3;
  state.counters["plain_loop_ms"] = loops * 1e3;
  state.counters["ratio"] = loops / best;
  state.counters["ratio_torch"] = torch_best / best;
}
BENCHMARK(training_step)
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(10)
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
