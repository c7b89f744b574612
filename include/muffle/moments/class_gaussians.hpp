#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/release/noisy_moments.hpp"

namespace muffle::moments {

/// A normal law of the coefficients u per class (docs/explanation/moments.md). Public: post-processing.
struct ClassGaussians {
  std::vector<Eigen::VectorXd> mean;        ///< C of n
  std::vector<Eigen::MatrixXd> covariance;  ///< C of n x n, symmetric, no eigenvalue below 0 but for rounding
};

/// What is guessed of the coefficients of any records: mean squares that fall as a power of the frequency.
struct Spectrum {
  Eigen::VectorXd gain, pitch;  ///< n: squares of the lift's weights; 1 + |frequency|
  double energy = 0;            ///< of u, the sum of the mean squares
  /// Of images, n, else empty: (1 + row frequency) (1 + column frequency); 1 where a frequency is odd, whose
  /// wave changes its sign when the image is mirrored, else 0.
  Eigen::VectorXd product = {}, odd_rows = {}, odd_columns = {};

  /// gain pitch^-exponent, so that it adds up to `energy`.
  Eigen::VectorXd law(double exponent) const;
};
Spectrum spectrum_of(const features::AffineLift& lift);

/// The noise of a covariance: `white` in a number beside the diagonal, sqrt(2) times that on it, in every
/// orthonormal basis; and weight (m d^T + d m^T) of each mean m that was taken off, d its own noise.
struct CovarianceNoise {
  struct Mean {
    double weight;
    Eigen::VectorXd mean, variance;  ///< n
  };
  double white = 0;
  std::vector<Mean> means;

