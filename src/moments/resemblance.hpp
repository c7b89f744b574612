// How classes resemble each other: what noise hides of one class, its likes may show.
#pragma once

#include <Eigen/Core>

namespace muffle::moments {

/// N numbers of each of C classes beside the mean of all, and their noise, of one variance a class. A column
/// a class.
struct NoisyByClass {
  Eigen::MatrixXd numbers;  ///< N x C
  Eigen::VectorXd noise;    ///< C: variances, above 0, the mean's part taken off
};

/// Where noise is no obstacle, or classes are few, a class is left to itself: what lies beside a mean of C
/// classes has noises that are correlated by -1 / (C - 1), which given_all() and given_others() take for
/// nothing.
inline constexpr Eigen::Index kFewestToResemble = 8;

/// A law of what is true: row i is normal about 0 with covariance scale(i) G, G the C x C matrix `between` of
/// how classes vary and resemble each other (vector empirical Bayes: Efron and Morris, 1972). Public:
/// post-processing.
struct Resemblance {
  Eigen::VectorXd scale;    ///< N, above 0
  Eigen::MatrixXd between;  ///< C x C, positive semi-definite
};

/// The most plausible G, by expectation-maximisation of the restricted likelihood, which asks nothing of the
/// mean of all classes; beforehand near `guess` on the diagonal and 0 beside it, as if some rows had said so,
/// and so many of them as let half of the rows foresee the others best. Where all is noise, G stays there.
Resemblance most_plausible_resemblance(const NoisyByClass& noisy, const Eigen::VectorXd& scale, double guess);

/// A normal law of each number, N x C.
struct ByClass {
  Eigen::MatrixXd mean, variance;
};
/// What is believed of the truth given every class's numbers.
ByClass given_all(const NoisyByClass& noisy, const Resemblance& law);
/// The same given the other classes' numbers alone: a guess of each class that its own noise has no part in.
ByClass given_others(const NoisyByClass& noisy, const Resemblance& law);

}  // namespace muffle::moments
