#include "moments/resemblance.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <cmath>

#include "muffle/core/philox.hpp"

namespace muffle::moments {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index kClasses = 8;

/// Two kinds of classes, each alike among themselves and unlike the others.
MatrixXd two_kinds(double likeness) {
  MatrixXd out = MatrixXd::Identity(kClasses, kClasses);
  for (Index a = 0; a < kClasses; ++a) {
    for (Index b = 0; b < kClasses; ++b) {
      if (a != b) out(a, b) = (a % 2 == b % 2 ? 1 : -0.5) * likeness;
    }
  }
  return out;
}

/// Takes from each row its mean.
MatrixXd centred(const MatrixXd& rows) { return rows.colwise() - rows.rowwise().mean(); }
/// What of a law can be seen beside the mean of all classes.
MatrixXd seen(const MatrixXd& between) { return centred(centred(between).transpose()); }

/// Classes beside the mean of all.
struct Planted {
  MatrixXd truth;
  NoisyByClass noisy;
  VectorXd scale;
};

Planted plant(Index rows, const MatrixXd& between, double noise, std::uint64_t seed) {
  const CounterStream random(seed, Stream::kTest);
  std::uint64_t next = 0;
  const MatrixXd root = between.llt().matrixL();
  Planted out{MatrixXd(rows, kClasses), {MatrixXd(rows, kClasses), VectorXd(kClasses)}, VectorXd(rows)};
  for (Index c = 0; c < kClasses; ++c) out.noisy.noise(c) = noise * (1 + 0.2 * static_cast<double>(c));
  for (Index i = 0; i < rows; ++i) {
    out.scale(i) = 4.0 / (1 + 0.001 * static_cast<double>(i));
    VectorXd z(kClasses);
    for (Index c = 0; c < kClasses; ++c) z(c) = random.normal(next++);
    out.truth.row(i) = std::sqrt(out.scale(i)) * (root * z).transpose();
    for (Index c = 0; c < kClasses; ++c)
      out.noisy.numbers(i, c) = out.truth(i, c) + std::sqrt(out.noisy.noise(c)) * random.normal(next++);
  }
  out.truth = centred(out.truth);
  out.noisy.numbers = centred(out.noisy.numbers);
  out.noisy.noise *= 1 - 1 / static_cast<double>(kClasses);
  return out;
}

/// Each class by itself.
double error_alone(const Planted& p) {
  const Resemblance law{p.scale, MatrixXd::Identity(kClasses, kClasses)};
  return (given_all(p.noisy, law).mean - p.truth).norm();
}

TEST(Resemblance, IsFoundAndComesCloserThanEachClassAlone) {
  const MatrixXd between = two_kinds(0.6);
  const Planted p = plant(4000, between, 1.0, 1);
  const Resemblance law = most_plausible_resemblance(p.noisy, p.scale, 1.0);
  EXPECT_LT((seen(law.between) - seen(between)).norm(), 0.25 * seen(between).norm());
  EXPECT_LT((given_all(p.noisy, law).mean - p.truth).norm(), 0.9 * error_alone(p));
  const ByClass others = given_others(p.noisy, law);
  EXPECT_LT((others.mean - p.truth).norm(), 0.95 * p.truth.norm());
  EXPECT_NEAR((others.mean - p.truth).squaredNorm() / others.variance.sum(), 1, 0.15)
      << "says how close, but for the centre's noise";
  const ByClass all = given_all(p.noisy, law);
  EXPECT_NEAR((all.mean - p.truth).squaredNorm() / all.variance.sum(), 1, 0.15);
}

TEST(Resemblance, OfUnlikeClassesCostsLittle) {
  const Planted p = plant(100, MatrixXd::Identity(kClasses, kClasses), 1.0, 2);
  const Resemblance law = most_plausible_resemblance(p.noisy, p.scale, 1.0);
  EXPECT_LT((given_all(p.noisy, law).mean - p.truth).norm(), 1.03 * error_alone(p));
}

TEST(Resemblance, NoiseAloneSaysNothing) {
  for (const double noise : {1e2, 1e6, 1e12}) {
    Planted p = plant(400, MatrixXd::Identity(kClasses, kClasses), noise, 3);
    p.noisy.numbers -= p.truth;
    const Resemblance law = most_plausible_resemblance(p.noisy, p.scale, 1.0);
    EXPECT_LT((law.between - MatrixXd::Identity(kClasses, kClasses)).norm(), 1.5) << noise;
    EXPECT_LT(given_others(p.noisy, law).mean.array().square().mean(), 0.1 * p.scale.mean()) << noise;
  }
}

TEST(Resemblance, IsTheConditionalNormalLaw) {
  const Planted p = plant(3, two_kinds(0.5), 0.7, 4);
  const Resemblance law{p.scale, two_kinds(0.4)};
  const ByClass all = given_all(p.noisy, law), others = given_others(p.noisy, law);
  for (Index i = 0; i < 3; ++i) {
    const MatrixXd truth = p.scale(i) * law.between, noise = p.noisy.noise.asDiagonal();
    const MatrixXd gain = truth * (truth + noise).inverse();
    const VectorXd y = p.noisy.numbers.row(i);
    EXPECT_LT((all.mean.row(i).transpose() - gain * y).norm(), 1e-12);
    EXPECT_LT((all.variance.row(i).transpose() - (truth - gain * truth).diagonal()).norm(), 1e-12);
    for (Index c = 0; c < kClasses; ++c) {
      // The same with noise so large that the class's own number is gone.
      MatrixXd without = noise;
      without(c, c) = 1e12;
      const MatrixXd gain_without = truth * (truth + without).inverse();
      EXPECT_NEAR(others.mean(i, c), (gain_without * y)(c), 1e-9);
      EXPECT_NEAR(others.variance(i, c), (truth - gain_without * truth)(c, c), 1e-9);
    }
  }
}

}  // namespace
}  // namespace muffle::moments
