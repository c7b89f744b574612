#include "muffle/moments/class_gaussians.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "moments/planted_moments.hpp"
#include "muffle/core/error.hpp"

namespace muffle::moments {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

double least_eigenvalue(const MatrixXd& m) {
  return Eigen::SelfAdjointEigenSolver<MatrixXd>(m, Eigen::EigenvaluesOnly).eigenvalues()(0);
}

CovarianceNoise white(double noise) { return {noise, {}}; }

/// What is guessed of planted moments.
Spectrum guess_for(const PlantedMoments& planted) {
  return spectrum_of(*planted.moments.moments.lift->affine());
}

/// Sum over the classes of the distance of `covariance` from the planted one.
double distance(const std::vector<MatrixXd>& covariance, const std::vector<MatrixXd>& truth) {
  double sum = 0;
  for (std::size_t c = 0; c < truth.size(); ++c) sum += (covariance[c] - truth[c]).norm();
  return sum;
}

TEST(ClassGaussians, LittleNoiseLeavesTheExactMoments) {
  struct Case {
    std::size_t classes, n;
    double records, noise;
    std::uint64_t seed;
    double mean_off, covariance_off;
  };
  for (const Case& c : {Case{4, 12, 1000, 0.0, 1, 1e-10, 1e-10}, Case{4, 12, 1000, 1e-6, 2, 1e-6, 1e-5},
                        Case{1, 10, 5000, 1.0, 4, 0.05, 0.1}}) {
    const PlantedMoments planted = plant(c.classes, c.n, c.records, c.noise, c.seed);
    const ClassGaussians got = fit_class_gaussians(planted.moments);
    for (std::size_t k = 0; k < c.classes; ++k) {
      EXPECT_LT((got.mean[k] - planted.mean[k]).norm(), c.mean_off) << c.noise;
      EXPECT_LT((got.covariance[k] - planted.covariance[k]).norm(), c.covariance_off) << c.noise;
    }
  }
}

TEST(ClassGaussians, DenoisingComesCloserThanTheRawMoments) {
  for (const double noise : {3.0, 10.0, 40.0}) {
    double raw_distance = 0, distance_after = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const PlantedMoments planted = plant(6, 40, 1000, noise, seed);
      const ClassGaussians truth{planted.mean, planted.covariance},
          got = fit_class_gaussians(planted.moments);
      const ConditionalMoments given = conditional_moments(planted.moments, guess_for(planted));
      ClassGaussians raw{given.mean, {}};
      for (std::size_t c = 0; c < 6; ++c) {
        raw.covariance.push_back(nearest_psd(given.second[c] - raw.mean[c] * raw.mean[c].transpose()));
        EXPECT_GE(least_eigenvalue(got.covariance[c]), -1e-9);
      }
      raw_distance += distance(raw.covariance, truth.covariance);
      distance_after += distance(got.covariance, truth.covariance);
    }
    EXPECT_LT(distance_after, 0.75 * raw_distance) << "noise " << noise;
  }
}

TEST(ClassGaussians, AClassThatTheNoiseHidesGetsTheLawOfAll) {
  PlantedMoments planted = plant(5, 8, 1000, 0.5, 3);
  for (std::size_t i = 0; i < 81; ++i) planted.moments.second[2 * 81 + i] *= 1e-4;
  const ClassGaussians got = fit_class_gaussians(planted.moments);
  VectorXd centre = VectorXd::Zero(8);
  MatrixXd pooled = MatrixXd::Zero(8, 8);
  for (const std::size_t c : {0, 1, 3, 4}) {
    centre += planted.mean[c] / 4;
    pooled += planted.covariance[c] / 4;
  }
  EXPECT_LT((got.mean[2] - centre).norm(), 0.35 * (planted.mean[2] - centre).norm());
  EXPECT_LT((got.covariance[2] - pooled).norm(), 0.35 * pooled.norm());
  for (const std::size_t c : {0, 1, 3, 4}) {
    EXPECT_LT((got.mean[c] - planted.mean[c]).norm(), 0.02) << "the others keep their own";
    EXPECT_LT((got.covariance[c] - planted.covariance[c]).norm(), 0.1);
  }
}

