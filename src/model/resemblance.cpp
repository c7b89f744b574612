#include "resemblance.hpp"

#include <Eigen/Eigenvalues>

namespace muffle::model {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// The guess of G weighs as much as so many rows a class: G has C (C + 1) / 2 numbers of its own.
constexpr double kRowsOfGuess = 3;
constexpr int kMostSteps = 200;
constexpr double kStill = 1e-5;

/// A row's covariance scale G + noise, made diagonal for every scale at once: rows times `forward` have
/// variances scale values + 1.
struct Diagonal {
  MatrixXd forward, back;  ///< C x C, inverse to each other
  VectorXd values;         ///< C
};

Diagonal diagonal_of(const MatrixXd& between, const VectorXd& noise) {
  const VectorXd root = noise.cwiseSqrt();
  const MatrixXd whitening = root.cwiseInverse().asDiagonal();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(whitening * between * whitening);
  return {whitening * solver.eigenvectors(), solver.eigenvectors().transpose() * root.asDiagonal(),
          solver.eigenvalues().cwiseMax(0.0)};
}

/// (scale G + noise)^-1 times each row, and its diagonal for each row: N x C.
struct Precision {
  MatrixXd of_row, diagonal;
};

Precision precision_of(const NoisyByClass& noisy, const Resemblance& law) {
  const Diagonal d = diagonal_of(law.between, noisy.noise);
  const MatrixXd inverse = ((law.scale * d.values.transpose()).array() + 1).inverse();
  const MatrixXd back = d.forward.transpose();
  return {(noisy.numbers * d.forward).cwiseProduct(inverse) * back,
          inverse * MatrixXd(back.array().square())};
}

}  // namespace

Resemblance most_plausible_resemblance(const NoisyByClass& noisy, const VectorXd& scale, double guess) {
  const Index classes = noisy.numbers.cols();
  const MatrixXd beforehand = guess * MatrixXd::Identity(classes, classes);
  Resemblance law{scale, beforehand};
  const auto rows = static_cast<double>(scale.size());
  const double rows_of_guess = kRowsOfGuess * static_cast<double>(classes);
  for (int step = 0; step < kMostSteps; ++step) {
    // The expected sum over the rows of truth truth^T / scale, given the numbers.
    const Diagonal d = diagonal_of(law.between, noisy.noise);
    MatrixXd truth = noisy.numbers * d.forward;
    VectorXd unknown(classes);
    for (Index c = 0; c < classes; ++c) {
      const ArrayXd signal = scale.array() * d.values(c), share = signal / (signal + 1);
      truth.col(c).array() *= share / scale.array().sqrt();
      unknown(c) = (share / scale.array()).sum();
    }
    MatrixXd sum = truth.transpose() * truth;
    sum.diagonal() += unknown;
    const MatrixXd next =
        (d.back.transpose() * sum * d.back + rows_of_guess * beforehand) / (rows + rows_of_guess);
    const bool still = (next - law.between).norm() < kStill * law.between.norm();
    law.between = 0.5 * (next + next.transpose());
    if (still) break;
  }
  return law;
}

ByClass given_all(const NoisyByClass& noisy, const Resemblance& law) {
  const Precision p = precision_of(noisy, law);
  const MatrixXd noise = noisy.noise.asDiagonal();
  return {noisy.numbers - p.of_row * noise,
          ((-p.diagonal * noise * noise).rowwise() + noisy.noise.transpose()).cwiseMax(0.0)};
}

ByClass given_others(const NoisyByClass& noisy, const Resemblance& law) {
  // Of a normal law with precision P, number c given the others has the mean y_c - (P y)_c / P_cc and the
  // variance 1 / P_cc; the noise of c itself is part of that.
  const Precision p = precision_of(noisy, law);
  return {noisy.numbers - p.of_row.cwiseQuotient(p.diagonal),
          (p.diagonal.cwiseInverse().rowwise() - noisy.noise.transpose()).cwiseMax(0.0)};
}

}  // namespace muffle::model
