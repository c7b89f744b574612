// Second moments: the block against what it was before its products were packed (cosine transform record by
// record, Eigen's rank update class by class), which gives the same integers; one thread, CPU time.
#include <benchmark/benchmark.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "features/aligned_buffer.hpp"
#include "features/kernels.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/features/feature_map.hpp"
#include "muffle/features/lift.hpp"
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

/// The block's sums of records sorted by class, in doubles and Eigen.
void plain_sums(const SecondMoments& moments, const std::vector<float>& x, std::size_t per_class,
                std::vector<std::uint64_t>& sums) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const std::size_t q = moments.order(), features = q * (q + 1) / 2, dims = moments.lift->dims();
  const auto order = static_cast<Eigen::Index>(q);
  RowMajor z(static_cast<Eigen::Index>(per_class), order);
  Eigen::MatrixXd gram(order, order);
  for (std::size_t c = 0; c < kClasses; ++c) {
    for (std::size_t i = 0; i < per_class; ++i) {
      double* const row = z.data() + i * q;
      row[0] = moments.offset;
      std::ranges::copy(
          reference::lift_in_loops(*moments.lift->affine(), x.data() + (c * per_class + i) * dims), row + 1);
      double squares = 0;
      for (std::size_t j = 0; j < q; ++j) squares += row[j] * row[j];
      const double factor = moments.scale() / std::sqrt(squares);
      for (std::size_t j = 0; j < q; ++j) row[j] = std::nearbyint(row[j] * factor);
      require(within_norm(std::span(row, q), moments.bits), "a record failed its check");
    }
    gram.setZero();
    gram.selfadjointView<Eigen::Lower>().rankUpdate(z.transpose());
    for (std::size_t a = 0; a < q; ++a) {
      for (std::size_t b = a; b < q; ++b)
        sums[c * features + SecondMoments::index(q, a, b)] += static_cast<std::uint64_t>(
            static_cast<std::int64_t>(gram(static_cast<Eigen::Index>(b), static_cast<Eigen::Index>(a))));
    }
  }
}

void moments(benchmark::State& state, const std::vector<std::size_t>& shape, const std::string& side) {
  const auto map = test::make_moments({{"coefficients", side}}, test::schema_of(shape));
  const auto block = map->make_block({});
  const std::size_t per_class = block->tile() / kClasses, n = per_class * kClasses, d = block->dims();
  const CounterStream stream(1, Stream::kTest);
  std::vector<float> x(n * d);
  std::vector<std::int32_t> y(n);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(stream.uniform(i));
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<std::int32_t>(i / per_class);
  const auto workspace = block->make_workspace();
  std::vector<std::uint64_t> sums(kClasses * block->features()), plain(sums.size());
  block->accumulate(x.data(), y.data(), n, *workspace, sums);
  plain_sums(map->second_moments()->moments(), x, per_class, plain);
  require(sums == plain, "the block's integers differ from the plain loops'");

  double seconds = 0, plain_seconds = 0;
  std::size_t times = 0;
  for (auto _ : state) {
    const double start = cpu_seconds();
    block->accumulate(x.data(), y.data(), n, *workspace, sums);
    const double middle = cpu_seconds();
    plain_sums(map->second_moments()->moments(), x, per_class, plain);
    seconds += middle - start;
    plain_seconds += cpu_seconds() - middle;
    ++times;
  }
  const double records = static_cast<double>(n * times);
  state.counters["seconds_for_60000"] = 60'000 * seconds / records;
  state.counters["GFLOP/s"] = map->cost().flops_per_record * records / seconds * 1e-9;
  state.counters["times_plain"] = plain_seconds / seconds;
}

/// The two products by themselves, by this processor's fastest kernels: z^T z of q numbers a record (half of
/// it, since it is symmetric), and the lift's product with its k cosines.
void gram(benchmark::State& state) {
  constexpr std::size_t kRecords = 512, kOrder = 197;
  const Kernels& kernels = *supported_kernels().back();
  const std::size_t panels = (kOrder + kernels.gram_panel - 1) / kernels.gram_panel;
  AlignedBuffer<double> z(panels * kRecords * kernels.gram_panel);
  std::fill_n(z.data(), panels * kRecords * kernels.gram_panel, 1000.0);
  std::vector<std::uint64_t> sums(kOrder * (kOrder + 1) / 2);
  for (auto _ : state) kernels.add_gram(z.data(), kRecords, kRecords, kOrder, sums.data());
  benchmark::DoNotOptimize(sums.data());
  state.counters["GFLOP/s"] = benchmark::Counter(1e-9 * kRecords * kOrder * (kOrder + 1),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void lift_product(benchmark::State& state) {
  constexpr std::size_t kRows = 28 * 64, kInner = 28, kSide = 14;
  const Kernels& kernels = *supported_kernels().back();
  const std::size_t columns = (kSide + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
  AlignedBuffer<double> a(kRows * kInner), b(kInner * columns), c(kRows * columns);
  for (auto _ : state) kernels.product(a.data(), kRows, kInner, b.data(), columns, c.data());
  benchmark::DoNotOptimize(c.data());
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * kRows * kInner * kSide, benchmark::Counter::kIsIterationInvariantRate);
}

[[maybe_unused]] const bool kRegistered = [] {
  benchmark::RegisterBenchmark("gram/197", gram);
  benchmark::RegisterBenchmark("lift_product/14", lift_product);
  benchmark::RegisterBenchmark("moments/28x28/k:14", moments, std::vector<std::size_t>{1, 28, 28}, "14")
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("moments/28x28/k:20", moments, std::vector<std::size_t>{1, 28, 28}, "20")
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("moments/3x32x32/k:10", moments, std::vector<std::size_t>{3, 32, 32}, "10")
      ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace muffle::features