TEST(ClassGaussians, OneClassAloneAboveTheNoiseIsTheLawOfAll) {
  PlantedMoments planted = plant(2, 8, 1000, 0.5, 3);
  for (std::size_t i = 0; i < 81; ++i) planted.moments.second[81 + i] *= 1e-4;
  const ClassGaussians got = fit_class_gaussians(planted.moments);
  EXPECT_LT((got.mean[0] - planted.mean[0]).norm(), 0.02);
  EXPECT_LT((got.mean[1] - planted.mean[0]).norm(), 0.35 * planted.mean[0].norm());
  EXPECT_LT((got.covariance[1] - planted.covariance[0]).norm(), 0.35 * planted.covariance[0].norm());
}

TEST(ClassGaussians, BetweenIsCalledBeforeEachDiagonalisationAndMayEndTheFit) {
  PlantedMoments planted = plant(5, 8, 1000, 0.5, 3);
  int calls = 0;
  fit_class_gaussians(planted.moments, [&] { ++calls; });
  EXPECT_EQ(calls, 2 * 3 + (1 + 5) + 5 * 3)
      << "wiener two and edge one, of the shared covariance and of each class's; means in between";
  calls = 0;
  fit_class_gaussians(plant(8, 8, 1000, 0.5, 3).moments, [&] { ++calls; });
  EXPECT_EQ(calls, 2 * 3 + (1 + 8) + 2 * (1 + 8) + 8 * 3) << "eight classes: which are alike, too";
  const auto stop_at_7 = [&] {
    if (++calls == 7) throw DataError("stopped");
  };
  calls = 0;
  EXPECT_THROW(fit_class_gaussians(planted.moments, stop_at_7), DataError);
  EXPECT_EQ(calls, 7);
  calls = 0;
  EXPECT_THROW(class_covariance(planted.covariance[0], white(0.1), planted.covariance[1],
                                [&] {
                                  if (++calls == 3) throw DataError("stopped");
                                }),
               DataError);
}

/// Whatever the noise, laws as long as any record may be: what is not seen is the public guess.
TEST(ClassGaussians, NothingButNoiseGivesThePublicGuess) {
  for (const double noise : {1e3, 1e6, 1e12}) {
    PlantedMoments planted = plant(3, 30, 10, noise, 3);
    for (const double first : {-5.0, 0.0, 5.0}) {
      for (std::size_t c = 0; c < 3; ++c) planted.moments.second[c * 31 * 31] = first * noise;
      const ClassGaussians got = fit_class_gaussians(planted.moments);
      const double energy = guess_for(planted).energy;
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_LT(got.mean[c].squaredNorm(), 4 * energy);
        EXPECT_LT(got.covariance[c].trace(), 8 * energy);
        EXPECT_GT(got.covariance[c].trace(), 0.1 * energy);
        EXPECT_GE(least_eigenvalue(got.covariance[c]), -1e-9);
      }
    }
  }
}

TEST(EdgeCovariance, FindsAPlantedDirectionsVariance) {
  constexpr Eigen::Index kSize = 100;
  constexpr double kNoise = 0.1, kVariance = 6.0;  // edge 2
  double raw = 0, debiased = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    MatrixXd planted = planted_noise(kSize, kNoise, seed);
    planted(0, 0) += kVariance;
    const MatrixXd shape = MatrixXd::Identity(kSize, kSize) * 1e-9;
    const MatrixXd got = edge_covariance(planted, white(kNoise), shape);
    raw += Eigen::SelfAdjointEigenSolver<MatrixXd>(planted).eigenvalues()(kSize - 1) / 4;
    debiased += Eigen::SelfAdjointEigenSolver<MatrixXd>(got).eigenvalues()(kSize - 1) / 4;
  }
  EXPECT_GT(raw, kVariance + 0.08) << "the noise adds noise^2 n / variance = 0.17 to the eigenvalue";
  EXPECT_NEAR(debiased, kVariance, 0.12);
}

