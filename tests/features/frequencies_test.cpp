#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "features/features_fixture.hpp"
#include "support/expect_error.hpp"

namespace muffle::features {
namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

RffSpec spec_of(std::size_t dims, std::size_t features, FrequencyKind kind = FrequencyKind::kDense,
                double length_scale = 1.0, std::uint64_t seed = 1) {
  return {.dims = dims, .features = features, .length_scale = length_scale, .kind = kind, .seed = seed};
}

double dot(const std::vector<float>& omega, std::size_t dims, std::size_t i, std::size_t j) {
  double sum = 0;
  for (std::size_t c = 0; c < dims; ++c) sum += double{omega[i * dims + c]} * omega[j * dims + c];
  return sum;
}

// Every released embedding can be used only with its frequencies, so these bits may never change.
TEST(Frequencies, KeepTheirBitsForEver) {
  EXPECT_EQ(sha256_of(rff_frequencies(spec_of(3, 8))),
            "92b50c16c421363a4c9b896e448e21bec6fe19d4ae039a62cfa77a7a2890b6e0");
  EXPECT_EQ(sha256_of(rff_frequencies(spec_of(784, 2000, FrequencyKind::kDense, std::sqrt(127.0), 7))),
            "affd8272878b7dde62d539ae0c9652f50a2cf68a83f040a9bee570e18e405306");
  EXPECT_EQ(sha256_of(rff_frequencies(spec_of(3, 16, FrequencyKind::kOrthogonal))),
            "a1669b9b817af9289fb11b478f4c40872600a83b97df5e17407224b1b7ce75bc");
  EXPECT_EQ(sha256_of(rff_frequencies(spec_of(100, 500, FrequencyKind::kOrthogonal, 2.5, 7))),
            "c7ea7d85b77175a6a100bdbd2e017fd68dee5dee37cd7ffbaeb1ab470637e611");
}

TEST(Frequencies, AreTheSameWithEveryInstructionSet) {
  for (const auto kind : {FrequencyKind::kDense, FrequencyKind::kOrthogonal}) {
    const RffSpec spec = spec_of(37, 200, kind, 0.3, 5);
    const auto expected = rff_frequencies(spec, *supported_kernels().front());
    for (const Kernels* kernels : supported_kernels())
      EXPECT_EQ(rff_frequencies(spec, *kernels), expected) << kernels->name;
  }
}

TEST(Frequencies, OrthogonalRowsAreOrthogonalWithinABlock) {
  constexpr std::size_t kDims = 40, kCount = 100;  // two whole blocks and one cut off
  const auto omega = rff_frequencies(spec_of(kDims, 2 * kCount, FrequencyKind::kOrthogonal));
  for (std::size_t i = 0; i < kCount; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (i / kDims != j / kDims) continue;
      const double cosine =
          dot(omega, kDims, i, j) / std::sqrt(dot(omega, kDims, i, i) * dot(omega, kDims, j, j));
      ASSERT_NEAR(cosine, 0.0, 1e-6) << i << ", " << j;  // float rounding of 40 numbers
    }
  }
}

TEST(Frequencies, BothKindsHaveTheKernelsSpectrum) {
  constexpr std::size_t kDims = 64, kCount = 2000;
  constexpr double kLength = 3.0;
  for (const auto kind : {FrequencyKind::kDense, FrequencyKind::kOrthogonal}) {
    const auto omega = rff_frequencies(spec_of(kDims, 2 * kCount, kind, kLength));
    double squares = 0, squared_norms_squared = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const double norm2 = dot(omega, kDims, i, i) * kTwoPi * kTwoPi * kLength * kLength;
      squares += norm2 / kCount;
      squared_norms_squared += norm2 * norm2 / kCount;
    }
    // chi-squared with 64 degrees of freedom: mean 64, variance 128; five standard errors of 2,000 draws.
    EXPECT_NEAR(squares, 64.0, 5 * std::sqrt(128.0 / kCount));
    EXPECT_NEAR(squared_norms_squared - squares * squares, 128.0, 5 * 128 * std::sqrt(2.2 / kCount));
  }
}

TEST(Frequencies, RefuseAnImpossibleSpecAndNameEveryProblem) {
  for (const double length : {0.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e-40})
    EXPECT_THROW(rff_frequencies(spec_of(2, 4, FrequencyKind::kDense, length)), ConfigError) << length;
  EXPECT_THROW(rff_frequencies(spec_of(2, 0)), ConfigError);
  test::expect_error(ExitCode::kConfig, {"features is 7", "0 numbers", "length-scale is -2"},
                     [] { rff_frequencies(spec_of(0, 7, FrequencyKind::kDense, -2.0)); });
}

}  // namespace
}  // namespace muffle::features
