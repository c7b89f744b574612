// The GPU's kernels, line by line, on a CPU: they must give the CPU kernels' integers. On a real GPU:
// cuda_block_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "features/cuda_emulation.hpp"
#include "features/features_fixture.hpp"

namespace muffle::features {
namespace {

using Wide = unsigned long long;
#include "features/rff_cuda_kernels.cuh"

constexpr int kBits = 24;

struct Result {
  std::vector<std::int32_t> features;  ///< n x 2 half
  std::vector<Wide> norms;
  std::vector<std::uint32_t> refused;
};

/// @param omega  half x dims, in quarter turns
/// @param unit   what the records' bytes stand for; null: they are float32
Result features_of(const std::vector<float>& omega, const Records& records, float scale, Wide limit,
                   const schema::ByteScale* unit = nullptr, const std::vector<std::uint8_t>& bytes = {}) {
  const auto dims = static_cast<int>(records.dims), n = static_cast<int>(records.n);
  const auto half = static_cast<int>(omega.size() / records.dims);
  const int stride = (half + kTileSide - 1) / kTileSide * kTileSide;
  std::vector<float> columns(records.dims * static_cast<std::size_t>(stride));
  for (int j = 0; j < half; ++j) {
    for (int c = 0; c < dims; ++c)
      columns[static_cast<std::size_t>(c * stride + j)] = omega[static_cast<std::size_t>(j * dims + c)];
  }
  Result r;
  r.features.assign(records.n * 2 * static_cast<std::size_t>(half), -77);
  r.norms.assign(records.n, 0);
  r.refused.assign(records.n, 0);
  test::cuda::launch({stride / kTileSide, (n + kTileSide - 1) / kTileSide}, kThreads, [&] {
    rff_features(columns.data(), stride, half, unit == nullptr ? records.x.data() : nullptr,
                 unit == nullptr ? nullptr : bytes.data(), unit == nullptr ? nullptr : unit->data(), n, dims,
                 scale, kBits, limit, r.features.data(), r.norms.data(), r.refused.data());
  });
  return r;
}

std::vector<std::uint64_t> sums_of(const Result& r, const Records& records, int classes) {
  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < records.n; ++i) {
    if (records.y[i] >= 0 && records.y[i] < classes) order.push_back(static_cast<std::int32_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return records.y[static_cast<std::size_t>(a)] < records.y[static_cast<std::size_t>(b)];
  });
  const auto numbers = static_cast<int>(r.features.size() / records.n),
             count = static_cast<int>(order.size());
  std::vector<Wide> sums(static_cast<std::size_t>(classes * numbers));
  test::cuda::launch({(numbers + kThreads - 1) / kThreads, (count + kRowsOfSum - 1) / kRowsOfSum}, kThreads,
                     [&] {
                       add_rows(order.data(), count, records.y.data(), r.refused.data(), r.features.data(),
                                numbers, sums.data());
                     });
  return {sums.begin(), sums.end()};
}

std::vector<float> quarter_turns(const RffSpec& spec) {
  std::vector<float> omega = rff_frequencies(spec);
  for (float& w : omega) w *= 4.0f;
  return omega;
}

constexpr Wide kLimit = Wide{1} << (2 * kBits);

TEST(CudaKernels, SumTheSameIntegersAsTheCpu) {
  // Tiles that are full, and that are cut off in every direction; numbers that fill kDepth, and that do not.
  struct Shape {
    std::size_t n, dims, features;
    FrequencyKind kind;
  };
  for (const Shape& s : {Shape{150, 13, 300, FrequencyKind::kDense},
                         {128, 8, 256, FrequencyKind::kOrthogonal},
                         {3, 40, 34, FrequencyKind::kOrthogonal},
                         {1, 1, 2, FrequencyKind::kDense}}) {
    const RffSpec spec{
        .dims = s.dims, .features = s.features, .length_scale = 0.7, .kind = s.kind, .seed = 5};
    Records records(s.n, s.dims, 4);
    if (s.n > 2) records.y[1] = -1, records.y[2] = 99;  // without a class
    const auto block = make_rff_block(spec, Lattice{kBits});
    const Result r =
        features_of(quarter_turns(spec), records, rff_lattice_scale(s.features, Lattice{kBits}), kLimit);
    EXPECT_EQ(std::count(r.refused.begin(), r.refused.end(), 0u), static_cast<std::ptrdiff_t>(s.n));
    EXPECT_EQ(sums_of(r, records, 4), features::sums_of(*block, records, 4))
        << s.n << " x " << s.dims << ", " << s.features << " features";
  }
}

TEST(CudaKernels, BytesGiveTheIntegersOfTheNumbersTheyStandFor) {
  const RffSpec spec{.dims = 13, .features = 300, .length_scale = 0.7, .seed = 5};
  Records records(150, spec.dims, 4);
  const auto [unit, bytes] = round_to_bytes(records);
  const float scale = rff_lattice_scale(spec.features, Lattice{kBits});
  const Result floats = features_of(quarter_turns(spec), records, scale, kLimit),
               ours = features_of(quarter_turns(spec), records, scale, kLimit, &unit, bytes);
  EXPECT_EQ(ours.features, floats.features);
  EXPECT_EQ(ours.norms, floats.norms);
  EXPECT_EQ(ours.refused, floats.refused);
}

/// One record a phase: x is the phase and omega is 1.
TEST(CudaKernels, TreatAwkwardPhasesAsTheCpuDoes) {
  Records records(0, 1, 1);
  records.x = awkward_phases(600);
  records.n = records.x.size();
  records.y.assign(records.n, 0);
  const Result r = features_of({1.0f}, records, 0x1p24f, ~Wide{0} >> 8);
  const Kernels& cpu = *supported_kernels().front();
  for (std::size_t i = 0; i < records.n; ++i) {
    std::vector<float> frequencies(cpu.panel), group(cpu.group);
    frequencies[0] = 1.0f;
    group[0] = records.x[i];
    std::vector<std::int32_t> values(cpu.group * 2 * cpu.panel);
    cpu.rff(frequencies.data(), 1, 1, group.data(), 1, 0x1p24f, values.data());
    EXPECT_EQ(r.features[2 * i], values[0]) << "cosine of " << records.x[i];
    EXPECT_EQ(r.features[2 * i + 1], values[cpu.panel]) << "sine of " << records.x[i];
    const bool outside =
        std::abs(std::int64_t{values[0]}) >> kBits || std::abs(std::int64_t{values[cpu.panel]}) >> kBits;
    EXPECT_EQ(r.refused[i] != 0, outside) << records.x[i];
  }
}

TEST(CudaKernels, RefuseRecordsAboveTheBoundAndLeaveThemOut) {
  const RffSpec spec{.dims = 3, .features = 300, .length_scale = 1.0, .seed = 5};
  Records records(5, 3, 1);
  records.x[3] = std::nanf("");                           // record 1
  records.x[8] = std::numeric_limits<float>::infinity();  // record 2
  const float scale = rff_lattice_scale(spec.features, Lattice{kBits});
  Result r = features_of(quarter_turns(spec), records, scale, kLimit);
  EXPECT_EQ(r.refused, (std::vector<std::uint32_t>{0, 1, 1, 0, 0}));
  const auto block = make_rff_block(spec, Lattice{kBits});
  EXPECT_EQ(sums_of(r, records, 1), features::sums_of(*block, records, 1));
  // The bound itself is allowed, and one less is not: norms are exact.
  for (const std::size_t i : {0, 3, 4}) {
    Wide norm = 0;
    for (std::size_t j = 0; j < spec.features; ++j) {
      const auto v = static_cast<std::int64_t>(r.features[i * spec.features + j]);
      norm += static_cast<Wide>(v * v);
    }
    EXPECT_EQ(r.norms[i], norm);
    EXPECT_EQ(features_of(quarter_turns(spec), records, scale, norm).refused[i], 0u);
    EXPECT_EQ(features_of(quarter_turns(spec), records, scale, norm - 1).refused[i], 1u);
  }
}

}  // namespace
}  // namespace muffle::features
