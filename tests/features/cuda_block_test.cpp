// The embedding on a real GPU against the CPU's. cuda_kernels_test.cpp has the same kernels on a CPU.
#include "muffle/features/cuda_block.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "features/features_fixture.hpp"
#include "muffle/core/error.hpp"
#include "support/maps.hpp"

namespace muffle::features {
namespace {

int gpus() {
  int n = 0;
  return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

#define MUFFLE_NEEDS_A_GPU \
  if (gpus() < 1) GTEST_SKIP() << "CUDA sees no GPU here"

std::int64_t difference(std::uint64_t a, std::uint64_t b) {
  return std::abs(static_cast<std::int64_t>(a - b));
}

RffSpec fashion_like(FrequencyKind kind) {
  return {.dims = 784, .features = 2000, .length_scale = 11.27, .kind = kind, .seed = 3};
}

TEST(CudaBlock, EveryFeatureOfEveryRecordIsWithinOneLatticeStepOfTheCpus) {
  MUFFLE_NEEDS_A_GPU;
  for (const auto kind : {FrequencyKind::kDense, FrequencyKind::kOrthogonal}) {
    const RffSpec spec = fashion_like(kind);
    const auto cpu = make_rff_block(spec, Lattice{}),
               gpu = make_cuda_block(*make_rff_map(spec), Lattice{}, 0);
    const Records records(40, spec.dims, 1);
    std::int64_t worst = 0, unequal = 0;
    for (std::size_t i = 0; i < records.n; ++i) {
      const auto a = features_of(*cpu, records.x.data() + i * spec.dims);
      const auto b = features_of(*gpu, records.x.data() + i * spec.dims);
      for (std::size_t j = 0; j < a.size(); ++j) {
        worst = std::max(worst, std::abs(a[j] - b[j]));
        unequal += a[j] != b[j];
      }
    }
    EXPECT_LE(worst, 1);
    std::printf("[gpu test] %s frequencies: %lld of %zu integers differ from the CPU's\n",
                kind == FrequencyKind::kDense ? "dense" : "orthogonal", static_cast<long long>(unequal),
                records.n * spec.features);
  }
}

TEST(CudaBlock, SumsAreWithinOneStepARecordAndDoNotDependOnTiles) {
  MUFFLE_NEEDS_A_GPU;
  for (const std::size_t n : {1, 127, 5000}) {  // 5000: more than one tile
    const RffSpec spec = fashion_like(FrequencyKind::kDense);
    const Records records(n, spec.dims, 10);
    const auto cpu = make_rff_block(spec, Lattice{}),
               gpu = make_cuda_block(*make_rff_map(spec), Lattice{}, 0);
    const auto expected = sums_of(*cpu, records, 10), whole = sums_of(*gpu, records, 10);
    for (std::size_t j = 0; j < expected.size(); ++j)
      ASSERT_LE(difference(expected[j], whole[j]), static_cast<std::int64_t>(n)) << j;
    EXPECT_EQ(sums_of(*gpu, records, 10), whole) << "again";
    EXPECT_EQ(sums_of(*gpu, records, 10, 97), whole) << "in tiles of 97";
  }
}

TEST(CudaBlock, BytesGiveTheSumsOfTheNumbersTheyStandFor) {
  MUFFLE_NEEDS_A_GPU;
  const RffSpec spec = fashion_like(FrequencyKind::kDense);
  Records records(300, spec.dims, 10);
  const auto [unit, bytes] = round_to_bytes(records);
  const auto gpu = make_cuda_block(*make_rff_map(spec), Lattice{}, 0);
  ASSERT_TRUE(gpu->takes_bytes());
  const auto workspace = gpu->make_workspace();
  std::vector<std::uint64_t> sums(10 * spec.features);
  EXPECT_EQ(gpu->accumulate_bytes(bytes.data(), unit, records.y.data(), records.n, *workspace, sums), 0u);
  EXPECT_EQ(sums, sums_of(*gpu, records, 10));
}

TEST(CudaBlock, RecordsThatFailTheCheckOrHaveNoClassAddNothing) {
  MUFFLE_NEEDS_A_GPU;
  const RffSpec spec{.dims = 5, .features = 300, .length_scale = 0.5};
  Records records(6, spec.dims, 3);
  records.x[1 * spec.dims] = std::nanf("");
  records.x[2 * spec.dims] = std::numeric_limits<float>::infinity();
  records.y[3] = -1;
  records.y[4] = 3;
  const auto cpu = make_rff_block(spec, Lattice{}), gpu = make_cuda_block(*make_rff_map(spec), Lattice{}, 0);
  for (const Block* block : {cpu.get(), gpu.get()}) {
    std::vector<std::uint64_t> sums(3 * spec.features);
    const auto workspace = block->make_workspace();
    EXPECT_EQ(block->accumulate(records.x.data(), records.y.data(), records.n, *workspace, sums), 4u);
    EXPECT_EQ(sums, one_by_one(*block, records, 3, std::vector<std::size_t>{0, 5}));
  }
}

TEST(CudaBlock, ADeviceThatIsNotThereIsADeviceError) {
  EXPECT_THROW(
      make_cuda_block(*make_rff_map({.dims = 5, .features = 300, .length_scale = 0.5}), Lattice{}, 1000),
      DeviceError);
}

TEST(CudaBlock, KindsThatNoGpuSumsHaveNone) {
  EXPECT_EQ(make_cuda_block(*test::make_moments({}, test::schema_of({4})), Lattice{}, 0), nullptr);
}

}  // namespace
}  // namespace muffle::features
