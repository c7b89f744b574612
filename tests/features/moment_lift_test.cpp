#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "muffle/core/philox.hpp"
#include "muffle/features/moments.hpp"
#include "reference/moments_reference.hpp"
#include "support/expect_error.hpp"

namespace muffle::features {
namespace {

using test::expect_error;

std::vector<float> record(std::size_t dims, std::uint32_t which = 0) {
  const CounterStream stream(3, Stream::kTest, which);
  std::vector<float> x(dims);
  for (std::size_t i = 0; i < dims; ++i) x[i] = static_cast<float>(stream.uniform(i));
  return x;
}

TEST(MomentLift, DefaultsFollowTheImage) {
  const MomentLift mnist({.kind = MomentLiftKind::kImage, .shape = {1, 28, 28}});
  EXPECT_EQ(mnist.spec().coefficients, 14u);
  EXPECT_EQ(mnist.order(), 197u);
  EXPECT_EQ(mnist.spec().offset, 8.0);
  EXPECT_EQ(mnist.spec().blob_radius, 7.0);
  EXPECT_EQ(mnist.dims(), 784u);
  const MomentLift cifar({.kind = MomentLiftKind::kImage, .shape = {3, 32, 32}});
  EXPECT_EQ(cifar.spec().coefficients, 10u);
  EXPECT_EQ(cifar.coefficients(), 300u);
  EXPECT_EQ(cifar.spec().blob_radius, 8.0);
  EXPECT_EQ(resolved(cifar.spec()), cifar.spec()) << "resolved once is resolved for good";
  EXPECT_EQ(MomentLift({.kind = MomentLiftKind::kVector, .shape = {9}}).order(), 10u);
}

TEST(MomentLift, ImagesByTheDefinitionOfTheTransform) {
  for (const auto& [shape, k] : {std::pair{std::vector<std::size_t>{1, 28, 28}, 14},
                                 {{3, 8, 8}, 8},
                                 {{2, 7, 11}, 5},
                                 {{1, 1, 1}, 1}}) {
    const MomentLift lift(
        {.kind = MomentLiftKind::kImage, .shape = shape, .coefficients = static_cast<std::size_t>(k)});
    const std::vector<float> x = record(lift.dims());
    std::vector<double> u(lift.coefficients());
    lift.forward(x.data(), u.data());
    const std::vector<double> expected = reference::image_lift(lift.spec(), x.data());
    ASSERT_EQ(u.size(), expected.size());
    for (std::size_t i = 0; i < u.size(); ++i) EXPECT_NEAR(u[i], expected[i], 2e-5) << i;
  }
}

TEST(MomentLift, AffineLiftsComeBack) {
  for (const MomentsSpec& spec :
       {MomentsSpec{.kind = MomentLiftKind::kImage, .shape = {3, 8, 6}, .coefficients = 4},
        MomentsSpec{.kind = MomentLiftKind::kVector, .shape = {5}}}) {
    const MomentLift lift(spec);
    ASSERT_TRUE(lift.is_affine());
    const CounterStream stream(4, Stream::kTest);
    std::vector<double> u(lift.coefficients()), x(lift.dims()), again(u.size());
    for (std::size_t i = 0; i < u.size(); ++i) u[i] = stream.normal(i);
    lift.back(u.data(), x.data());
    const std::vector<float> record(x.begin(), x.end());
    lift.forward(record.data(), again.data());
    for (std::size_t i = 0; i < u.size(); ++i) EXPECT_NEAR(again[i], u[i], 1e-5) << i;
    // Nothing of u: the blob.
    std::fill(u.begin(), u.end(), 0.0);
    lift.back(u.data(), x.data());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i], lift.blob()[i]);
  }
  // All coefficients: every image comes back.
  const MomentLift whole({.kind = MomentLiftKind::kImage, .shape = {1, 6, 6}, .coefficients = 6});
  const std::vector<float> x = record(36);
  std::vector<double> u(36), back(36);
  whole.forward(x.data(), u.data());
  whole.back(u.data(), back.data());
  for (std::size_t i = 0; i < 36; ++i) EXPECT_NEAR(back[i], x[i], 1e-6);
}

TEST(MomentLift, FourierHasNormOneAndItsFrequencies) {
  const MomentLift lift(
      {.kind = MomentLiftKind::kFourier, .shape = {2}, .coefficients = 32, .length_scale = 0.2});
  ASSERT_FALSE(lift.is_affine());
  for (std::uint32_t t = 0; t < 20; ++t) {
    const std::vector<float> x = record(2, t);
    std::vector<double> u(32);
    lift.forward(x.data(), u.data());
    double norm = 0;
    for (const double v : u) norm += v * v;
    EXPECT_NEAR(norm, 1.0, 1e-14);
    for (std::size_t j = 0; j < 16; ++j) {
      const double turns = static_cast<double>(lift.frequencies()[2 * j]) * static_cast<double>(x[0]) +
                           static_cast<double>(lift.frequencies()[2 * j + 1]) * static_cast<double>(x[1]);
      EXPECT_NEAR(u[j], 0.25 * std::cos(2 * std::numbers::pi * turns), 1e-13);
      EXPECT_NEAR(u[16 + j], 0.25 * std::sin(2 * std::numbers::pi * turns), 1e-13);
    }
  }
  std::vector<double> x(2);
  expect_error(ExitCode::kInvariant, {"no way back"}, [&] { lift.back(x.data(), x.data()); });
}

