// What masks cost. Ranks are threads, so that nothing hides behind a network; with fewer cores than ranks
// the masks of all ranks are paid one after another.
//
// The promise: the counter `extra_percent` is the time that signed key exchange and masks add, over the rest
// of a release of that size, of which only the noise and the plain reduce are counted here. Embedding, which
// takes longer than both, is left out: the true share is smaller.
#include <algorithm>
#include <string>
#include <vector>

#include "bench/plain_loop.hpp"
#include "crypto/mask_exchange.hpp"
#include "muffle/privacy/release.hpp"
#include "support/one_noise.hpp"
#include "support/thread_comm.hpp"

namespace muffle {
namespace {

using bench::Clock, bench::seconds_since;

constexpr int kRanks = 4;
constexpr std::size_t kNumbers = 100'000;

/// Seconds that the ranks take for one sum, the best of 15.
double seconds_of_sum(bool masked) {
  double best = 1e9;
  const std::vector<crypto::SiteIdentity> sites = test::make_sites(kRanks);
  test::run_thread_ranks(
      kRanks,
      [&](comm::HostComm& comm) {
        for (int i = 0; i < 15; ++i) {
          std::vector<std::uint64_t> values(kNumbers, 1);
          comm.barrier();
          const auto start = Clock::now();
          if (masked) {
            crypto::KeyExchange keys(
                {comm.rank(), kRanks, kNumbers, {}, &sites[static_cast<std::size_t>(comm.rank())]});
            const std::string signature = keys.sign(comm.all_gather(keys.hello()));
            std::move(keys).finish(comm.all_gather(signature)).apply(values);
          }
          std::vector<std::uint64_t> total(comm.is_root() ? kNumbers : 0);
          comm.reduce_sum(values, total, 0);
          benchmark::DoNotOptimize(total);
          comm.barrier();
          if (comm.is_root()) best = std::min(best, seconds_since(start));
        }
      },
      std::chrono::seconds(120));
  return best;
}

double seconds_of_noise() {
  const auto entropy = privacy::os_entropy();
  const auto start = Clock::now();
  privacy::NoiseVector noise(test::one_noise(kNumbers, 62588123), *entropy);
  benchmark::DoNotOptimize(noise);
  return seconds_since(start);
}

void masking_overhead(benchmark::State& state) {
  double extra_percent = 0;
  for (auto _ : state) {
    const double plain = seconds_of_sum(false), masked = seconds_of_sum(true);
    double noise = 1e9;
    for (int i = 0; i < 5; ++i) noise = std::min(noise, seconds_of_noise());
    state.SetIterationTime(masked);
    extra_percent = 100 * (masked - plain) / (plain + noise);
  }
  state.counters["extra_percent"] = extra_percent;
}
BENCHMARK(masking_overhead)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(5);

}  // namespace
}  // namespace muffle

BENCHMARK_MAIN();
