// The embedding kernel, CPU beside GPU, at FashionMNIST's size (d = 784, D = 10,000, 10 classes): one thread
// that adds tile after tile, copies to and from the device included. "records/s" is per thread.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/features/cuda_block.hpp"
#include "muffle/features/rff.hpp"

namespace {

using namespace muffle::features;

void embed(benchmark::State& state, const Block& block) {
  const std::size_t n = block.tile();
  const muffle::CounterStream stream(1, muffle::Stream::kTest);
  std::vector<float> x(n * block.dims());
  std::vector<std::int32_t> y(n);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(stream.uniform(i));
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<std::int32_t>(stream.below(x.size() + i, 10));
  std::vector<std::uint64_t> sums(10 * block.features());
  const auto workspace = block.make_workspace();
  block.accumulate(x.data(), y.data(), n, *workspace, sums);
  for (auto _ : state) block.accumulate(x.data(), y.data(), n, *workspace, sums);
  const double records = static_cast<double>(n) * static_cast<double>(state.iterations());
  state.counters["tile"] = static_cast<double>(n);
  state.counters["records/s"] = benchmark::Counter(records, benchmark::Counter::kIsRate);
  state.counters["FLOP/s"] = benchmark::Counter(
      records * static_cast<double>(block.dims() * block.features()), benchmark::Counter::kIsRate);
}

const RffSpec kSpec{.dims = 784, .features = 10000, .length_scale = 11.27};

void embed_cpu(benchmark::State& state) { embed(state, *make_rff_block(kSpec, Lattice{})); }

void embed_gpu(benchmark::State& state) {
  std::unique_ptr<Block> block;
  try {
    block = make_cuda_block(*make_rff_map(kSpec), Lattice{}, 0);
  } catch (const muffle::Error& e) {
    state.SkipWithError(e.what());
    return;
  }
  embed(state, *block);
}

BENCHMARK(embed_cpu)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(embed_gpu)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(embed_gpu)->Name("embed_gpu/2_threads")->Threads(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
