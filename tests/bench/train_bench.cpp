// One training step at the papers' size: batch 500, D = 10,000, 28 x 28 images, 10 classes, the convolutional
// generator. "ratio" is the time of a step whose objective is plain loops over ours; "ratio_torch" that of a
// step of plain LibTorch operations (phi materialised, torch's autograd). The generator and Adam are
// LibTorch's in all three. kernel_part: the features of a batch's records and their gradient alone, by
// structured frequencies and, as "ratio_dense", by dense ones beside them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "bench/train_step.hpp"
#include "muffle/model/map_twin.hpp"
#include "reference/mean_embedding_reference.hpp"
#include "support/maps.hpp"

namespace muffle::bench {
namespace {

using torch::Tensor;

constexpr std::int64_t kBatch = 500;

/// Back-propagates the objective's gradient into the records x; y are their labels.
using Backward = std::function<void(const Tensor& x, const Tensor& y)>;

/// As one writes it first.
Backward torch_operations(const TrainStep& of) {
  return [target = of.target, frequencies = of.frequencies](const Tensor& x, const Tensor& y) {
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
Backward plain_loops(const TrainStep& of) {
  const std::vector<double> ones(kClasses, 1.0);
  const reference::MeanEmbeddingProblem problem{
      kDims, kHalf, kClasses, doubles(of.frequencies), doubles(of.target), ones};
  return [=](const Tensor& x, const Tensor& y) {
    const std::vector<std::int64_t> labels(y.data_ptr<std::int64_t>(), y.data_ptr<std::int64_t>() + kBatch);
    const std::vector<double> gradient = reference::gradient(problem, doubles(x), labels, ones);
    x.backward(torch::tensor(gradient, torch::kFloat32).view_as(x));
  };
}

/// A training step around an objective.
class PlainStep {
 public:
  PlainStep(const TrainStep& of, Backward backward)
      : of_(of),
        backward_(std::move(backward)),
        generator_(of.network.build(of.schema, 1, nullptr)),
        optimizer_(generator_->parameters(), torch::optim::AdamOptions(0.01)) {}

  void step() {
    optimizer_.zero_grad();
    const Tensor codes = model::latent_codes(1, true, step_, 0, kBatch, of_.network.code);
    const Tensor labels = model::label_tensor(1, true, step_, 0, kBatch, kBatch, of_.class_share, true);
    ++step_;
    backward_(generator_->forward(codes, labels), labels);
    optimizer_.step();
  }

 private:
  const TrainStep& of_;
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
  static const TrainStep of(kBatch);
  train::set_torch_threads(static_cast<int>(state.range(0)));
  const train::FlushDenormalsOfTeam flush_denormals(static_cast<int>(state.range(0)));
  const auto comm = comm::single_process();
  train::DataParallel training = of.on(torch::kCPU, model::host_collective(*comm));
  training.step();
  double best = HUGE_VAL;
  for (auto _ : state) best = std::min(best, best_seconds(1, [&] { training.step(); }));
  PlainStep plain(of, torch_operations(of));
  plain.step();
  const double torch_best = best_seconds(5, [&] { plain.step(); });
  static const double loops = [] {  // on one thread, whatever LibTorch has
    PlainStep step(of, plain_loops(of));
    return best_seconds(1, [&] { step.step(); });
  }();
  state.counters["best_ms"] = best * 1e3;
  state.counters["torch_ms"] = torch_best * 1e3;
  state.counters["plain_loop_ms"] = loops * 1e3;
  state.counters["ratio"] = loops / best;
  state.counters["ratio_torch"] = torch_best / best;
}
/// Of a batch, forth and back, as a training step does.
std::function<void()> kernel_part_of(const std::string& kind) {
  const std::shared_ptr<const features::FeatureMap> map =
      test::make_map(kind, {{"count", std::to_string(2 * kHalf)}, {"length_scale", "11.27"}},
                     test::schema_of({kDims}, kClasses));
  const std::shared_ptr<const model::MapTwin> twin = model::make_twin(*map, {kClasses});
  const Tensor x = normal({kBatch, kDims}, 3).abs(), labels = torch::arange(kBatch) % kClasses;
  return [=] {
    const Tensor records = x.clone().requires_grad_();
    const Tensor sums = twin->class_sums(records, labels);
    sums.backward(torch::ones_like(sums));
  };
}

void kernel_part(benchmark::State& state) {
  train::set_torch_threads(static_cast<int>(state.range(0)));
  const auto dense = kernel_part_of("rff"), structured = kernel_part_of("structured-rff");
  dense(), structured();
  double dense_best = HUGE_VAL, best = HUGE_VAL;
  for (auto _ : state) {
    best = std::min(best, best_seconds(1, structured));
    dense_best = std::min(dense_best, best_seconds(1, dense));
  }
  state.counters["best_ms"] = best * 1e3;
  state.counters["ratio_dense"] = dense_best / best;
}
BENCHMARK(kernel_part)
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(10)
    ->UseRealTime();

BENCHMARK(training_step)
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(10)
    ->UseRealTime();

}  // namespace
}  // namespace muffle::bench

BENCHMARK_MAIN();
