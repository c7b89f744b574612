// Principal axes of noisy second moments: what lies along them comes back, whatever else there is.
#include "muffle/features/principal_axes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "features/features_fixture.hpp"
#include "support/maps.hpp"

namespace muffle::features {
namespace {

const schema::Schema kImages = test::schema_of({1, 8, 12}, 1);
constexpr std::size_t kAxes = 3;

std::shared_ptr<const FeatureMap> moments_map() {
  return test::make_map("moments", {{"lift", "image"}, {"coefficients", "5"}, {"blob_height", "0"}}, kImages);
}

/// x = middle + three public waves, each by a number of the record's own, and less of everything else.
std::vector<float> record(std::uint64_t i, double rest) {
  const CounterStream random(3, Stream::kTest, static_cast<std::uint32_t>(i));
  std::vector<float> out;
  for (std::size_t r = 0; r < 8; ++r) {
    for (std::size_t c = 0; c < 12; ++c) {
      const double y = std::numbers::pi * (static_cast<double>(r) + 0.5) / 8,
                   x = std::numbers::pi * (static_cast<double>(c) + 0.5) / 12;
      const double wave = 0.1 * random.normal(0) * std::cos(y) + 0.07 * random.normal(1) * std::cos(2 * x) +
                          0.05 * random.normal(2) * (std::cos(x) * std::cos(3 * y) + std::cos(4 * x));
      out.push_back(
          static_cast<float>(0.4 + 0.05 * std::cos(y) + wave + rest * random.normal(10 + r * 12 + c)));
    }
  }
  return out;
}

/// The sum of z z^T over `n` records, by hand.
std::vector<double> moments_of(const SecondMoments& moments, std::size_t n, double rest) {
  const std::size_t q = moments.order();
  std::vector<double> sum(q * q, 0.0), z(q);
  for (std::size_t i = 0; i < n; ++i) {
    z[0] = moments.offset;
    moments.lift->forward(record(i, rest).data(), z.data() + 1);
    double squares = 0;
    for (const double v : z) squares += v * v;
    for (std::size_t a = 0; a < q; ++a) {
      for (std::size_t b = 0; b < q; ++b) sum[a * q + b] += z[a] * z[b] / squares;
    }
  }
  return sum;
}

/// Mean squared distance of new records to what comes back of their codes.
double lost(const PrincipalAxes& axes, double rest) {
  double sum = 0;
  constexpr std::size_t kRecords = 200;
  std::vector<double> code(axes.count()), back(axes.dims());
  for (std::size_t i = 0; i < kRecords; ++i) {
    const std::vector<float> x = record(5000 + i, rest);
    const float* const row = x.data();
    axes.forward_all(std::span(&row, 1), code.data(), code.size());
    axes.back(code.data(), back.data());
    for (std::size_t j = 0; j < x.size(); ++j) sum += std::pow(back[j] - static_cast<double>(x[j]), 2);
  }
  return sum / kRecords;
}

void expect_orthonormal(const PrincipalAxes& axes, std::size_t count) {
  const std::size_t d = axes.dims();
  for (std::size_t a = 0; a < axes.count(); ++a) {
    for (std::size_t b = 0; b < axes.count(); ++b) {
      double sum = 0;
      for (std::size_t i = 0; i < d; ++i)
        sum += static_cast<double>(axes.numbers()[(a + 1) * d + i]) *
               static_cast<double>(axes.numbers()[(b + 1) * d + i]);
      EXPECT_NEAR(sum, a == b && a < count ? 1.0 : 0.0, 1e-5) << a << ", " << b;
    }
  }
}

TEST(PrincipalAxes, AreWhereRecordsVaryMost) {
  const auto map = moments_map();
  const SecondMoments& moments = map->second_moments()->moments();
  const PrincipalAxes axes = PrincipalAxes::of(moments, moments_of(moments, 2000, 0.002), kAxes);
  EXPECT_EQ(axes.count(), kAxes);
  expect_orthonormal(axes, kAxes);
  // 96 numbers of .002 each, less what lies along the axes; the waves' squares are .01 x 48 and so on.
  EXPECT_LT(lost(axes, 0.002), 1.1 * 96 * 0.002 * 0.002);
  EXPECT_GT(lost(PrincipalAxes::of(moments, moments_of(moments, 2000, 0.002), kAxes - 1), 0.002), 0.05);
}

TEST(PrincipalAxes, NoiseLeavesThemNearby) {
  const auto map = moments_map();
  const SecondMoments& moments = map->second_moments()->moments();
  const std::size_t q = moments.order();
  std::vector<double> second = moments_of(moments, 2000, 0.002);
  const double without = lost(PrincipalAxes::of(moments, second, kAxes), 0.002);
  const CounterStream random(5, Stream::kTest);
  for (std::size_t a = 0; a < q; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      second[a * q + b] += 2.0 * random.normal(a * q + b);
      second[b * q + a] = second[a * q + b];
    }
  }
  const PrincipalAxes noisy = PrincipalAxes::of(moments, second, kAxes);
  expect_orthonormal(noisy, kAxes);
  EXPECT_GT(lost(noisy, 0.002), without);
  EXPECT_LT(lost(noisy, 0.002), 0.2) << "of 1 or so that the waves have";
}

TEST(PrincipalAxes, WhatIsNotThereIsZerosAndNeverNaN) {
  const auto map = moments_map();
  const SecondMoments& moments = map->second_moments()->moments();
  const std::size_t q = moments.order();
  // Of records that lie along three waves, more axes than that: the others are nothing.
  const PrincipalAxes more = PrincipalAxes::of(moments, moments_of(moments, 300, 0.0), 6);
  for (const float v : more.numbers()) EXPECT_TRUE(std::isfinite(v));
  EXPECT_LT(lost(more, 0.0), 1e-5);
  // Noise may leave no records at all, or fewer than none.
  for (const double left : {0.0, -3.0}) {
    std::vector<double> second(q * q, 0.0);
    for (std::size_t a = 0; a < q; ++a) second[a * q + a] = left;
    const PrincipalAxes none = PrincipalAxes::of(moments, second, kAxes);
    for (const float v : none.numbers()) EXPECT_TRUE(std::isfinite(v)) << left;
    expect_orthonormal(none, left == 0.0 ? 0 : kAxes);
  }
}

/// Moments that are diagonal in the lift's coefficients, of these variances; all others are 0.
std::vector<double> diagonal(const SecondMoments& moments, const std::vector<double>& variances) {
  const std::size_t q = moments.order();
  std::vector<double> second(q * q, 0.0);
  second[0] = 100.0;
  for (std::size_t i = 0; i < variances.size(); ++i) {
    const double weight = moments.lift->affine()->weights[i];
    second[(i + 1) * q + i + 1] = variances[i] * weight * weight;
  }
  return second;
}

// Noise makes variances that no records have: what lies far below 0 comes last, not first.
TEST(PrincipalAxes, GoByTheLargestVarianceNotTheLargestNumber) {
  const auto map = moments_map();
  const SecondMoments& moments = map->second_moments()->moments();
  const PrincipalAxes axes = PrincipalAxes::of(moments, diagonal(moments, {1.0, -9.0, 5.0, 0.5}), 3);
  std::vector<double> u(moments.order() - 1), x(axes.dims());
  for (const auto& [place, coefficient] : {std::pair{0, 2}, {1, 0}, {2, 3}}) {
    std::fill(u.begin(), u.end(), 0.0);
    u[static_cast<std::size_t>(coefficient)] =
        moments.lift->affine()->weights[static_cast<std::size_t>(coefficient)];
    moments.lift->affine()->back(u.data(), x.data());
    double along = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      along +=
          x[i] * static_cast<double>(axes.numbers()[static_cast<std::size_t>(place + 1) * axes.dims() + i]);
    EXPECT_NEAR(std::fabs(along), 1.0, 1e-5) << place;
  }
}

TEST(PrincipalAxes, AMeanBeyondAllRecordsIsBroughtBack) {
  const auto map = moments_map();
  const SecondMoments& moments = map->second_moments()->moments();
  std::vector<double> second = diagonal(moments, {1.0, 1.0, 1.0});
  second[0] = 1e-3;
  for (std::size_t i = 1; i < 4; ++i) second[i] = second[i * moments.order()] = i == 2 ? 1e30 : -50.0;
  const PrincipalAxes axes = PrincipalAxes::of(moments, second, 2);
  for (std::size_t i = 0; i < axes.dims(); ++i)
    EXPECT_TRUE(axes.numbers()[i] >= 0.0f && axes.numbers()[i] <= 1.0f) << axes.numbers()[i];
  for (const float v : axes.numbers()) EXPECT_TRUE(std::isfinite(v));
}

// A release is verified elsewhere than where it was made: every build finds these bytes.
TEST(PrincipalAxes, AreTheSameBitsOnEveryBuild) {
  const auto map = moments_map();
  const SecondMoments& moments = map->second_moments()->moments();
  const std::size_t q = moments.order();
  const CounterStream random(11, Stream::kTest);
  std::vector<double> second(q * q);
  for (std::size_t a = 0; a < q; ++a) {
    for (std::size_t b = 0; b <= a; ++b)
      second[a * q + b] = second[b * q + a] = (a == b ? 8.0 : 0.0) + random.uniform(a * q + b) - 0.5;
  }
  const PrincipalAxes axes = PrincipalAxes::of(moments, second, 7);
  EXPECT_EQ(sha256_of(std::vector<float>(axes.numbers().begin(), axes.numbers().end())),
            "7cbb96829bf39b28c91fb02b64d316ac3ab9c1b557941c130b2234a283a9e336");
}

TEST(PrincipalAxes, CodesAreTheSameWhateverIsEncodedBesideThem) {
  const auto map = moments_map();
  const SecondMoments& moments = map->second_moments()->moments();
  const PrincipalAxes axes = PrincipalAxes::of(moments, moments_of(moments, 100, 0.1), kAxes);
  const Records records(37, kImages.dims(), 1);
  std::vector<const float*> rows;
  for (std::size_t i = 0; i < records.n; ++i) rows.push_back(records.row(i));
  std::vector<double> all(records.n * 4), one(kAxes);
  axes.forward_all(rows, all.data(), 4);
  for (std::size_t i = 0; i < records.n; ++i) {
    axes.forward_all(std::span(&rows[i], 1), one.data(), kAxes);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + static_cast<std::ptrdiff_t>(4 * i))) << i;
  }
}

}  // namespace
}  // namespace muffle::features
