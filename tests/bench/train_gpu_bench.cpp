// One training step on the GPU at the papers' size: batch 500, D = 10,000, 28 x 28 images, 10 classes, the
// convolutional generator. train_bench.cpp is the same on the CPU, step_pytorch.py in plain PyTorch.
#include <benchmark/benchmark.h>

#include "bench/train_step.hpp"
#include "train/device.hpp"

namespace muffle::bench {
namespace {

void training_step(benchmark::State& state) {
  if (train::torch_gpus() == 0) {
    state.SkipWithError(train::why_no_torch_gpus().c_str());
    return;
  }
  const auto comm = comm::single_process();
  train::TrainSetup setup;
  setup.gpu = 0;
  const train::Placement placement = train::place(*comm, setup);
  const TrainStep of(static_cast<std::size_t>(state.range(1)));
  train::DataParallel training = of.on(placement.device, placement.collective);
  if (state.range(0) != 0) training.use_graph();
  for (int i = 0; i < 10; ++i) training.step();  // each step ends with a look at its loss, so it is over
  for (auto _ : state) training.step();
  state.counters["graph"] = training.used_graph() ? 1 : 0;
  placement.collective->finish();
}
BENCHMARK(training_step)
    ->ArgNames({"graph", "batch"})
    ->ArgsProduct({{0, 1}, {500, 4096}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace muffle::bench
