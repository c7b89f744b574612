// Counts of pairs of 20 mixed columns: rows per second, and the ratio to a plain loop over nested arrays.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>

#include "muffle/core/philox.hpp"
#include "support/maps.hpp"

namespace muffle::features {
namespace {

const std::vector<std::size_t> kCodes{16, 9, 16, 16, 7, 15, 6, 5, 2, 16, 17, 16, 42, 2, 3, 24, 16, 2, 12, 8};
constexpr std::size_t kClasses = 2, kRows = 1 << 16;

struct Rows {
  /// @param skew  above 1: small codes are frequent, as in most tables
  explicit Rows(double skew) {
    const CounterStream random(1, Stream::kTest);
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kCodes.size(); ++j)
        x.push_back(static_cast<float>(std::pow(random.uniform(i * kCodes.size() + j), skew)));
      y.push_back(random.uniform(x.size() * 100 + i) < 0.75 ? 0 : 1);
    }
  }
  std::vector<float> x;
  std::vector<std::int32_t> y;
};

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// As one would write it: every pair's own array. Seconds per row.
double plain_loop_seconds(const Rows& rows) {
  const std::size_t d = kCodes.size();
  std::vector<std::vector<std::vector<double>>> counts(kClasses);
  for (auto& tables : counts) {
    for (std::size_t a = 0; a < d; ++a) {
      tables.emplace_back(kCodes[a]);
      for (std::size_t b = a + 1; b < d; ++b) tables.emplace_back(kCodes[a] * kCodes[b]);
    }
  }
  const auto start = Clock::now();
  std::vector<std::size_t> code(d);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < d; ++j) code[j] = schema::cell_at(rows.x[i * d + j], kCodes[j]).code;
    auto& tables = counts[static_cast<std::size_t>(rows.y[i])];
    std::size_t next = 0;
    for (std::size_t a = 0; a < d; ++a) {
      tables[next++][code[a]] += 1.0;
      for (std::size_t b = a + 1; b < d; ++b) tables[next++][code[a] * kCodes[b] + code[b]] += 1.0;
    }
  }
  benchmark::DoNotOptimize(counts.data());
  return seconds_since(start) / static_cast<double>(kRows);
}

void rows_per_second(benchmark::State& state, double skew) {
  const Rows rows(skew);
  const auto map = test::make_map("pairs", {}, test::table_schema(kCodes, kClasses));
  const auto block = map->make_block(Lattice{});
  const auto workspace = block->make_workspace();
  std::vector<std::uint64_t> sums(kClasses * map->features());
  std::size_t done = 0;
  const auto start = Clock::now();
  for (auto _ : state) {
    for (std::size_t i = 0; i < kRows; i += block->tile())
      block->accumulate(rows.x.data() + i * kCodes.size(), rows.y.data() + i, block->tile(), *workspace,
                        sums);
    done += kRows;
  }
  const double seconds = seconds_since(start) / static_cast<double>(done);
  state.counters["Mrows/s"] = 1e-6 / seconds;
  state.counters["times_plain_loop"] = plain_loop_seconds(rows) / seconds;
}

[[maybe_unused]] const bool kRegistered = [] {
  benchmark::RegisterBenchmark("pairs/uniform", rows_per_second, 1.0)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("pairs/skewed", rows_per_second, 3.0)->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace muffle::features
