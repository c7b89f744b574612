// Noise draws per second, beside what people write instead (std::normal_distribution, rounded: fast, and with
// neither the exact law nor a safe source), and the time of one calibration. "ratio" is our time over the
// plain loop's.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <ctime>
#include <functional>
#include <random>
#include <vector>

#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/release.hpp"
#include "support/one_noise.hpp"

namespace {

using namespace muffle::privacy;

constexpr std::size_t kDraws = 1'000'000;
constexpr std::uint64_t kSigma = 125'178'991;  // FashionMNIST's main job: 3.7306 x 2 x 2^24

std::vector<std::int64_t> plain_loop() {
  static std::mt19937_64 generator(1);
  std::normal_distribution<double> normal(0.0, static_cast<double>(kSigma));
  std::vector<std::int64_t> noise(kDraws);
  for (std::int64_t& z : noise) z = std::llround(normal(generator));
  return noise;
}

/// Processor time, so that the ratio holds on a busy machine too.
double seconds(const std::function<void()>& body) {
  const std::clock_t start = std::clock();
  body();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

void exact_noise(benchmark::State& state) {
  const auto entropy = os_entropy();
  double ours = 0, plain = 0;
  for (auto _ : state) {
    ours += seconds(
        [&] { benchmark::DoNotOptimize(draw_noise(muffle::test::one_noise(kDraws, kSigma), *entropy)); });
    state.PauseTiming();
    plain += seconds([] { benchmark::DoNotOptimize(plain_loop()); });
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(kDraws) * state.iterations());
  state.counters["ratio"] = ours / plain;
}

void calibration(benchmark::State& state) {
  double epsilon = 1.0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(noise_multiplier_for(epsilon, 1e-5));
    epsilon = epsilon > 10 ? 0.01 : epsilon * 1.01;
  }
}

BENCHMARK(exact_noise)->Unit(benchmark::kMillisecond);
BENCHMARK(calibration)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