TEST(EdgeCovariance, NoiseAloneLeavesTheShape) {
  const MatrixXd shape = VectorXd::LinSpaced(50, 1.0, 2.0).asDiagonal();
  // The edge is where the eigenvalues of noise end: a little slack for their fluctuation.
  const MatrixXd got = edge_covariance(0.9 * planted_noise(50, 1.0, 9), white(1.0), shape);
  EXPECT_LT((got / got.trace() - shape / shape.trace()).norm(), 1e-12);
  EXPECT_GE(least_eigenvalue(got), 0.0);
}

/// A covariance whose entries differ from those of a diagonal prior by the model of wiener_covariance(), and
/// by a direction that only edge_covariance() looks for.
struct PlantedCovariance {
  static constexpr Eigen::Index kSize = 60;
  MatrixXd prior, truth;

  explicit PlantedCovariance(double along) {
    const CounterStream random(8, Stream::kTest, 2);
    VectorXd p(kSize), direction(kSize);
    for (Eigen::Index i = 0; i < kSize; ++i) {
      p(i) = 10.0 / (1.0 + static_cast<double>(i));
      direction(i) = random.normal(100'000 + static_cast<std::uint64_t>(i));
    }
    MatrixXd factor = MatrixXd::Identity(kSize, kSize);
    for (Eigen::Index i = 0; i < factor.size(); ++i)
      factor.data()[i] += 0.05 * random.normal(static_cast<std::uint64_t>(i));
    const VectorXd root = p.cwiseSqrt();
    direction.normalize();
    prior = p.asDiagonal();
    truth = root.asDiagonal() * (factor * factor.transpose()).eval() * root.asDiagonal();
    truth += along * direction * direction.transpose();
  }
};

/// At each noise: closer to the planted covariance than the noisy one, and than the prior.
TEST(WienerCovariance, ComesCloserThanWhatItIsMadeOf) {
  const PlantedCovariance planted(0.0);
  for (const double noise : {0.02, 0.2}) {
    const MatrixXd noisy = planted.truth + planted_noise(PlantedCovariance::kSize, noise, 11);
    const double error = (wiener_covariance(noisy, white(noise), planted.prior) - planted.truth).norm();
    EXPECT_LT(error, 0.9 * (noisy - planted.truth).norm()) << noise;
    EXPECT_LT(error, 0.8 * (planted.prior - planted.truth).norm()) << noise;
  }
}

/// With a direction of its own both come closer than either of what they are made of. Their mean errs about
/// as little as the better of them, whichever that is, and less where the noise is large. Each bound is 3 to
/// 10 % above what is there, and the worse of the two estimators (1.1 to 1.4 times the better) does not meet
/// it.
TEST(ClassCovariance, BothEstimatorsHelpAndTheMeanErrsNoMoreThanTheBetterOfThem) {
  const PlantedCovariance planted(6.0);
  const double guess = (planted.prior - planted.truth).norm();
  for (const double noise : {0.02, 0.1, 0.2}) {
    const MatrixXd noisy = planted.truth + planted_noise(PlantedCovariance::kSize, noise, 11);
    const double raw = (noisy - planted.truth).norm();
    const double edge = (edge_covariance(noisy, white(noise), planted.prior) - planted.truth).norm();
    const double wiener = (wiener_covariance(noisy, white(noise), planted.prior) - planted.truth).norm();
    const double mean = (class_covariance(noisy, white(noise), planted.prior) - planted.truth).norm();
    EXPECT_LT(edge, 0.93 * raw) << noise;
    EXPECT_LT(edge, 0.82 * guess) << noise;
    EXPECT_LT(wiener, 0.995 * raw) << noise;
    EXPECT_LT(wiener, 0.93 * guess) << noise;
    EXPECT_LT(mean, (noise > 0.1 ? 0.93 : 1.04) * std::min(edge, wiener)) << noise;
  }
}

TEST(ClassCovariance, Limits) {
  const PlantedMoments planted = plant(2, 20, 1000, 0.0, 6);
  const MatrixXd &own = planted.covariance[0], &shared = planted.covariance[1];
  EXPECT_LT((class_covariance(own, white(0.0), shared) - own).norm(), 1e-10);
  EXPECT_LT((class_covariance(own, white(1e-7), shared) - own).norm(), 1e-4);
  // Noise that outweighs everything: the shared covariance's shape and, but for chance, its trace.
  const MatrixXd drowned = class_covariance(own + planted_noise(20, 1e5, 6), white(1e5), shared);
  EXPECT_LT((drowned / drowned.trace() - shared / shared.trace()).norm(), 0.02);
  EXPECT_NEAR(drowned.trace(), shared.trace(), 0.02 * shared.trace());
}

TEST(SharedCovariance, ComesCloserThanTheNoisyOneAndTheSmoothPrior) {
  const VectorXd pitch = VectorXd::LinSpaced(80, 1.0, 5.0);
  const Spectrum spectrum{VectorXd::Ones(80), pitch, 60.0};
  const MatrixXd smooth = (4.0 * pitch.array().pow(-2.0)).matrix().asDiagonal();
  MatrixXd truth = smooth;
  VectorXd direction = VectorXd::Zero(80);
  for (Eigen::Index i = 0; i < 10; ++i) direction(i) = 1.5;
  truth += direction * direction.transpose();
  const MatrixXd noisy = truth + planted_noise(80, 0.3, 12);
  const double error = (shared_covariance(noisy, white(0.3), spectrum) - truth).norm();
  EXPECT_LT(error, 0.4 * (noisy - truth).norm());
  EXPECT_LT(error, 0.5 * (smooth - truth).norm());
}

/// Two kinds of classes: what is seen of three tells of the fourth.
TEST(ClassPriors, OfClassesThatAreAlikeComeCloserThanTheSharedOne) {
  constexpr std::size_t kClasses = 8;
  constexpr Eigen::Index kSize = 20;
  constexpr double kNoise = 0.03;
  const PlantedMoments kinds = plant(2, kSize, 1000, 0.0, 7);
  ConditionalMoments given;
  MatrixXd shared = MatrixXd::Zero(kSize, kSize);
  std::vector<MatrixXd> truth;
  for (std::size_t c = 0; c < kClasses; ++c) {
    truth.push_back(kinds.covariance[c % 2]);
    shared += truth[c] / kClasses;
    given.mean.push_back(VectorXd::Zero(kSize));
    given.mean_error.push_back(MatrixXd::Zero(kSize, kSize));
    given.second.push_back(truth[c] + planted_noise(kSize, kNoise, 70 + c));
    given.second_noise.push_back(kNoise);
  }
  const std::vector<MatrixXd> all(kClasses, shared);
  EXPECT_LT(distance(class_priors(given, shared), truth), 0.8 * distance(all, truth));
  // A class's own numbers say nothing of its prior: those of an empty class may be anything.
  const MatrixXd before = class_priors(given, shared)[3];
  given.second_noise[3] = 1e6;
  given.second[3] = planted_noise(kSize, 1e6, 80);
  EXPECT_LT((class_priors(given, shared)[3] - before).norm(), 0.35 * before.norm());
  given.mean.resize(5);
  const std::vector<MatrixXd> few = class_priors(given, shared);
  ASSERT_EQ(few.size(), 5U);
  for (const MatrixXd& prior : few) EXPECT_EQ(prior, shared) << "too few classes";
}

TEST(CredibleTrace, FollowsTheNoisyOneAsFarAsTheNoiseAllows) {
  const MatrixXd prior = MatrixXd::Identity(50, 50), noisy = 1.5 * prior;
  EXPECT_NEAR(credible_trace(noisy, white(1e-6), prior), 75.0, 1e-6);
  EXPECT_NEAR(credible_trace(noisy, white(1e6), prior), 50.0, 1e-6);
}

/// At each noise the means come closer than the noisy ones, and at least about as close as the centre of all,
/// which nobody knows; and they err as much as their stated variances say: neither too sure nor too unsure.
TEST(ConditionalMoments, MeansComeCloserThanTheNoisyOnesAndSayHowClose) {
  for (const auto& [classes, noise] :
       std::vector<std::pair<std::size_t, double>>{{6, 5}, {6, 40}, {6, 150}, {10, 5}, {10, 40}, {10, 150}}) {
    double raw = 0, got = 0, stated = 0, centre = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const PlantedMoments planted = plant(classes, 40, 1000, noise, seed);
      const ConditionalMoments given = conditional_moments(planted.moments, guess_for(planted));
      VectorXd all = VectorXd::Zero(40);
      for (const VectorXd& mean : planted.mean) all += mean / static_cast<double>(classes);
      for (std::size_t c = 0; c < classes; ++c) {
        const std::span<const double> sum = planted.moments.of_class(c);
        const VectorXd noisy = 2.0 / sum[0] * Eigen::Map<const VectorXd>(sum.data() + 1, 40);
        raw += (noisy - planted.mean[c]).squaredNorm();
        centre += (all - planted.mean[c]).squaredNorm();
        got += (given.mean[c] - planted.mean[c]).squaredNorm();
        stated += given.mean_error[c].trace();
      }
    }
    EXPECT_LT(got, 0.99 * raw) << noise;
    EXPECT_LT(got, 1.2 * centre) << noise;
    EXPECT_NEAR(stated / got, 1.0, 0.2) << noise;
  }
}

