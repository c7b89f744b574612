// One training step on the GPU at the papers' size: batch 500, D = 10,000, 28 x 28 images, 10 classes, the
// convolutional generator. train_bench.cpp is the same on the CPU, step_pytorch.py in plain PyTorch.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include <cmath>

#include "muffle/core/philox.hpp"
#include "muffle/model/fourier_embedding.hpp"
#include "muffle/train/data_parallel.hpp"
#include "muffle/train/trainer.hpp"
#include "train/device.hpp"

namespace {

using namespace muffle;
using torch::Tensor;

Tensor normal(std::vector<std::int64_t> shape, std::uint32_t substream) {
  const CounterStream stream(1, Stream::kTest, substream);
  Tensor t = torch::empty(shape);
  for (std::int64_t i = 0; i < t.numel(); ++i)
    t.data_ptr<float>()[i] = static_cast<float>(stream.normal(static_cast<std::uint64_t>(i)));
  return t;
}

void training_step(benchmark::State& state) {
  constexpr std::int64_t kClasses = 10, kHalf = 5000, kDims = 784;
  if (train::torch_gpus() == 0) {
    state.SkipWithError(train::why_no_torch_gpus().c_str());
    return;
  }
  schema::Schema schema;
  schema.shape = {1, 28, 28};
  schema.classes = kClasses;
  const auto generator = model::make_generator_settings("convolutional");
  train::TrainSpec spec;
  spec.batch = static_cast<std::size_t>(state.range(1));
  const Tensor target = normal({kClasses, 2 * kHalf}, 2) * 1e-3;
  const Tensor frequencies = normal({kHalf, kDims}, 1) / (2 * M_PI * std::sqrt(127.0));

  const auto comm = comm::single_process();
  train::TrainSetup setup;
  setup.gpu = 0;
  const train::Placement placement = train::place(*comm, setup);
  const model::FourierEmbedding embedding(frequencies.to(placement.device), kClasses);
  train::DataParallel training(
      *generator->network(), schema, spec,
      {{{[embedding](const Tensor& x, const Tensor& y) { return embedding.class_sums(x, y); },
         target.to(placement.device), std::vector<double>(kClasses, 1.0)}},
       std::vector<double>(kClasses, 1.0 / kClasses),
       placement.device},
      placement.collective);
  if (state.range(0) != 0) training.use_graph();
  for (int i = 0; i < 10; ++i) training.step();  // each step ends with a look at its loss, so it is over
  for (auto _ : state) training.step();
  state.counters["graph"] = training.used_graph() ? 1 : 0;
  placement.collective->finish();
}
BENCHMARK(training_step)
    ->ArgNames({"graph", "batch"})
    ->Args({0, 500})
    ->Args({1, 500})
    ->Args({0, 4096})
    ->Args({1, 4096})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
