#include "muffle/moments/class_gaussians.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "resemblance.hpp"
#include "spectrum.hpp"

namespace muffle::moments {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Public guesses (docs/explanation/moments.md, "What was chosen by looking"). Spreads are standard deviations
// of logarithms: how far off a guess may be.

/// The sum of coefficients' mean squares.
constexpr double kEnergySpread = 1.5;
/// The law weighs as much as so many classes beside a coefficient's own mean square.
constexpr double kLawWeight = 30;
/// C[0, 0]: of all classes together about its guess, and of classes about their mean.
constexpr double kNormSpread = 0.5, kClassSpread = 0.35;
/// Variances about their power law, and their sum.
constexpr double kVarianceSpread = 0.5, kTotalSpread = 0.7;
/// t of wiener_covariance().
constexpr double kDeviation = 0.1, kDeviationSpread = 0.7;
/// Traces of covariances about their prior's.
constexpr double kTraceSpread = 0.3;
/// The least that edge_covariance() leaves to the directions that it removes, as a share of what the prior
/// has there: the noisy trace may leave nothing.
constexpr double kLeastRest = 0.2;
constexpr int kSteps = 30;
constexpr int kNewtonSteps = 2;

/// t for which numbers of variance t p_i p_j + noise_ij (on the diagonal twice that) are most plausible.
/// @param off  S - prior in the basis of the prior's eigenvectors
double deviation_scale(const MatrixXd& off, const VectorXd& p, const MatrixXd& noise) {
  const auto likelihood = [&](double t) {
    Likelihood out;
    for (Index j = 0; j < p.size(); ++j) {
      for (Index i = 0; i <= j; ++i) {
        const double signal = t * p(i) * p(j), variance = signal + noise(i, j), share = signal / variance;
        out.slope += 0.5 * share * (square(off(i, j)) / (i == j ? 2 : 1) / variance - 1);
        out.information += 0.5 * square(share);
      }
    }
    return out;
  };
  return std::min(1.0, most_plausible(kDeviation, kDeviationSpread, likelihood).value);
}

/// C[0, 0] of each class from noisy ones: drawn to their mean, and that to a guess. At least the noise, where
/// that is small, so that an empty class says nothing.
VectorXd norms_of(const VectorXd& noisy, double noise, double guess) {
  const double of_guess = square(kNormSpread * guess),
               of_mean = square(noise) / static_cast<double>(noisy.size());
  const double mean = std::max(guess + of_guess / (of_guess + of_mean) * (noisy.mean() - guess), 0.1 * guess);
  const double spread =
      std::max(square(kClassSpread * mean), (noisy.array() - mean).square().mean() - square(noise));
  const double share = spread / (spread + square(noise));
  const double least = std::clamp(noise, 1e-6 * mean, 0.1 * mean);
  return (mean + share * (noisy.array() - mean)).max(least);
}

struct Posterior {
  MatrixXd mean, variance, law;  ///< n x C; the last: the truth's mean squares
};

/// y (n x C) = truth + noise of variance noise_c. The truth's n mean squares are near a power law, and each
/// is fitted to its C numbers and that law.
Posterior shrunk(const MatrixXd& y, const VectorXd& noise, const Spectrum& spectrum) {
  const Index n = y.rows(), classes = y.cols();
  const VectorXd law = most_plausible_law(spectrum, kEnergySpread, [&](const Eigen::ArrayXd& v) {
    Likelihood out;
    for (Index c = 0; c < classes; ++c) {
      const Eigen::ArrayXd variance = v + noise(c), share = v / variance,
                           squares = y.col(c).array().square() / variance;
      out.value -= 0.5 * (variance.log() + squares).sum();
      out.slope += 0.5 * (share * (squares - 1)).sum();
      out.information += 0.5 * share.square().sum();
    }
    return out;
  });
  Posterior out{y, y, y};
  for (Index j = 0; j < n; ++j) {
    double v = law(j);
    for (int step = 0; step < kSteps; ++step) {
      double sum = kLawWeight * law(j);
      for (Index c = 0; c < classes; ++c) {
        const double share = v / (v + noise(c));
        sum += square(share * y(j, c)) + share * noise(c);
      }
      v = sum / (kLawWeight + static_cast<double>(classes));
    }
    for (Index c = 0; c < classes; ++c) {
      const double share = v / (v + noise(c));
      out.mean(j, c) = share * y(j, c);
      out.variance(j, c) = share * noise(c);
      out.law(j, c) = v;
    }
  }
  return out;
}

/// A class's noisy covariance: what the mean's own uncertainty adds to m m^T was never there.
MatrixXd centred(const ConditionalMoments& m, std::size_t c) {
  return m.second[c] - m.mean[c] * m.mean[c].transpose() - m.mean_error[c];
}

CovarianceNoise noise_of(const ConditionalMoments& m, std::size_t c) {
  return {m.second_noise[c], {{1.0, m.mean[c], m.mean_error[c].diagonal()}}};
}

/// The covariances' mean by weight, cleaned.
MatrixXd pooled_covariance(const ConditionalMoments& m, const Spectrum& spectrum,
                           const Heartbeat& heartbeat) {
  MatrixXd pooled = MatrixXd::Zero(m.mean[0].size(), m.mean[0].size());
  CovarianceNoise noise;
  for (std::size_t c = 0; c < m.mean.size(); ++c) {
    pooled += m.weight[c] * centred(m, c);
    noise.white = std::hypot(noise.white, m.weight[c] * m.second_noise[c]);
    noise.means.push_back({m.weight[c], m.mean[c], m.mean_error[c].diagonal()});
  }
  return shared_covariance(pooled, noise, spectrum, heartbeat);
}

/// Called before each diagonalisation, since one of a large matrix takes long.
Eigen::SelfAdjointEigenSolver<MatrixXd> diagonalised(const MatrixXd& symmetric, const Heartbeat& heartbeat) {
  beat(heartbeat);
  return Eigen::SelfAdjointEigenSolver<MatrixXd>(symmetric);
}

}  // namespace