/// Where means are longer than c0 (2 here), blocks tell more of them than rows.
TEST(MeansOfRowsAndBlocks, ComeCloserThanThoseOfRowsAndSayHowClose) {
  for (const double noise : {5.0, 20.0}) {
    double before = 0, after = 0, stated = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const PlantedMoments planted = plant(6, 40, 1000, noise, seed);
      ConditionalMoments given = conditional_moments(planted.moments, guess_for(planted));
      MatrixXd shared = MatrixXd::Zero(40, 40);
      for (const MatrixXd& covariance : planted.covariance) shared += covariance / 6;
      for (std::size_t c = 0; c < 6; ++c) before += (given.mean[c] - planted.mean[c]).squaredNorm();
      means_of_rows_and_blocks(given, shared);
      for (std::size_t c = 0; c < 6; ++c) {
        after += (given.mean[c] - planted.mean[c]).squaredNorm();
        stated += given.mean_error[c].trace();
        EXPECT_EQ(given.mean_error[c], given.mean_error[c].transpose());
      }
    }
    EXPECT_LT(after, 0.8 * before) << noise;
    EXPECT_NEAR(stated / after, 1.0, 0.25) << noise;
  }
}

TEST(CovarianceNoise, IsWhatTakingAMeanOffAdds) {
  constexpr int kDraws = 4000;
  const CounterStream random(4, Stream::kTest, 5);
  VectorXd mean(3), variance(3);
  mean << 2.0, -1.0, 0.5;
  variance << 0.3, 0.2, 0.1;
  const MatrixXd basis = Eigen::SelfAdjointEigenSolver<MatrixXd>(planted_noise(3, 1.0, 7)).eigenvectors();
  const CovarianceNoise noise{0.1, {{0.5, mean, variance}}};
  MatrixXd squares = MatrixXd::Zero(3, 3);
  double traces = 0;
  for (int i = 0; i < kDraws; ++i) {
    VectorXd d(3);
    for (Eigen::Index j = 0; j < 3; ++j)
      d(j) = std::sqrt(variance(j)) * random.normal(static_cast<std::uint64_t>(3 * i + j));
    const MatrixXd added = 0.5 * (mean * d.transpose() + d * mean.transpose()) +
                           planted_noise(3, 0.1, 100 + static_cast<std::uint64_t>(i));
    const MatrixXd seen = basis.transpose() * added * basis;
    squares += seen.cwiseProduct(seen) / kDraws;
    traces += added.trace() * added.trace() / kDraws;
  }
  MatrixXd expected = noise.variances(basis);
  EXPECT_NEAR(traces / noise.variance_of_trace(3), 1.0, 0.1);
  // Beside the diagonal two products meet, which depend on each other where the basis mixes coordinates.
  for (Eigen::Index i = 0; i < 3; ++i) EXPECT_NEAR(squares(i, i) / (2 * expected(i, i)), 1.0, 0.1);
  const MatrixXd plain = noise.variances(MatrixXd::Identity(3, 3));
  EXPECT_NEAR(plain(0, 1), 0.01 + 0.25 * (4 * 0.2 + 1 * 0.3), 1e-12);
}

