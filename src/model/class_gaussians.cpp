#include "muffle/model/class_gaussians.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "muffle/core/error.hpp"

namespace muffle::model {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// A class whose C[0, 0] is not this many standard deviations of its noise above 0 is hidden by it.
constexpr double kLeastSignal = 4.0;
/// The least that edge_covariance() leaves to the directions that it removes, as a share of what the prior
/// has there: the noisy trace may leave nothing.
constexpr double kLeastRest = 0.2;
/// Standard deviation of the logarithm, about, by which traces of covariances differ from their prior's.
constexpr double kTraceSpread = 0.3;
constexpr int kFixedPointSteps = 30;

/// The scale t > 0 for which entries of variance t p_i p_j + noise^2 (both twice on the diagonal) are most
/// plausible, by Fisher scoring. @param off  S - prior in the basis of the prior's eigenvectors.
double deviation_scale(const MatrixXd& off, const VectorXd& p, double noise) {
  double t = 0.1;
  for (int step = 0; step < kFixedPointSteps; ++step) {
    double top = 0, bottom = 0;
    for (Eigen::Index j = 0; j < p.size(); ++j) {
      for (Eigen::Index i = 0; i <= j; ++i) {
        const double product = p(i) * p(j), variance = t * product + noise * noise;
        const double weight = product / (variance * variance);
        top += weight * (off(i, j) * off(i, j) / (i == j ? 2 : 1) - noise * noise);
        bottom += weight * product;
      }
    }
    if (!(bottom > 0)) return 0.0;
    t = std::clamp(top / bottom, 1e-9, 1.0);  // |S_ij| <= sqrt(S_ii S_jj)
  }
  return t;
}

/// A class's noisy covariance: m m^T is too large by the noise of m.
MatrixXd centred(const ConditionalMoments& m, std::size_t c) {
  MatrixXd out = m.second[c] - m.mean[c] * m.mean[c].transpose();
  if (m.weight[c] > 0) out.diagonal().array() += m.mean_noise[c] * m.mean_noise[c];
  return out;
}

MatrixXd pooled_covariance(const ConditionalMoments& m) {
  const Eigen::Index n = m.mean.front().size();
  MatrixXd pooled = MatrixXd::Zero(n, n);
  for (std::size_t c = 0; c < m.mean.size(); ++c) pooled += m.weight[c] * centred(m, c);
  return pooled;
}

/// Called before each diagonalisation, since one of a large matrix takes long.
Eigen::SelfAdjointEigenSolver<MatrixXd> diagonalised(const MatrixXd& symmetric, const Heartbeat& heartbeat) {
  beat(heartbeat);
  return Eigen::SelfAdjointEigenSolver<MatrixXd>(symmetric);
}

double pooled_noise(const ConditionalMoments& m) {
  double squares = 0;
  for (std::size_t c = 0; c < m.weight.size(); ++c) {
    if (m.weight[c] > 0) squares += std::pow(m.weight[c] * m.second_noise[c], 2);
  }
  return std::sqrt(squares);
}

}  // namespace

ConditionalMoments conditional_moments(const release::NoisyMoments& moments) {
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto q = static_cast<Eigen::Index>(moments.order), n = q - 1;
  const double offset = moments.moments.offset;
  ConditionalMoments out;
  double weights = 0;
  for (std::size_t c = 0; c < moments.classes; ++c) {
    const Eigen::Map<const Rows> sum(moments.of_class(c).data(), q, q);
    const double norm = sum(0, 0);
    if (!(norm > 0 && norm > kLeastSignal * moments.noise_diagonal)) {
      out.mean.push_back(VectorXd::Zero(n));
      out.second.push_back(MatrixXd::Zero(n, n));
      out.mean_noise.push_back(std::numeric_limits<double>::infinity());
      out.second_noise.push_back(std::numeric_limits<double>::infinity());
      out.weight.push_back(0);
      continue;
    }
    out.mean.push_back(offset / norm * sum.row(0).tail(n).transpose());
    out.second.push_back(offset * offset / norm * sum.bottomRightCorner(n, n));
    out.mean_noise.push_back(offset / norm * moments.noise_off_diagonal);
    out.second_noise.push_back(offset * offset / norm * moments.noise_off_diagonal);
    out.weight.push_back(norm * norm);
    weights += out.weight.back();
  }
  if (!(weights > 0)) {
    throw DataError(
        "no class's second moments are above the noise, so there is nothing to draw records from. Release "
        "with a larger epsilon, or from more records.");
  }
  for (double& w : out.weight) w /= weights;
  return out;
}

