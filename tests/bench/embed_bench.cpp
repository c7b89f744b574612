// FashionMNIST's embedding end to end: open, read, embed (60,000 x 784, D = 10,000), reduce. Under mpiexec
// every rank takes its shard:
//   MUFFLE_BINARY=build/cpu/bench/embed_bench launch/local.sh 2 --benchmark_filter=embed
// `threads` are per rank. "structured" is by structured frequencies; times_dense compares it with the same by
// dense ones, run beside it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "bench/plain_loop.hpp"
#include "embed/shards.hpp"
#include "muffle/comm/launcher.hpp"
#include "muffle/comm/mpi.hpp"
#include "muffle/core/process.hpp"
#include "support/fashion_mnist.hpp"
#include "support/maps.hpp"
#include "support/raw_access.hpp"

namespace muffle {
namespace {

constexpr std::size_t kFeatures = 10000, kDims = 784;

/// The root's wall time, which ends when the last rank's sums are in.
struct Took {
  double all = HUGE_VAL, after_frequencies = HUGE_VAL;
};
Took embed_once(comm::HostComm& comm, const std::string& kind, int threads) {
  comm.barrier();
  const auto start = bench::Clock::now();
  const test::MapKeys keys{{"count", std::to_string(kFeatures)}, {"length_scale", "11.27"}};
  const embed::Embedder embedder = test::embedder_of(
      {test::named(kind, test::make_map(kind, keys, test::schema_of({kDims}, 10)))}, {kDims}, 10, true);
  const auto made = bench::Clock::now();
  const auto source = data::open_shard(test::fashion_mnist(), comm.rank(), comm.size());
  const auto raw = test::reduce_to_root(comm, embed::embed_shard(embedder, *source, threads, {}));
  double seconds[2] = {bench::seconds_since(start), bench::seconds_since(made)};
  if (!comm.is_root()) std::fill_n(seconds, 2, 0.0);
  comm.all_reduce_sum(std::span(seconds));
  return {seconds[0], seconds[1]};
}

void embed_structured(benchmark::State& state, comm::HostComm& comm) {
  const int threads = static_cast<int>(state.range(0));
  Took structured, dense;
  const auto best = [&](Took& of, const std::string& kind) {
    const Took now = embed_once(comm, kind, threads);
    of.all = std::min(of.all, now.all);
    of.after_frequencies = std::min(of.after_frequencies, now.after_frequencies);
  };
  for (auto _ : state) {
    for (int repeat = 0; repeat < 4; ++repeat) best(structured, "structured-rff"), best(dense, "rff");
    state.SetIterationTime(structured.all);
  }
  state.counters["dense_s"] = dense.all;
  state.counters["times_dense"] = dense.all / structured.all;
  state.counters["after_frequencies"] = dense.after_frequencies / structured.after_frequencies;
}

void embed_fashion_mnist(benchmark::State& state, comm::HostComm& comm) {
  const int threads = static_cast<int>(state.range(0));
  double seconds = 0;
  for (auto _ : state) state.SetIterationTime(seconds = embed_once(comm, "rff", threads).all);
  state.counters["ranks"] = comm.size();
  state.counters["GFLOP/s"] = 60000.0 * kDims * kFeatures / seconds * 1e-9;
  if (!comm.is_root()) return;
  const data::Batch few = test::fashion_mnist_records(4);
  const features::RffSpec spec{.dims = kDims, .features = kFeatures, .length_scale = 11.27};
  state.counters["times_plain_loop"] =
      60000.0 * bench::plain_loop_seconds(spec, few.x, few.y, few.n) / seconds;
}

int run(int argc, char** argv) {
  std::unique_ptr<comm::MpiSession> session;
  std::unique_ptr<comm::HostComm> comm;
  if (comm::launched_by_mpi()) {
    session = std::make_unique<comm::MpiSession>(&argc, &argv);
    comm = session->world(comm::MpiOptions{});
  } else {
    comm = comm::single_process();
  }
  benchmark::Initialize(&argc, argv);
  // One iteration: every rank must take the same number of them.
  for (int threads = 1; threads <= owned_cores(core_facts(), comm->local_size()); ++threads) {
    benchmark::RegisterBenchmark("embed/FashionMNIST/60000x784/D:10000",
                                 [&](benchmark::State& state) { embed_fashion_mnist(state, *comm); })
        ->ArgName("threads")
        ->Arg(threads)
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kSecond);
    benchmark::RegisterBenchmark("embed/FashionMNIST/60000x784/D:10000/structured",
                                 [&](benchmark::State& state) { embed_structured(state, *comm); })
        ->ArgName("threads")
        ->Arg(threads)
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kSecond);
  }
  // Only the root prints.
  std::ofstream nowhere;
  benchmark::ConsoleReporter reporter;
  if (!comm->is_root()) reporter.SetOutputStream(&nowhere);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  if (session) session->finish();
  return 0;
}

}  // namespace
}  // namespace muffle

int main(int argc, char** argv) {
  try {
    return muffle::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "embed_bench: %s\n", e.what());
    return 1;
  }
}