/// An eigenvalue that only the noise of a mean has made is removed; one across that mean stays.
TEST(CovarianceNoise, OfMeansIsNoDirectionOfRecords) {
  const VectorXd mean = 5 * VectorXd::Unit(40, 3);
  const CounterStream random(2, Stream::kTest, 6);
  VectorXd d(40);
  for (Eigen::Index j = 0; j < 40; ++j) d(j) = 0.5 * random.normal(static_cast<std::uint64_t>(j));
  d(3) = d(7) = 0;
  const CovarianceNoise noise{0.05, {{1.0, mean, VectorXd::Constant(40, 0.25)}}};
  const MatrixXd added = mean * d.transpose() + d * mean.transpose();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(added);
  EXPECT_NEAR(noise.along(solver.eigenvectors().rightCols(1))(0) / solver.eigenvalues()(39), 1.0, 0.3);
  MatrixXd truth = MatrixXd::Zero(40, 40);
  truth(7, 7) = 4;
  const MatrixXd prior = MatrixXd::Identity(40, 40) * 1e-3;
  const MatrixXd got = edge_covariance(truth + 0.8 * added, noise, prior);
  EXPECT_NEAR(got(7, 7), 4, 0.1);
  EXPECT_LT((got - truth).norm(), 0.5);
  EXPECT_GT((edge_covariance(truth + 0.8 * added, white(0.05), prior) - truth).norm(), 5)
      << "noise that nobody knows of stays";
}

