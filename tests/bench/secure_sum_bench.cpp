// What masks cost. Ranks are threads, so that nothing hides behind a network; with fewer cores than ranks
// the masks of all ranks are paid one after another.
//
// BM_MaskingOverhead is the promise: its counter `extra_percent` is the time that signed key exchange and
// masks add, over the rest of a release of that size, of which only the noise and the plain reduce are
// counted here. Embedding, which takes longer than both, is left out: the true share is smaller.
#include <benchmark/benchmark.h>

#include <chrono>
#include <string>
#include <vector>

#include "crypto/mask_exchange.hpp"
#include "muffle/privacy/release.hpp"
#include "support/thread_comm.hpp"

namespace muffle {
namespace {

using Clock = std::chrono::steady_clock;

/// Seconds that `ranks` ranks take for one sum of n numbers, the best of `times`.
double seconds_of_sum(int ranks, std::size_t n, bool masked, int times) {
  double best = 1e9;
  const std::vector<crypto::SiteIdentity> sites = test::make_sites(ranks);
  test::run_thread_ranks(
      ranks,
      [&](comm::HostComm& comm) {
        for (int i = 0; i < times; ++i) {
          std::vector<std::uint64_t> values(n, 1);
          comm.barrier();
          const auto start = Clock::now();
          if (masked) {
            crypto::KeyExchange keys(
                {comm.rank(), ranks, n, "bench", &sites[static_cast<std::size_t>(comm.rank())]});
            const std::string signature = keys.sign(comm.all_gather(keys.hello()));
            std::move(keys).finish(comm.all_gather(signature)).apply(values);
          }
          std::vector<std::uint64_t> total(comm.is_root() ? n : 0);
          comm.reduce_sum(values, total, 0);
          benchmark::DoNotOptimize(total);
          comm.barrier();
          if (comm.is_root())
            best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
        }
      },
      std::chrono::seconds(120));
  return best;
}

double seconds_of_noise(std::size_t n) {
  const auto entropy = privacy::os_entropy();
  const auto start = Clock::now();
  privacy::NoiseVector noise(n, std::uint64_t{62588123}, *entropy);
  benchmark::DoNotOptimize(noise);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void BM_MaskingOverhead(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(1));
  double extra_percent = 0;
  for (auto _ : state) {
    const double plain = seconds_of_sum(static_cast<int>(state.range(0)), n, false, 15);
    const double masked = seconds_of_sum(static_cast<int>(state.range(0)), n, true, 15);
    double noise = 1e9;
    for (int i = 0; i < 5; ++i) noise = std::min(noise, seconds_of_noise(n));
    state.SetIterationTime(masked);
    extra_percent = 100 * (masked - plain) / (plain + noise);
  }
  state.counters["extra_percent"] = extra_percent;
}
BENCHMARK(BM_MaskingOverhead)
    ->ArgNames({"ranks", "numbers"})
    ->Args({4, 100'000})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

}  // namespace
}  // namespace muffle

BENCHMARK_MAIN();
