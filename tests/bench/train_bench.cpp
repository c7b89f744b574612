// One training step at the papers' size: batch 500, D = 10,000, 28 x 28 images, 10 classes, the convolutional
// generator. "ratio" is the time of a plain LibTorch step (phi materialised, torch's autograd) over ours.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "muffle/core/philox.hpp"
#include "muffle/train/data_parallel.hpp"
#include "muffle/train/flush_denormals.hpp"

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
  model::GeneratorSpec generator;
  train::TrainSpec spec;
  Tensor frequencies = normal({kHalf, kDims}, 1) / (2 * M_PI * std::sqrt(127.0));
  embed::Target target;

  Setup() {
    generator.schema.shape = {1, 28, 28};
    generator.schema.classes = kClasses;
    spec.batch = kBatch;
    const Tensor mean = normal({kClasses, 2 * kHalf}, 2) * 1e-3;
    target.mean_embedding.assign(mean.data_ptr<float>(), mean.data_ptr<float>() + mean.numel());
    target.class_share.assign(kClasses, 1.0 / kClasses);
    target.column_weight.assign(target.class_share.size(), 1.0);
  }
};

/// The step as one writes it first.
class PlainStep {
 public:
  explicit PlainStep(const Setup& setup)
      : setup_(setup),
        generator_(model::make_generator(setup.generator, 1, nullptr)),
        target_(torch::tensor(setup.target.mean_embedding).view({kClasses, 2 * kHalf})),
        optimizer_(generator_->parameters(), torch::optim::AdamOptions(0.01)) {}

  void step() {
    optimizer_.zero_grad();
    const Tensor codes = model::latent_codes(1, true, step_, 0, kBatch, setup_.generator.code);
    const Tensor labels =
        model::draw_labels(1, true, step_, 0, kBatch, kBatch, setup_.target.class_share, true);
    ++step_;
    const Tensor angles = generator_->forward(codes, labels).mm(setup_.frequencies.t()) * (2 * M_PI);
    const Tensor phi = torch::cat({torch::cos(angles), torch::sin(angles)}, 1) * std::sqrt(1.0 / kHalf);
    const Tensor mean = torch::one_hot(labels, kClasses).to(torch::kFloat32).t().mm(phi) / kBatch;
    (mean - target_).square().sum().backward();
    optimizer_.step();
  }

 private:
  const Setup& setup_;
  std::shared_ptr<model::Generator> generator_;
  Tensor target_;
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
  train::DataParallel training(setup.generator, setup.spec, setup.frequencies, setup.target,
                               model::host_collective(*comm));
  training.step();
  double best = HUGE_VAL;
  for (auto _ : state) best = std::min(best, best_seconds(1, [&] { training.step(); }));
  PlainStep plain(setup);
  plain.step();
  const double plain_best = best_seconds(5, [&] { plain.step(); });
  state.counters["best_ms"] = best * 1e3;
  state.counters["plain_ms"] = plain_best * 1e3;
  state.counters["ratio"] = plain_best / best;
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
