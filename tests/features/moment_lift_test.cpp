// What is peculiar to each lift of second moments.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "features/features_fixture.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/features/lift.hpp"
#include "reference/moments_reference.hpp"
#include "support/expect_error.hpp"
#include "support/maps.hpp"

namespace muffle::features {
namespace {

using test::expect_error;
using test::MapKeys;
using test::schema_of;

std::vector<double> u_of(const Lift& lift, const std::vector<float>& x) {
  std::vector<double> u(lift.coefficients());
  lift.forward(x.data(), u.data());
  return u;
}

TEST(MomentLift, DefaultsFollowTheRecords) {
  const auto mnist = test::make_moments({}, schema_of({1, 28, 28}))->to_json();
  EXPECT_EQ(mnist["lift"], "image");
  EXPECT_EQ(mnist["lift_settings"]["coefficients"], 14);
  EXPECT_EQ(mnist["lift_settings"]["blob_radius"], 7.0);
  EXPECT_EQ(mnist["offset"], 8.0);
  const auto cifar = test::make_moments({}, schema_of({3, 32, 32}))->to_json();
  EXPECT_EQ(cifar["lift_settings"]["coefficients"], 10);
  EXPECT_EQ(cifar["lift_settings"]["blob_radius"], 8.0);
  EXPECT_EQ(test::make_moments({}, schema_of({9}))->to_json()["lift"], "vector");
  EXPECT_EQ(test::make_moments({}, schema_of({9}))->second_moments()->moments().order(), 10u);
  EXPECT_EQ(test::make_moments({{"lift", "fourier"}}, schema_of({2}))->to_json()["offset"], 1.0);
}

// Of epsilon 1 and delta 1e-5 under replace-one, ten equal classes, by the number of records. At 8,000 of
// nearly equal sides the smallest: strokes lose by a larger one (docs/lab/2026-11-26-small-data.md,
// "Strokes").
TEST(MomentLift, TheSideFollowsTheNoiseAndRisksLittle) {
  for (const auto& [records, side] : {std::pair{60000, 14}, {8000, 10}, {1000, 5}}) {
    const std::unique_ptr<Lift> lift = make_lift("image");
    (void)lift->choose_sizes(schema_of({1, 28, 28}, 10), 10 * 5.275909854 / records, 0);
    lift->resolve(schema_of({1, 28, 28}, 10));
    EXPECT_EQ(lift->coefficients(), static_cast<std::size_t>(side * side)) << records;
  }
}

TEST(MomentLift, ImagesByTheDefinitionOfTheTransform) {
  for (const auto& [shape, k] : {std::pair{std::vector<std::size_t>{1, 28, 28}, 14},
                                 {{3, 8, 8}, 8},
                                 {{2, 7, 11}, 5},
                                 {{1, 1, 1}, 1}}) {
    const auto lift = test::make_lift("image", {{"coefficients", std::to_string(k)}}, schema_of(shape));
    const Records records(1, lift->dims(), 1);
    const std::vector<double> u = u_of(*lift, records.x);
    const std::vector<double> expected = reference::image_lift(shape, lift->to_json(), records.x.data());
    ASSERT_EQ(u.size(), expected.size());
    for (std::size_t i = 0; i < u.size(); ++i) EXPECT_NEAR(u[i], expected[i], 2e-5) << i;
    EXPECT_EQ(u, reference::lift_in_loops(*lift->affine(), records.x.data()))
        << "released sums hang on each bit";
  }
}

TEST(MomentLift, FourierHasNormOneAndItsFrequencies) {
  const auto lift =
      test::make_lift("fourier", {{"coefficients", "32"}, {"length_scale", "0.2"}}, schema_of({2}));
  ASSERT_EQ(lift->affine(), nullptr);
  const std::vector<float> omega =
      rff_frequencies({.dims = 2, .features = 32, .length_scale = 0.2, .seed = 1});
  const Records records(20, 2, 1);
  for (std::size_t i = 0; i < records.n; ++i) {
    const std::vector<float> x = records.record(i);
    const std::vector<double> u = u_of(*lift, x);
    double norm = 0;
    for (const double v : u) norm += v * v;
    EXPECT_NEAR(norm, 1.0, 1e-14);
    for (std::size_t j = 0; j < 16; ++j) {
      const double turns = static_cast<double>(omega[2 * j]) * static_cast<double>(x[0]) +
                           static_cast<double>(omega[2 * j + 1]) * static_cast<double>(x[1]);
      EXPECT_NEAR(u[j], 0.25 * std::cos(2 * std::numbers::pi * turns), 1e-13);
      EXPECT_NEAR(u[16 + j], 0.25 * std::sin(2 * std::numbers::pi * turns), 1e-13);
    }
  }
}

TEST(MomentLift, HermiteFunctionsSumToTheGaussianKernel) {
  constexpr double kLength = 0.25;
  const MapKeys settings{{"coefficients", "40"}, {"length_scale", "0.25"}};
  const auto lift = test::make_lift("hermite", settings, schema_of({1}));
  for (const float x : {0.3f, 0.5f, 0.62f}) {
    for (const float y : {0.35f, 0.5f, 0.7f}) {
      const auto a = u_of(*lift, {x}), b = u_of(*lift, {y});
      double kernel = 0, norm = 0;
      for (std::size_t i = 0; i < a.size(); ++i) kernel += a[i] * b[i], norm += a[i] * a[i];
      const double difference = static_cast<double>(x) - static_cast<double>(y);
      EXPECT_NEAR(kernel, std::exp(-difference * difference / (2 * kLength * kLength)), 0.03);
      EXPECT_LE(norm, 1.0);
      EXPECT_GT(norm, 0.95);
    }
  }
  // Two numbers: the functions of each, side by side, over sqrt(2).
  const auto u = u_of(*test::make_lift("hermite", settings, schema_of({2})), {0.2f, 0.9f});
  const auto first = u_of(*lift, {0.2f}), second = u_of(*lift, {0.9f});
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_NEAR(u[i] * std::sqrt(2.0), first[i], 1e-12);
    EXPECT_NEAR(u[40 + i] * std::sqrt(2.0), second[i], 1e-12);
  }
}

/// As a hostile release states them: no key of a configuration takes such values.
void resolve_json(const nlohmann::json& json, const std::vector<std::size_t>& shape) {
  const JsonDocument document{"x.mfl", "a release", ""};
  const auto map = make_map("moments");
  map->read_json(JsonFields(json, document));
  map->resolve(schema_of(shape));
}

TEST(MomentLift, WhatCannotBeLiftedIsRefusedWithAllProblems) {
  const auto refused = [](const MapKeys& settings, std::vector<std::size_t> shape,
                          std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kConfig, parts,
                 [&] { test::make_moments(settings, schema_of(std::move(shape))); });
  };
  refused({{"lift", "image"}}, {64}, {"shape"});
  refused({{"lift", "image"}}, {1, 0, 8}, {"numbers"});
  refused({{"lift", "vector"}}, {1, 8, 8}, {"shape"});
  refused({{"lift", "vector"}}, {0}, {"numbers"});
  refused({{"lift", "vector"}}, {std::size_t{1} << 60}, {"numbers"});
  refused({{"lift", "vector"}}, {10'000}, {"use fewer"});
  refused({{"lift", "image"}, {"coefficients", "9"}}, {1, 8, 8}, {"9 coefficients", "8 x 8"});
  refused({{"lift", "image"}, {"fewest_coefficients", "9"}}, {1, 8, 8}, {"9 coefficients", "8 x 8"});
  refused({{"lift", "image"}, {"coefficients", "4"}, {"fewest_coefficients", "5"}}, {1, 8, 8},
          {"coefficients = 4 is less than fewest_coefficients = 5"});
  refused({{"lift", "fourier"}, {"coefficients", "7"}}, {2}, {"even"});
  refused({{"lift", "hermite"}, {"coefficients", "8000"}}, {2}, {"use fewer"});

  const auto stated = nlohmann::json::parse(test::make_moments({}, schema_of({1, 8, 8}))->to_json().dump());
  const auto refused_in_file = [&](const std::string& pointer, double value, const std::string& part) {
    nlohmann::json bad = stated;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    expect_error(ExitCode::kConfig, {part}, [&] { resolve_json(bad, {1, 8, 8}); });
  };
  refused_in_file("/lift_settings/weight_exponent", 5.0, "exponent is 5");
  refused_in_file("/lift_settings/blob_height", -1.0, "height is -1");
  refused_in_file("/lift_settings/blob_radius", -1.0, "radius is -1");
  refused_in_file("/offset", -1.0, "offset is -1");
}

}  // namespace
}  // namespace muffle::features