ConditionalMoments conditional_moments(const release::NoisyMoments& moments, const Spectrum& spectrum) {
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto q = static_cast<Index>(moments.order), n = q - 1;
  const auto classes = static_cast<Index>(moments.classes);
  const double offset = moments.moments.offset, s = moments.noise_off_diagonal;
  MatrixXd rows(n, classes);
  VectorXd noisy(classes);
  std::vector<Eigen::Map<const Rows>> sums;
  for (Index c = 0; c < classes; ++c) {
    sums.emplace_back(moments.of_class(static_cast<std::size_t>(c)).data(), q, q);
    noisy(c) = sums.back()(0, 0);
    rows.col(c) = offset * sums.back().row(0).tail(n).transpose();
  }
  const double share = square(offset) / (square(offset) + spectrum.energy);
  const VectorXd norm =
      norms_of(noisy, moments.noise_diagonal, share * moments.records / static_cast<double>(classes));
  const double total = norm.sum(), noise = square(offset * s);

  // The centre of all classes, and where each lies beside it.
  const VectorXd centre = rows.rowwise().sum() / total;
  const Posterior all =
      shrunk(centre, VectorXd::Constant(1, static_cast<double>(classes) * noise / square(total)), spectrum);
  const MatrixXd beside = (rows * norm.cwiseInverse().asDiagonal()).colwise() - centre;
  const VectorXd noises = noise * norm.array().square().inverse() * (1 - norm.array() / total);
  Posterior own =
      classes == 1 ? Posterior{0 * beside, 0 * beside, 0 * beside} : shrunk(beside, noises, spectrum);
  // What a class is guessed to lie beside the centre, without its own numbers.
  ByClass guess{0 * beside, own.law};
  if (classes >= kFewestToResemble && noise > 0) {
    const NoisyByClass noisy_beside{beside, noises};
    const Resemblance law = most_plausible_resemblance(noisy_beside, own.law.col(0), 1.0);
    const ByClass known = given_all(noisy_beside, law);
    own.mean = known.mean;
    own.variance = known.variance;
    guess = given_others(noisy_beside, law);
  }

  ConditionalMoments out;
  for (Index c = 0; c < classes; ++c) {
    const auto& sum = sums[static_cast<std::size_t>(c)];
    out.row.push_back(rows.col(c) / norm(c));
    out.row_noise.push_back(noise / square(norm(c)));
    // Of one class the centre is its own row once more.
    out.guess.push_back(classes == 1 ? VectorXd::Zero(n) : VectorXd(all.mean + guess.mean.col(c)));
    out.guess_variance.push_back(classes == 1 ? VectorXd(all.law)
                                              : VectorXd(all.variance + guess.variance.col(c)));
    out.mean.push_back(all.mean + own.mean.col(c));
    out.mean_error.push_back((all.variance + own.variance.col(c)).asDiagonal());
    out.second.push_back(square(offset) / norm(c) * sum.bottomRightCorner(n, n));
    out.second_noise.push_back(square(offset) / norm(c) * s);
    out.weight.push_back(square(norm(c)) / norm.squaredNorm());
  }
  return out;
}