TEST(PowerLaw, FindsTheExponentThroughNoise) {
  const VectorXd pitch = VectorXd::LinSpaced(100, 1.0, 4.0);
  const Spectrum spectrum{VectorXd::Ones(100), pitch, 100.0};
  VectorXd variances = 3.0 * pitch.array().pow(-2.0);
  const CounterStream random(1, Stream::kTest);
  for (Eigen::Index i = 0; i < 100; ++i) variances(i) += 0.05 * random.normal(static_cast<std::uint64_t>(i));
  const VectorXd got = power_law(variances, white(0.035), spectrum);
  EXPECT_NEAR(got(0), 3.0, 0.3);
  EXPECT_NEAR(got(99) / got(0), std::pow(4.0, -2.0), 0.03);
  EXPECT_GT(power_law(-variances, white(0.035), spectrum).minCoeff(), 0.0);
}

/// The spectrum of k x k coefficients of images.
Spectrum image_spectrum(Eigen::Index k) {
  Spectrum out{VectorXd::Ones(k * k), VectorXd(k * k), 50.0,
               VectorXd(k * k),       VectorXd(k * k), VectorXd(k * k)};
  for (Eigen::Index i = 0; i < k * k; ++i) {
    const auto row = static_cast<double>(i / k), column = static_cast<double>(i % k);
    out.pitch(i) = 1 + std::hypot(row, column);
    out.product(i) = (1 + row) * (1 + column);
    out.odd_rows(i) = static_cast<double>(i / k % 2);
    out.odd_columns(i) = static_cast<double>(i % k % 2);
  }
  return out;
}

