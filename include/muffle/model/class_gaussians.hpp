#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/release/noisy_moments.hpp"

namespace muffle::model {

/// A normal law of the coefficients u per class (docs/explanation/moments.md). Public: post-processing.
struct ClassGaussians {
  std::vector<Eigen::VectorXd> mean;        ///< C of n
  std::vector<Eigen::MatrixXd> covariance;  ///< C of n x n, symmetric, no eigenvalue below 0 but for rounding
};

/// Step 3, for each class: the mean of edge_covariance() and wiener_covariance(), the shared covariance being
/// the prior: their errors differ, so that the mean errs less than either.
Eigen::MatrixXd class_covariance(const Eigen::MatrixXd& noisy, double noise, const Eigen::MatrixXd& shared,
                                 const Heartbeat& heartbeat = {});
/// A function such as class_covariance().
using CovarianceEstimator = std::function<Eigen::MatrixXd(
    const Eigen::MatrixXd& noisy, double noise, const Eigen::MatrixXd& shared, const Heartbeat& heartbeat)>;

/// The closed form, from the release's moments to the laws; the steps below in their order. Each step weighs
/// what it keeps by the noise's known size, the number of records and the moments themselves: no scores, no
/// settings. A class that the noise hides gets the law that all classes share. Without noise: the exact
/// moments (of images, were they normal). Each class takes three diagonalisations of n x n, images four, and
/// what they share three.
/// @throws DataError  no class has moments above the noise.
/// @param estimate  step 3, called once a class, in their order: what the step is worth is measured with
/// others (tests/bench/moments_ablation.cpp)
ClassGaussians fit_class_gaussians(const release::NoisyMoments& moments, const Heartbeat& heartbeat = {},
                                   const CovarianceEstimator& estimate = class_covariance);

// The steps, each a pure function.

/// Moments of u, and their noise, under the law that weighs a record by 1 / ||[c0; u]||^2, as z z^T does.
struct ConditionalMoments {
  std::vector<Eigen::VectorXd> mean;    ///< C of n
  std::vector<Eigen::MatrixXd> second;  ///< C of n x n: E[u u^T], not centred
  std::vector<double> mean_noise;       ///< C: standard deviation of each number of a mean
  std::vector<double> second_noise;     ///< C: of a number beside the diagonal; sqrt(2) times that on it
  std::vector<double> weight;           ///< C, sums to 1: how much a class says about all, by its noise
};

/// Step 1: mean = c0 C[0, 1:] / C[0, 0] and second = c0^2 C[1:, 1:] / C[0, 0]. A class whose C[0, 0] is not 4
/// deviations of its noise above 0 says nothing: its moments are 0, their noise is infinite, its weight 0.
ConditionalMoments conditional_moments(const release::NoisyMoments& moments);

// Steps 2 and 3 estimate a covariance S from S + noise and a guess of S, the `prior`, positive semi-definite.
// `noise` is the standard deviation of a number beside the diagonal, sqrt(2) times that on it: a law that no
// rotation changes. 0 gives the noisy matrix back, infinity the prior. Both results are semi-definite.

/// The trace that both give their result: noise hardly moves it, so it is the noisy matrix's, drawn towards
/// the prior's by the noise that it has nevertheless.
double credible_trace(const Eigen::MatrixXd& noisy, double noise, const Eigen::MatrixXd& prior);

/// By spectrum: eigenvalues y below the noise's edge e = 2 noise sqrt(n) are removed and the others debiased
/// to (y + sqrt(y^2 - e^2)) / 2; what they leave of the trace goes to the other directions in the prior's
/// proportions, at least kLeastRest of the prior.
Eigen::MatrixXd edge_covariance(const Eigen::MatrixXd& noisy, double noise, const Eigen::MatrixXd& prior,
                                const Heartbeat& heartbeat = {});

/// Entry by entry, in the basis of the prior's eigenvectors (eigenvalues p): S - prior has the variance t p_i
/// p_j (twice that on the diagonal), and is multiplied by t p_i p_j / (t p_i p_j + noise^2); t is estimated.
Eigen::MatrixXd wiener_covariance(const Eigen::MatrixXd& noisy, double noise, const Eigen::MatrixXd& prior,
                                  const Heartbeat& heartbeat = {});

/// Step 2: the covariance that all classes share, from its noisy estimate: wiener_covariance() with the
/// diagonal prior of power_law(), which is the prior of edge_covariance().
Eigen::MatrixXd shared_covariance(const Eigen::MatrixXd& noisy, double noise, const Eigen::VectorXd& weights,
                                  const Heartbeat& heartbeat = {});

/// The coefficients' variances as a power of the lift's weights, a weight_i^-b, as fits best. Positive.
Eigen::VectorXd power_law(const Eigen::VectorXd& variances, const Eigen::VectorXd& weights);

/// Step 4: class means drawn to their weighted mean by James and Stein: max(0, 1 - (n - 2) noise^2 / d^2).
std::vector<Eigen::VectorXd> shrunk_means(const ConditionalMoments& moments);

/// Step 5, images alone, whose coefficients are sums over many pixels and so nearly normal (the columns of
/// plain vectors may be anything, and ||u|| of 0-1 columns never varies): mean and covariance of the records
/// themselves, from those under the law that weighs them by 1 / (c0^2 + ||u||^2), were that law normal: with
/// R = c0^2 + |m|^2 + tr S, m' = m + 2 S m / R,  S' = S + 2 S^2 / R - 4 S m m^T S / R^2. For normal laws.
void undo_weighting(double offset, Eigen::VectorXd& mean, Eigen::MatrixXd& covariance);

/// The nearest positive semi-definite matrix (Frobenius): negative eigenvalues become 0.
Eigen::MatrixXd nearest_psd(const Eigen::MatrixXd& symmetric, const Heartbeat& heartbeat = {});

}  // namespace muffle::model