void means_of_rows_and_blocks(ConditionalMoments& given, const MatrixXd& shared, const Heartbeat& heartbeat) {
  if (!(shared.trace() > 0)) return;
  const auto n = static_cast<double>(shared.rows());
  const auto solver = diagonalised(shared, heartbeat);
  const MatrixXd& basis = solver.eigenvectors();
  const std::vector<MatrixXd> priors = class_priors(given, shared, heartbeat);
  for (std::size_t c = 0; c < given.mean.size(); ++c) {
    if (given.second_noise[c] == 0) continue;  // the row has the mean itself
    beat(heartbeat);
    // As in wiener_covariance(): the class's covariance is near its prior, off it by entries of variance t
    // p_i p_j.
    const CovarianceNoise noise = noise_of(given, c);
    const MatrixXd noisy = centred(given, c);
    VectorXd p = solver.eigenvalues().cwiseMax(1e-6 * shared.trace() / n);
    p *= credible_trace(noisy, noise, shared) / p.sum();
    MatrixXd off = basis.transpose() * noisy * basis;
    const MatrixXd expected = p.sum() / priors[c].trace() * (basis.transpose() * priors[c] * basis);
    off -= expected;
    const double t = deviation_scale(off, p, noise.variances(basis));
    const MatrixXd precision = (square(noise.white) + t * (p * p.transpose()).array()).inverse();

    const VectorXd guess = basis.transpose() * given.guess[c], row = basis.transpose() * given.row[c];
    const MatrixXd of_guess =
        basis.transpose() * (given.guess_variance[c].cwiseInverse().asDiagonal() * basis);
    const double of_row = 1 / given.row_noise[c];
    const MatrixXd block = basis.transpose() * given.second[c] * basis - expected;
    VectorXd m = basis.transpose() * given.mean[c];
    Eigen::LDLT<MatrixXd> information;
    for (int step = 0; step < kNewtonSteps; ++step) {
      MatrixXd sum = of_guess + (m * m.transpose()).cwiseProduct(precision);
      sum.diagonal() += precision * m.cwiseAbs2();
      sum.diagonal().array() += of_row;
      information.compute(sum);
      m += information.solve(of_guess * (guess - m) + of_row * (row - m) +
                             (block - m * m.transpose()).cwiseProduct(precision) * m);
    }
    given.mean[c] = basis * m;
    const MatrixXd error = basis * information.solve(basis.transpose());
    given.mean_error[c] = 0.5 * (error + error.transpose());
  }
}

MatrixXd CovarianceNoise::variances(const MatrixXd& basis) const {
  MatrixXd out = MatrixXd::Constant(basis.cols(), basis.cols(), square(white));
  const MatrixXd squares = basis.array().square();
  for (const Mean& m : means) {
    const VectorXd along = (basis.transpose() * m.mean).array().square(),
                   variance = squares.transpose() * m.variance;
    out += square(m.weight) * (along * variance.transpose() + variance * along.transpose());
  }
  return out;
}

double CovarianceNoise::variance_of_trace(Index n) const {
  double variance = 2 * square(white) * static_cast<double>(n);
  for (const Mean& m : means)
    variance += 4 * square(m.weight) * (m.mean.array().square() * m.variance.array()).sum();
  return variance;
}

VectorXd CovarianceNoise::along(const MatrixXd& directions) const {
  VectorXd squares = VectorXd::Zero(directions.cols());
  for (const Mean& m : means) {
    squares.array() +=
        2 * square(m.weight) * m.variance.sum() * (directions.transpose() * m.mean).array().square();
  }
  return squares.cwiseSqrt();
}

MatrixXd nearest_psd(const MatrixXd& symmetric, const Heartbeat& heartbeat) {
  const auto solver = diagonalised(symmetric, heartbeat);
  const auto& v = solver.eigenvectors();
  return v * solver.eigenvalues().cwiseMax(0.0).asDiagonal() * v.transpose();
}