MatrixXd nearest_psd(const MatrixXd& symmetric, const Heartbeat& heartbeat) {
  const auto solver = diagonalised(symmetric, heartbeat);
  const auto& v = solver.eigenvectors();
  return v * solver.eigenvalues().cwiseMax(0.0).asDiagonal() * v.transpose();
}

double credible_trace(const MatrixXd& noisy, double noise, const MatrixXd& prior) {
  const double guess = prior.trace(), variance = 2 * noise * noise * static_cast<double>(noisy.rows());
  const double spread = kTraceSpread * guess * kTraceSpread * guess;
  if (!(spread > 0)) return noisy.trace();
  const double weight = std::isinf(variance) ? 0.0 : spread / (spread + variance);
  return guess + weight * (std::max(0.0, noisy.trace()) - guess);
}

MatrixXd edge_covariance(const MatrixXd& noisy, double noise, const MatrixXd& prior,
                         const Heartbeat& heartbeat) {
  if (noise == 0) return nearest_psd(noisy, heartbeat);
  if (std::isinf(noise)) return prior;
  const auto solver = diagonalised(noisy, heartbeat);
  const auto n = static_cast<double>(noisy.rows());
  const double edge = 2 * noise * std::sqrt(n);
  // The largest eigenvalue of noise alone fluctuates by edge / 2 n^(-2/3) (Tracy and Widom): twice that.
  const double certain = edge * (1 + std::pow(n, -2.0 / 3.0));
  const VectorXd& y = solver.eigenvalues();  // ascending
  Eigen::Index kept = 0;
  while (kept < y.size() && y(y.size() - 1 - kept) > certain) ++kept;
  const VectorXd above = y.tail(kept);
  const VectorXd debiased = 0.5 * (above.array() + (above.array().square() - edge * edge).sqrt());
  const MatrixXd signal = solver.eigenvectors().rightCols(kept);
  const MatrixXd lost = solver.eigenvectors().leftCols(y.size() - kept);
  const MatrixXd inside = lost.transpose() * prior * lost;
  MatrixXd out = signal * debiased.asDiagonal() * signal.transpose();
  if (const double there = inside.trace(); there > 0) {
    const double share = std::max((credible_trace(noisy, noise, prior) - debiased.sum()) / there, kLeastRest);
    out += share * lost * inside * lost.transpose();
  }
  return out;
}

MatrixXd wiener_covariance(const MatrixXd& noisy, double noise, const MatrixXd& prior,
                           const Heartbeat& heartbeat) {
  if (noise == 0) return nearest_psd(noisy, heartbeat);
  if (std::isinf(noise) || !(prior.trace() > 0)) return prior;
  const auto solver = diagonalised(prior, heartbeat);
  const MatrixXd& basis = solver.eigenvectors();
  // Directions of which the prior knows nothing would otherwise keep nothing.
  VectorXd p = solver.eigenvalues().cwiseMax(1e-6 * prior.trace() / static_cast<double>(prior.rows()));
  p *= credible_trace(noisy, noise, prior) / p.sum();
  MatrixXd off = basis.transpose() * noisy * basis;
  off.diagonal() -= p;
  const double t = deviation_scale(off, p, noise);
  for (Eigen::Index j = 0; j < p.size(); ++j) {
    for (Eigen::Index i = 0; i < p.size(); ++i) {
      const double signal = t * p(i) * p(j);
      off(i, j) *= signal / (signal + noise * noise);
    }
  }
  off.diagonal() += p;
  return nearest_psd(basis * off * basis.transpose(), heartbeat);
}

