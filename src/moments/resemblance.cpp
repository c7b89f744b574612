#include "resemblance.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

namespace muffle::moments {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// The guess of G weighs as much as so many rows a class, whichever foresees half of the rows from the others
/// best: G has C (C + 1) / 2 numbers of its own.
constexpr double kRowsOfGuess[] = {10, 3, 1};
/// A lighter guess has to foresee them better by so much in the logarithm of the likelihood.
constexpr double kSurely = 1;
constexpr int kMostSteps = 100;
constexpr double kStill = 1e-4;
/// Rows whose scales differ by less are taken together.
constexpr double kAlikeScales = 1.25;

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

/// So a step costs a few hundred times C^3 at most, and not N C^2: covariances have millions of rows.
std::vector<AlikeRows> by_scale(const MatrixXd& numbers, const VectorXd& scale,
                                const std::vector<Index>& which) {
  std::map<double, std::vector<Index>> alike;
  for (const Index i : which) alike[std::floor(std::log(scale(i)) / std::log(kAlikeScales))].push_back(i);
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

/// (scale G + noise)^-1 =: M^-1 but along all classes together, of which rows beside their centre say
/// nothing: P = M^-1 - M^-1 1 1^T M^-1 / 1^T M^-1 1 (restricted likelihood: Patterson and Thompson, 1971).
struct BesideCentre {
  MatrixXd precision;          ///< P
  double log_determinant = 0;  ///< of M where P is not 0, but for a constant
};

BesideCentre beside_centre(const MatrixXd& between, double scale, const VectorXd& noise) {
  MatrixXd m = scale * between;
  m.diagonal() += noise;
  const Eigen::LLT<MatrixXd> llt(m);
  const VectorXd ones = llt.solve(VectorXd::Ones(noise.size()));
  const double all = ones.sum();
  return {llt.solve(MatrixXd::Identity(noise.size(), noise.size())) - ones * ones.transpose() / all,
          2 * llt.matrixLLT().diagonal().array().log().sum() + std::log(all)};
}

/// The most plausible G by expectation-maximisation, when so many rows beforehand had said `guess`.
MatrixXd most_plausible(const std::vector<AlikeRows>& groups, const VectorXd& noise, const MatrixXd& guess,
                        double rows_of_guess) {
  MatrixXd between = guess;
  for (int step = 0; step < kMostSteps; ++step) {
    // What the rows' truth truth^T / scale are expected to be beside G, given the numbers.
    MatrixXd off = MatrixXd::Zero(noise.size(), noise.size());
    double all_rows = rows_of_guess;
    for (const AlikeRows& rows : groups) {
      const MatrixXd p = beside_centre(between, rows.scale, noise).precision;
      off += rows.scale * (p * rows.products * p - rows.count * p);
      all_rows += rows.count;
    }
    MatrixXd next = between + (between * off * between + rows_of_guess * (guess - between)) / all_rows;
    const bool still = (next - between).norm() < kStill * between.norm();
    between = 0.5 * (next + next.transpose());
    if (still) break;
  }
  return between;
}

/// The logarithm of the rows' likelihood, but for a constant.
double log_likelihood(const std::vector<AlikeRows>& groups, const VectorXd& noise, const MatrixXd& between) {
  double out = 0;
  for (const AlikeRows& rows : groups) {
    const BesideCentre beside = beside_centre(between, rows.scale, noise);
    out -= 0.5 * (rows.count * beside.log_determinant + beside.precision.cwiseProduct(rows.products).sum());
  }
  return out;
}

}  // namespace

Resemblance most_plausible_resemblance(const NoisyByClass& noisy, const VectorXd& scale, double guess) {
  const Index classes = noisy.numbers.cols();
  const MatrixXd beforehand = guess * MatrixXd::Identity(classes, classes);
  std::vector<Index> order(static_cast<std::size_t>(scale.size())), halves[2];
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return scale(a) < scale(b); });
  for (std::size_t i = 0; i < order.size(); ++i) halves[i % 2].push_back(order[i]);
  const std::vector<AlikeRows> half[2] = {by_scale(noisy.numbers, scale, halves[0]),
                                          by_scale(noisy.numbers, scale, halves[1])};
  // Beside the mean of all, a number has 1 - 1 / C of its class's noise.
  const VectorXd noise = noisy.noise / (1 - 1 / static_cast<double>(classes));
  std::vector<double> foreseen;
  for (const double rows_a_class : kRowsOfGuess) {
    const double rows = rows_a_class * static_cast<double>(classes);
    foreseen.push_back(0);
    for (const int h : {0, 1})
      foreseen.back() += log_likelihood(half[1 - h], noise, most_plausible(half[h], noise, beforehand, rows));
  }
  const double enough = *std::max_element(foreseen.begin(), foreseen.end()) - kSurely;
  const auto chosen = std::find_if(foreseen.begin(), foreseen.end(), [&](double f) { return f >= enough; });
  const double rows = kRowsOfGuess[chosen - foreseen.begin()] * static_cast<double>(classes);
  return {scale, most_plausible(by_scale(noisy.numbers, scale, order), noise, beforehand, rows)};
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

}  // namespace muffle::moments