double credible_trace(const MatrixXd& noisy, const CovarianceNoise& noise, const MatrixXd& prior) {
  const double guess = prior.trace(), spread = square(kTraceSpread * guess);
  if (!(spread > 0)) return noisy.trace();
  const double share = spread / (spread + noise.variance_of_trace(noisy.rows()));
  return guess + share * (std::max(0.0, noisy.trace()) - guess);
}

MatrixXd edge_covariance(const MatrixXd& noisy, const CovarianceNoise& noise, const MatrixXd& prior,
                         const Heartbeat& heartbeat) {
  if (noise.white == 0) return nearest_psd(noisy, heartbeat);
  const auto solver = diagonalised(noisy, heartbeat);
  const auto n = static_cast<double>(noisy.rows());
  const double edge = 2 * noise.white * std::sqrt(n);
  // The largest eigenvalue of noise alone fluctuates by edge / 2 n^(-2/3) (Tracy and Widom): twice that.
  const double certain = edge * (1 + std::pow(n, -2.0 / 3.0));
  const VectorXd& y = solver.eigenvalues();
  const VectorXd of_means = noise.along(solver.eigenvectors());
  std::vector<Index> above, below;
  for (Index i = 0; i < y.size(); ++i) (y(i) > std::hypot(certain, of_means(i)) ? above : below).push_back(i);
  const VectorXd debiased = 0.5 * (y(above).array() + (y(above).array().square() - edge * edge).sqrt());
  const MatrixXd signal = solver.eigenvectors()(Eigen::all, above);
  const MatrixXd lost = solver.eigenvectors()(Eigen::all, below);
  const MatrixXd inside = lost.transpose() * prior * lost;
  MatrixXd out = signal * debiased.asDiagonal() * signal.transpose();
  if (const double there = inside.trace(); there > 0) {
    const double share = std::max((credible_trace(noisy, noise, prior) - debiased.sum()) / there, kLeastRest);
    out += share * lost * inside * lost.transpose();
  }
  return out;
}

MatrixXd wiener_covariance(const MatrixXd& noisy, const CovarianceNoise& noise, const MatrixXd& prior,
                           const Heartbeat& heartbeat) {
  if (noise.white == 0) return nearest_psd(noisy, heartbeat);
  if (!(prior.trace() > 0)) return prior;
  const auto solver = diagonalised(prior, heartbeat);
  const MatrixXd& basis = solver.eigenvectors();
  // Directions of which the prior knows nothing would otherwise keep nothing.
  VectorXd p = solver.eigenvalues().cwiseMax(1e-6 * prior.trace() / static_cast<double>(prior.rows()));
  p *= credible_trace(noisy, noise, prior) / p.sum();
  MatrixXd off = basis.transpose() * noisy * basis;
  off.diagonal() -= p;
  const MatrixXd variances = noise.variances(basis);
  const double t = deviation_scale(off, p, variances);
  const MatrixXd signal = t * p * p.transpose();
  off.array() *= signal.array() / (signal + variances).array();
  off.diagonal() += p;
  const MatrixXd out = nearest_psd(basis * off * basis.transpose(), heartbeat);
  // Negative eigenvalues that became 0 had lowered the trace.
  return off.trace() > 0 ? off.trace() / out.trace() * out : out;
}

MatrixXd shared_covariance(const MatrixXd& noisy, const CovarianceNoise& noise, const Spectrum& spectrum,
                           const Heartbeat& heartbeat) {
  const MatrixXd smooth = power_law(noisy.diagonal(), noise, spectrum).asDiagonal();
  return edge_covariance(noisy, noise, wiener_covariance(noisy, noise, smooth, heartbeat), heartbeat);
}

MatrixXd class_covariance(const MatrixXd& noisy, const CovarianceNoise& noise, const MatrixXd& prior,
                          const Heartbeat& heartbeat) {
  return 0.5 * (edge_covariance(noisy, noise, prior, heartbeat) +
                wiener_covariance(noisy, noise, prior, heartbeat));
}

VectorXd power_law(const VectorXd& variances, const CovarianceNoise& noise, const Spectrum& spectrum) {
  return most_plausible_law(spectrum, kTotalSpread, [&](const Eigen::ArrayXd& law) {
    const Eigen::ArrayXd variance = square(kVarianceSpread) * law.square() + 2 * square(noise.white),
                         off = variances.array() - law;
    return Likelihood{-0.5 * (variance.log() + off.square() / variance).sum(), (law * off / variance).sum(),
                      (law.square() / variance).sum()};
  });
}