MatrixXd shared_covariance(const MatrixXd& noisy, double noise, const VectorXd& weights,
                           const Heartbeat& heartbeat) {
  const MatrixXd smooth = power_law(noisy.diagonal(), weights).asDiagonal();
  return edge_covariance(noisy, noise, wiener_covariance(noisy, noise, smooth, heartbeat), heartbeat);
}

MatrixXd class_covariance(const MatrixXd& noisy, double noise, const MatrixXd& shared,
                          const Heartbeat& heartbeat) {
  return 0.5 * (edge_covariance(noisy, noise, shared, heartbeat) +
                wiener_covariance(noisy, noise, shared, heartbeat));
}

VectorXd power_law(const VectorXd& variances, const VectorXd& weights) {
  constexpr int kExponents = 81;
  constexpr double kStep = 0.1;  // of the exponent
  VectorXd best;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kExponents; ++i) {
    const VectorXd law = weights.array().pow(-kStep * i);
    const double scale = law.dot(variances) / law.squaredNorm();
    const double off = (variances - scale * law).squaredNorm();
    if (scale > 0 && off < least) {
      least = off;
      best = scale * law;
    }
  }
  // The noise may have left nothing positive: then there is no scale either, and the shape alone counts.
  return best.size() > 0 ? best : VectorXd::Ones(variances.size());
}

std::vector<VectorXd> shrunk_means(const ConditionalMoments& moments) {
  const std::size_t classes = moments.mean.size();
  const Eigen::Index n = moments.mean.front().size();
  if (classes == 1) return moments.mean;
  VectorXd centre = VectorXd::Zero(n);
  for (std::size_t c = 0; c < classes; ++c) centre += moments.weight[c] * moments.mean[c];
  std::vector<VectorXd> out;
  for (std::size_t c = 0; c < classes; ++c) {
    // The centre follows the mean by the class's weight: so much less noise is in their distance.
    const double noise = moments.mean_noise[c] * moments.mean_noise[c] * (1 - moments.weight[c]);
    const double degrees = std::max(0.0, static_cast<double>(n) - 2);
    const VectorXd off = moments.mean[c] - centre;
    // A class that is alone above the noise is the centre: it has neither distance nor noise.
    const double distance = off.squaredNorm();
    const double factor = std::isinf(noise) || !(distance > 0) ? 0.0 : 1 - degrees * noise / distance;
    out.push_back(centre + std::clamp(factor, 0.0, 1.0) * off);
  }
  return out;
}

void undo_weighting(double offset, VectorXd& mean, MatrixXd& covariance) {
  const double norm = offset * offset + mean.squaredNorm() + covariance.trace();
  const VectorXd pull = covariance * mean;
  covariance += 2 / norm * (covariance * covariance) - 4 / (norm * norm) * (pull * pull.transpose());
  mean += 2 / norm * pull;
}

ClassGaussians fit_class_gaussians(const release::NoisyMoments& moments, const Heartbeat& heartbeat,
                                   const CovarianceEstimator& estimate) {
  const features::Lift& lift = *moments.moments.lift;
  const ConditionalMoments given = conditional_moments(moments);
  const auto n = static_cast<Eigen::Index>(moments.order) - 1;
  VectorXd weights = VectorXd::Ones(n);
  if (const auto* affine = lift.affine()) weights = Eigen::Map<const VectorXd>(affine->weights.data(), n);

  const MatrixXd shared =
      shared_covariance(pooled_covariance(given), pooled_noise(given), weights, heartbeat);
  ClassGaussians out;
  out.mean = shrunk_means(given);
  for (std::size_t c = 0; c < moments.classes; ++c) {
    out.covariance.push_back(estimate(centred(given, c), given.second_noise[c], shared, heartbeat));
    if (!lift.is_nearly_normal()) continue;
    undo_weighting(moments.moments.offset, out.mean[c], out.covariance[c]);
    out.covariance[c] = nearest_psd(out.covariance[c], heartbeat);
  }
  return out;
}

}  // namespace muffle::model
