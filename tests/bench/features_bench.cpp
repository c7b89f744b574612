// Random Fourier features per second: the kernels against a plain loop with std::sin and std::cos, and the
// frequencies.
#include <algorithm>
#include <string>

#include "bench/plain_loop.hpp"
#include "features/kernels.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/features/rff.hpp"

namespace muffle::features {
namespace {

struct Problem {
  Problem(std::size_t d, std::size_t features, std::size_t count)
      : spec{.dims = d, .features = features, .length_scale = std::sqrt(static_cast<double>(d)) / 2.5},
        n(count),
        x(n * d),
        y(n) {
    const CounterStream stream(1, Stream::kTest);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(stream.uniform(i));
    for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<std::int32_t>(i % kClasses);
  }
  static constexpr std::size_t kClasses = 10;
  RffSpec spec;
  std::size_t n;
  std::vector<float> x;
  std::vector<std::int32_t> y;
};

void features_per_second(benchmark::State& state, const Kernels* kernels, std::size_t d,
                         std::size_t features) {
  const Problem problem(d, features, 480);
  const auto block = make_rff_block(problem.spec, Lattice{}, *kernels);
  const auto workspace = block->make_workspace();
  std::vector<std::uint64_t> sums(Problem::kClasses * features);
  std::size_t records = 0;
  const auto start = bench::Clock::now();
  for (auto _ : state) {
    const std::size_t first = records % problem.n;
    block->accumulate(problem.x.data() + first * d, problem.y.data() + first, block->tile(), *workspace,
                      sums);
    records += block->tile();
  }
  const double seconds = bench::seconds_since(start) / static_cast<double>(records);
  const double plain = bench::plain_loop_seconds(
      problem.spec, problem.x, problem.y, std::clamp<std::size_t>(40000000 / (d * features), 1, problem.n));
  state.counters["features/s"] = static_cast<double>(features) / seconds;
  state.counters["GFLOP/s"] = static_cast<double>(d * features) / seconds * 1e-9;
  state.counters["times_plain_loop"] = plain / seconds;
}

void frequencies(benchmark::State& state, FrequencyKind kind) {
  const RffSpec spec{.dims = 784, .features = 10000, .length_scale = 11.3, .kind = kind};
  for (auto _ : state) benchmark::DoNotOptimize(rff_frequencies(spec));
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Kernels* kernels : supported_kernels()) {
    for (const auto& [d, features] : {std::pair<std::size_t, std::size_t>{784, 10000}, {2, 30000}}) {
      const std::string name = std::string("features/") + kernels->name + "/d:" + std::to_string(d) +
                               "/D:" + std::to_string(features);
      benchmark::RegisterBenchmark(name.c_str(), features_per_second, kernels, d, features)
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::RegisterBenchmark("frequencies/dense/784x10000", frequencies, FrequencyKind::kDense)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("frequencies/orthogonal/784x10000", frequencies, FrequencyKind::kOrthogonal)
      ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace muffle::features