TEST(MomentLift, HermiteFunctionsSumToTheGaussianKernel) {
  constexpr double kLength = 0.25;
  const MomentLift lift(
      {.kind = MomentLiftKind::kHermite, .shape = {1}, .coefficients = 40, .length_scale = kLength});
  const auto at = [&](float x) {
    std::vector<double> u(40);
    lift.forward(&x, u.data());
    return u;
  };
  for (const float x : {0.3f, 0.5f, 0.62f}) {
    for (const float y : {0.35f, 0.5f, 0.7f}) {
      const auto a = at(x), b = at(y);
      double kernel = 0, norm = 0;
      for (std::size_t i = 0; i < a.size(); ++i) kernel += a[i] * b[i], norm += a[i] * a[i];
      const double difference = static_cast<double>(x) - static_cast<double>(y);
      EXPECT_NEAR(kernel, std::exp(-difference * difference / (2 * kLength * kLength)), 0.03);
      EXPECT_LE(norm, 1.0);
      EXPECT_GT(norm, 0.95);
    }
  }
  // Two numbers: the functions of each, side by side, over sqrt(2).
  const MomentLift pair(
      {.kind = MomentLiftKind::kHermite, .shape = {2}, .coefficients = 40, .length_scale = kLength});
  const float x[] = {0.2f, 0.9f};
  std::vector<double> u(80);
  pair.forward(x, u.data());
  const auto first = at(0.2f), second = at(0.9f);
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_NEAR(u[i] * std::sqrt(2.0), first[i], 1e-12);
    EXPECT_NEAR(u[40 + i] * std::sqrt(2.0), second[i], 1e-12);
  }
}

TEST(MomentLift, TheHashKnowsTheLift) {
  const MomentsSpec spec{.kind = MomentLiftKind::kImage, .shape = {1, 8, 8}, .coefficients = 4};
  EXPECT_EQ(MomentLift(spec).hash(), MomentLift(spec).hash());
  for (auto change : std::vector<void (*)(MomentsSpec&)>{
           [](MomentsSpec& s) { s.coefficients = 5; }, [](MomentsSpec& s) { s.weight_exponent = 0.25; },
           [](MomentsSpec& s) { s.blob_height = 0.25; }, [](MomentsSpec& s) { s.blob_radius = 3; },
           [](MomentsSpec& s) { s.offset = 1; }}) {
    MomentsSpec other = spec;
    change(other);
    EXPECT_NE(MomentLift(other).hash(), MomentLift(spec).hash());
  }
}

TEST(MomentLift, BadSpecsAreRefusedWithAllProblems) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [](const MomentsSpec& spec, std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kConfig, parts, [&] { resolved(spec); });
  };
  const MomentsSpec image{.kind = MomentLiftKind::kImage, .shape = {1, 8, 8}};
  const auto with = [&](auto change) {
    MomentsSpec spec = image;
    change(spec);
    return spec;
  };
  refused({.kind = MomentLiftKind::kImage, .shape = {64}}, {"shape"});
  refused({.kind = MomentLiftKind::kVector, .shape = {1, 8, 8}}, {"shape"});
  refused({.kind = MomentLiftKind::kVector, .shape = {0}}, {"numbers"});
  refused({.kind = MomentLiftKind::kVector, .shape = {std::size_t{1} << 60}}, {"numbers"});
  refused({.kind = MomentLiftKind::kVector, .shape = {5}, .coefficients = 3}, {"plain vectors"});
  refused({.kind = MomentLiftKind::kVector, .shape = {10'000}}, {"use fewer"});
  refused(with([](auto& s) { s.coefficients = 9; }), {"9 coefficients", "8 x 8"});
  refused(with([&](auto& s) { s.weight_exponent = nan; }), {"exponent is nan"});
  refused(with([&](auto& s) { s.blob_height = -1, s.blob_radius = -1; }), {"height is -1", "radius is -1"});
  refused(with([&](auto& s) { s.offset = nan; }), {"offset is nan"});
  refused(with([](auto& s) { s.bits = 21; }), {"bits are 21"});
  refused({.kind = MomentLiftKind::kFourier, .shape = {2}, .coefficients = 7}, {"even"});
  refused({.kind = MomentLiftKind::kHermite, .shape = {2}, .length_scale = 0}, {"length-scale is 0"});
}

}  // namespace
}  // namespace muffle::features