  /// n x n: the variance of a number beside the diagonal, half of that on it. @param basis  orthonormal
  Eigen::MatrixXd variances(const Eigen::MatrixXd& basis) const;
  double variance_of_trace(Eigen::Index n) const;
  /// For each direction v, how large an eigenvalue the means' noise alone has, were v its eigenvector:
  /// sqrt(2) |v^T m| |d|, which is |m| |d| for v halfway between m and d.
  Eigen::VectorXd along(const Eigen::MatrixXd& directions) const;
};

/// Step 4, for each class: the mean of edge_covariance() and wiener_covariance(): their errors differ, so
/// that the mean errs less than either. @param prior  the class's of class_priors()
Eigen::MatrixXd class_covariance(const Eigen::MatrixXd& noisy, const CovarianceNoise& noise,
                                 const Eigen::MatrixXd& prior, const Heartbeat& heartbeat = {});
/// A function such as class_covariance().
using CovarianceEstimator =
    std::function<Eigen::MatrixXd(const Eigen::MatrixXd& noisy, const CovarianceNoise& noise,
                                  const Eigen::MatrixXd& prior, const Heartbeat& heartbeat)>;

/// The closed form, from the release's moments to the laws; the steps below in their order. Each step weighs
/// what it keeps by the noise's known size, the number of records and the moments themselves: no scores, no
/// settings. What noise hides of a class is what its likes and all classes have, what it hides of that a
/// public guess. Without noise: the exact moments (of images, were they normal). Step 2 is done again after
/// step 3. Each class takes five diagonalisations of n x n, images six, and what they share nine. Needs an
/// affine lift.
/// @param estimate  step 4, called once a class, in their order: what the step is worth is measured with
/// others (tests/bench/moments_ablation.cpp)
ClassGaussians fit_class_gaussians(const release::NoisyMoments& moments, const Heartbeat& heartbeat = {},
                                   const CovarianceEstimator& estimate = class_covariance);

// The steps, each a pure function.

/// Moments of u, and their noise, under the law that weighs a record by 1 / ||[c0; u]||^2, as z z^T does.
/// Each vector has C.
struct ConditionalMoments {
  std::vector<Eigen::VectorXd> row;                    ///< n: E[u], noisy
  std::vector<double> row_noise;                       ///< variance in each number of the row
  std::vector<Eigen::VectorXd> guess, guess_variance;  ///< n: of the mean, without the class's own numbers
  std::vector<Eigen::VectorXd> mean;                   ///< n: what is believed of it,
  std::vector<Eigen::MatrixXd> mean_error;             ///< n x n: and the covariance of its error
  std::vector<Eigen::MatrixXd> second;                 ///< n x n: E[u u^T], not centred, noisy
  std::vector<double> second_noise;                    ///< CovarianceNoise::white
  std::vector<double> weight;  ///< sums to 1: how much a class says about all, by its noise
};

/// Step 1: second = c0^2 C[1:, 1:] / C[0, 0], and means c0 C[0, 1:] / C[0, 0] by empirical Bayes: the centre
/// of all classes, and a class's distance to it, each coefficient's mean square near a power law whose scale
/// and exponent are fitted; what other classes' distances say of a class's is its guess (eight classes or
/// more). C[0, 0] itself is drawn to the classes' mean, and that to a guess from m.
ConditionalMoments conditional_moments(const release::NoisyMoments& moments, const Spectrum& spectrum);

/// Step 3: means once more, from the row and from the block, where m m^T stands beside the covariance: its
/// entries tell of m with noise second_noise / |m|, less than the row's where |m| is above c0. Newton's
/// method for the most plausible m, the class's covariance being near its prior (class_priors()) as in
/// wiener_covariance().
void means_of_rows_and_blocks(ConditionalMoments& given, const Eigen::MatrixXd& shared,
                              const Heartbeat& heartbeat = {});

// Steps 2 and 4 estimate a covariance S from S + noise and a guess of S, the `prior`, positive semi-definite.
// No noise gives the noisy matrix back. Both results are semi-definite.

/// The trace that both give their result: noise hardly moves it, so it is the noisy matrix's, drawn towards
/// the prior's by the noise that it has nevertheless.
double credible_trace(const Eigen::MatrixXd& noisy, const CovarianceNoise& noise,
                      const Eigen::MatrixXd& prior);

/// By spectrum: eigenvalues y below the noise's edge e = 2 noise sqrt(n) are removed and the others debiased
/// to (y + sqrt(y^2 - e^2)) / 2; what they leave of the trace goes to the other directions in the prior's
/// proportions, at least kLeastRest of the prior.
Eigen::MatrixXd edge_covariance(const Eigen::MatrixXd& noisy, const CovarianceNoise& noise,
                                const Eigen::MatrixXd& prior, const Heartbeat& heartbeat = {});

/// Entry by entry, in the basis of the prior's eigenvectors (eigenvalues p): S - prior has the variance t p_i
/// p_j (twice that on the diagonal), and is multiplied by t p_i p_j / (t p_i p_j + noise^2), the noise being
/// CovarianceNoise::variances(); t is estimated.
Eigen::MatrixXd wiener_covariance(const Eigen::MatrixXd& noisy, const CovarianceNoise& noise,
                                  const Eigen::MatrixXd& prior, const Heartbeat& heartbeat = {});

/// Step 2: the covariance that all classes share, from its noisy estimate: wiener_covariance() with the
/// diagonal prior of power_law(), which is the prior of edge_covariance().
Eigen::MatrixXd shared_covariance(const Eigen::MatrixXd& noisy, const CovarianceNoise& noise,
                                  const Spectrum& spectrum, const Heartbeat& heartbeat = {});

/// For steps 3 and 4: what each class's covariance is guessed to be without its own numbers: the shared one,
/// and with eight classes or more what classes that resemble it lie beside that. In the basis of the shared
/// one's eigenvectors (eigenvalues p), entries beside p have the covariance p_i p_j G between the classes, G
/// fitted.
std::vector<Eigen::MatrixXd> class_priors(const ConditionalMoments& given, const Eigen::MatrixXd& shared,
                                          const Heartbeat& heartbeat = {});

/// The law of the spectrum that is most plausible of noisy variances; of images in |frequency| or along each
/// axis, with factors for odd frequencies. Positive.
Eigen::VectorXd power_law(const Eigen::VectorXd& variances, const CovarianceNoise& noise,
                          const Spectrum& spectrum);

/// Step 5: a class's covariance grows by the variance of its mean: records of a class whose mean is not known
/// may lie anywhere that it may (the posterior predictive law).

/// Step 6, images alone, whose coefficients are sums over many pixels and so nearly normal (the columns of
/// plain vectors may be anything, and ||u|| of 0-1 columns never varies): mean and covariance of the records
/// themselves, from those under the law that weighs them by 1 / (c0^2 + ||u||^2), were that law normal: with
/// R = c0^2 + |m|^2 + tr S, m' = m + 2 S m / R,  S' = S + 2 S^2 / R - 4 S m m^T S / R^2. For normal laws.
void undo_weighting(double offset, Eigen::VectorXd& mean, Eigen::MatrixXd& covariance);

/// The nearest positive semi-definite matrix (Frobenius): negative eigenvalues become 0.
Eigen::MatrixXd nearest_psd(const Eigen::MatrixXd& symmetric, const Heartbeat& heartbeat = {});

}  // namespace muffle::moments