void undo_weighting(double offset, VectorXd& mean, MatrixXd& covariance) {
  const double norm = offset * offset + mean.squaredNorm() + covariance.trace();
  const VectorXd pull = covariance * mean;
  covariance += 2 / norm * (covariance * covariance) - 4 / (norm * norm) * (pull * pull.transpose());
  mean += 2 / norm * pull;
}

std::vector<MatrixXd> class_priors(const ConditionalMoments& given, const MatrixXd& shared,
                                   const Heartbeat& heartbeat) {
  const auto classes = static_cast<Index>(given.mean.size());
  if (classes < kFewestToResemble || given.second_noise[0] == 0 || !(shared.trace() > 0))
    return std::vector<MatrixXd>(given.mean.size(), shared);
  const auto solver = diagonalised(shared, heartbeat);
  const MatrixXd& basis = solver.eigenvectors();
  const Index n = shared.rows();
  const VectorXd p = solver.eigenvalues().cwiseMax(1e-6 * shared.trace() / static_cast<double>(n));
  // An entry a row; those on the diagonal by sqrt(2) smaller, for their noise and their law are larger by it.
  NoisyByClass entries{MatrixXd(n * (n + 1) / 2, classes), VectorXd(classes)};
  VectorXd scale(entries.numbers.rows());
  for (Index j = 0, row = 0; j < n; row += ++j) scale.segment(row, j + 1) = p(j) * p.head(j + 1);
  double deviation = 0;
  for (Index c = 0; c < classes; ++c) {
    const auto of = static_cast<std::size_t>(c);
    const CovarianceNoise noise = noise_of(given, of);
    const MatrixXd noisy = centred(given, of);
    const double size = credible_trace(noisy, noise, shared) / p.sum();
    MatrixXd off = basis.transpose() * noisy * basis / size;
    off.diagonal() -= p;
    const MatrixXd variances = noise.variances(basis) / square(size);
    deviation += deviation_scale(off, p, variances) / static_cast<double>(classes);
    entries.noise(c) = (1 - 1 / static_cast<double>(classes)) * variances.mean();
    off.diagonal() /= std::sqrt(2.0);
    for (Index j = 0, row = 0; j < n; row += ++j)
      entries.numbers.col(c).segment(row, j + 1) = off.col(j).head(j + 1);
  }
  entries.numbers = given_others(entries, most_plausible_resemblance(entries, scale, deviation)).mean;
  std::vector<MatrixXd> out;
  for (Index c = 0; c < classes; ++c) {
    MatrixXd off(n, n);
    for (Index j = 0, row = 0; j < n; row += ++j)
      off.col(j).head(j + 1) = entries.numbers.col(c).segment(row, j + 1);
    off.diagonal() = std::sqrt(2.0) * off.diagonal() + p;
    off = off.selfadjointView<Eigen::Upper>();
    const MatrixXd prior = nearest_psd(basis * off * basis.transpose(), heartbeat);
    out.push_back(p.sum() / prior.trace() * prior);
  }
  return out;
}

ClassGaussians fit_class_gaussians(const release::NoisyMoments& moments, const Heartbeat& heartbeat,
                                   const CovarianceEstimator& estimate) {
  const features::Lift& lift = *moments.moments.lift;
  const Spectrum spectrum = spectrum_of(*lift.affine());
  ConditionalMoments given = conditional_moments(moments, spectrum);
  MatrixXd shared = pooled_covariance(given, spectrum, heartbeat);
  // Once: what is shared was estimated from the same blocks, and more turns would take its errors for
  // evidence.
  means_of_rows_and_blocks(given, shared, heartbeat);
  shared = pooled_covariance(given, spectrum, heartbeat);
  const std::vector<MatrixXd> priors = class_priors(given, shared, heartbeat);
  ClassGaussians out;
  out.mean = given.mean;
  for (std::size_t c = 0; c < moments.classes; ++c) {
    // A mean that is not known is one more reason for records to differ.
    out.covariance.push_back(estimate(centred(given, c), noise_of(given, c), priors[c], heartbeat) +
                             given.mean_error[c]);
    if (!lift.is_nearly_normal()) continue;
    undo_weighting(moments.moments.offset, out.mean[c], out.covariance[c]);
    out.covariance[c] = nearest_psd(out.covariance[c], heartbeat);
  }
  return out;
}

}  // namespace muffle::moments
