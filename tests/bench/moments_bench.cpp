// Second moments per second: the block (lift and rank-k updates) against plain loops over 64-bit integers,
// one thread. "seconds_for_60000" is CPU time, so that a busy machine disturbs it little.
#include <benchmark/benchmark.h>

#include <ctime>
#include <string>
#include <vector>

#include "muffle/core/philox.hpp"
#include "reference/moments_reference.hpp"
#include "support/maps.hpp"

namespace muffle::features {
namespace {

constexpr std::size_t kClasses = 10;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// z of each record as the reference makes it, its products added one by one; seconds per record.
double plain_loop_seconds(const SecondMoments& moments, const std::vector<float>& x,
                          const std::vector<std::int32_t>& y, std::size_t records) {
  const std::size_t q = moments.order(), features = q * (q + 1) / 2;
  std::vector<std::int64_t> sums(kClasses * features);
  const double start = cpu_seconds();
  for (std::size_t i = 0; i < records; ++i) {
    const std::vector<std::int64_t> z = reference::integer_z(moments, x.data() + i * moments.lift->dims());
    std::int64_t* next = sums.data() + static_cast<std::size_t>(y[i]) * features;
    for (std::size_t a = 0; a < q; ++a) {
      for (std::size_t b = a; b < q; ++b) *next++ += z[a] * z[b];
    }
  }
  benchmark::DoNotOptimize(sums.data());
  return (cpu_seconds() - start) / static_cast<double>(records);
}

void moments(benchmark::State& state, const std::shared_ptr<const FeatureMap>& map) {
  const SecondMoments& second = *map->second_moments();
  const auto block = map->make_block({});
  const std::size_t n = block->tile(), d = block->dims();
  const CounterStream stream(1, Stream::kTest);
  std::vector<float> x(n * d);
  std::vector<std::int32_t> y(n);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(stream.uniform(i));
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<std::int32_t>(i % kClasses);
  const auto workspace = block->make_workspace();
  std::vector<std::uint64_t> sums(kClasses * block->features());
  std::size_t records = 0;
  const double start = cpu_seconds();
  for (auto _ : state) {
    block->accumulate(x.data(), y.data(), n, *workspace, sums);
    records += n;
  }
  const double seconds = (cpu_seconds() - start) / static_cast<double>(records);
  const auto q = static_cast<double>(second.order());
  state.counters["seconds_for_60000"] = 60'000 * seconds;
  state.counters["GFLOP/s"] = q * (q + 1) / seconds * 1e-9;
  state.counters["times_plain_loop"] = plain_loop_seconds(second, x, y, n) / seconds;
}

/// The lift alone.
void lifts(benchmark::State& state, const std::shared_ptr<const FeatureMap>& map) {
  const Lift& lift = *map->second_moments()->lift;
  const std::vector<float> x(lift.dims(), 0.3f);
  std::vector<double> u(lift.coefficients());
  std::size_t records = 0;
  const double start = cpu_seconds();
  for (auto _ : state) {
    lift.forward(x.data(), u.data());
    benchmark::DoNotOptimize(u.data());
    ++records;
  }
  state.counters["seconds_for_60000"] = 60'000 * (cpu_seconds() - start) / static_cast<double>(records);
}

[[maybe_unused]] const bool kRegistered = [] {
  using test::schema_of;
  const std::vector<std::pair<std::string, std::shared_ptr<const FeatureMap>>> cases{
      {"28x28/k:14", test::make_moments({{"coefficients", "14"}}, schema_of({1, 28, 28}))},
      {"28x28/k:20", test::make_moments({{"coefficients", "20"}}, schema_of({1, 28, 28}))},
      {"3x32x32", test::make_moments({}, schema_of({3, 32, 32}))},
      {"fourier/2/n:128", test::make_moments({{"lift", "fourier"}}, schema_of({2}))},
  };
  for (const auto& [name, map] : cases) {
    benchmark::RegisterBenchmark(("moments/" + name).c_str(), moments, map)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("lift/" + name).c_str(), lifts, map)->Unit(benchmark::kMicrosecond);
  }
  return true;
}();

}  // namespace
}  // namespace muffle::features