/// Root mean square of the logarithms' differences, the scale apart.
double shape_error(const VectorXd& got, const VectorXd& truth) {
  const Eigen::ArrayXd off = got.array().log() - truth.array().log();
  return std::sqrt((off - off.mean()).square().mean());
}

TEST(PowerLaw, OfImagesFallsAlongTheAxesAndIsNearlySymmetric) {
  const Spectrum spectrum = image_spectrum(8);
  const VectorXd truth =
      4.0 * spectrum.product.array().pow(-2.0) *
      (std::log(0.1) * spectrum.odd_columns + std::log(0.5) * spectrum.odd_rows).array().exp();
  const CounterStream random(2, Stream::kTest);
  VectorXd noisy = truth;
  for (Eigen::Index i = 0; i < 64; ++i) noisy(i) += 0.02 * random.normal(static_cast<std::uint64_t>(i));
  Spectrum plain = spectrum;
  plain.product.resize(0);
  const CovarianceNoise noise = white(0.02 / std::sqrt(2.0));
  const VectorXd got = power_law(noisy, noise, spectrum);
  EXPECT_LT(shape_error(got, truth), 0.3);
  EXPECT_GT(shape_error(power_law(noisy, noise, plain), truth), 1.0);
  EXPECT_LT(got(1), 0.6 * got(2)) << "a wave that changes its sign in the mirror";
  EXPECT_LT(got(9), 0.5 * got(1)) << "neither along one axis nor the other";
}

/// What falls in all directions alike, and is not symmetric, is found as before; what noise hides is the
/// guess.
TEST(PowerLaw, OfImagesIsRoundWhereTheyAre) {
  const Spectrum spectrum = image_spectrum(8);
  const VectorXd truth = 4.0 * spectrum.pitch.array().pow(-3.0);
  EXPECT_LT(shape_error(power_law(truth, white(0.005), spectrum), truth), 0.1);
  const VectorXd guess = spectrum.law(features::AffineLift::kExponent);
  EXPECT_LT(shape_error(power_law(VectorXd::Zero(64), white(1e6), spectrum), guess), 1e-3);
}

TEST(UndoWeighting, GivesBackANormalLawThatWasWeighted) {
  // Records drawn from a normal law q stand for the weighted law; weighing them by r^2 undoes it.
  const double offset = 1.5;
  VectorXd mean(2);
  mean << 1.0, -0.5;
  MatrixXd factor(2, 2);
  factor << 1.0, 0.0, 0.6, 0.8;
  MatrixXd covariance = factor * factor.transpose();
  const CounterStream random(3, Stream::kTest);
  double total = 0;
  VectorXd first = VectorXd::Zero(2);
  MatrixXd second = MatrixXd::Zero(2, 2);
  for (std::uint64_t i = 0; i < 400'000; ++i) {
    VectorXd e(2);
    e << random.normal(2 * i), random.normal(2 * i + 1);
    const VectorXd u = mean + factor * e;
    const double weight = offset * offset + u.squaredNorm();
    total += weight;
    first += weight * u;
    second += weight * u * u.transpose();
  }
  first /= total;
  second = second / total - first * first.transpose();
  undo_weighting(offset, mean, covariance);
  EXPECT_LT((mean - first).norm(), 0.01);
  EXPECT_LT((covariance - second).norm(), 0.03);
}

}  // namespace
}  // namespace muffle::moments
