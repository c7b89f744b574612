#include "resemblance.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <map>
#include <vector>

namespace muffle::model {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// The guess of G weighs as much as so many rows a class: G has C (C + 1) / 2 numbers of its own.
constexpr double kRowsOfGuess = 3;
constexpr int kMostSteps = 200;
constexpr double kStill = 1e-5;
/// Rows whose scales differ by less are taken together.
constexpr double kAlikeScales = 1.05;

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

/// Rows of about one scale: all that they say of G.
struct AlikeRows {
  double count = 0, scale = 0;  ///< how many; their mean scale
  MatrixXd products;            ///< C x C: the sum over them of y y^T
};

/// So a step costs some hundred times C^3 at most, and not N C^2: covariances have millions of rows.
std::vector<AlikeRows> by_scale(const MatrixXd& numbers, const VectorXd& scale) {
  std::map<double, std::vector<Index>> alike;
  for (Index i = 0; i < scale.size(); ++i)
    alike[std::floor(std::log(scale(i)) / std::log(kAlikeScales))].push_back(i);
  std::vector<AlikeRows> out;
  for (const auto& [_, rows] : alike) {
    const MatrixXd theirs = numbers(rows, Eigen::all);
    out.push_back({static_cast<double>(rows.size()), scale(rows).mean(), theirs.transpose() * theirs});
  }
  return out;
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
  const auto all_rows = static_cast<double>(scale.size());
  const double rows_of_guess = kRowsOfGuess * static_cast<double>(classes);
  const std::vector<AlikeRows> groups = by_scale(noisy.numbers, scale);
  for (int step = 0; step < kMostSteps; ++step) {
    // The expected sum over the rows of truth truth^T / scale, given the numbers.
    const Diagonal d = diagonal_of(law.between, noisy.noise);
    MatrixXd sum = MatrixXd::Zero(classes, classes);
    for (const AlikeRows& rows : groups) {
      const VectorXd signal = rows.scale * d.values, share = signal.array() / (signal.array() + 1);
      const MatrixXd truth =
          share.asDiagonal() * (d.forward.transpose() * rows.products * d.forward) * share.asDiagonal();
      sum += truth / rows.scale;
      sum.diagonal() += rows.count / rows.scale * share;
    }
    const MatrixXd next =
        (d.back.transpose() * sum * d.back + rows_of_guess * beforehand) / (all_rows + rows_of_guess);
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
