#include "pair_graph_interactions.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace muffle::pair_graph {
namespace {

using Eigen::Index;

constexpr int kRounds = 15;
/// What the guess of a column's K is worth: so many observed directions.
constexpr double kGuessWeight = 15.0;
/// Neighbouring codes are guessed to be so much alike, and others by e less for each such part of all codes
/// that lies between.
constexpr double kAlike = 0.5, kAlikeWithin = 0.125;
/// What a pair's mean square contingency is guessed to be, and what that is worth: so many observed numbers.
constexpr double kGuess = 0.01, kGuessed = 1.0;
/// No interaction of n records has an energy above this share of n^2: two columns of two codes, half each.
constexpr double kMostEnergy = 0.25;
/// Eigenvalues of a K whose trace is its rank; below is the constant direction.
constexpr double kNothing = 1e-7;

/// The covariance of one column's codes in its interactions, up to a scale.
struct Codes {
  Eigen::MatrixXd guess, covariance;  ///< traces: codes - 1
  Eigen::MatrixXd basis;
  Eigen::VectorXd variance, inverse;  ///< of basis' directions; inverse: 0 in the constant one
  Eigen::MatrixXd seen;
  double weight = 0;

  /// With one record more in each code.
  explicit Codes(const Eigen::VectorXd& counts) {
    const auto codes = static_cast<double>(counts.size());
    const Eigen::VectorXd share = (counts.array().max(0.0) + 1) / (counts.array().max(0.0).sum() + codes);
    guess = share.asDiagonal();
    const Eigen::VectorXd spread = share.cwiseSqrt();
    for (Index x = 0; x < guess.rows(); ++x) {
      for (Index y = 0; y < guess.cols(); ++y) {
        const double apart = std::fabs(static_cast<double>(x - y)) / (kAlikeWithin * codes);
        if (x != y) guess(x, y) = kAlike * spread(x) * spread(y) * std::exp(-apart);
      }
    }
    guess.colwise() -= guess.rowwise().mean().eval();
    guess.rowwise() -= guess.colwise().mean().eval();
    const double trace = guess.trace();
    if (trace > 0) guess *= (codes - 1) / trace;
    covariance = guess;
  }
  double rank() const { return std::max(1.0, static_cast<double>(guess.rows() - 1)); }

  void diagonalise() {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
    basis = solver.eigenvectors();
    variance = solver.eigenvalues().cwiseMax(0.0);
    inverse = variance.unaryExpr([](double v) { return v > kNothing ? 1 / v : 0.0; });
    seen = kGuessWeight * guess;
    weight = kGuessWeight;
  }
  void learn() {
    covariance = seen / weight;
    const double trace = covariance.trace();
    if (trace > 0) covariance *= static_cast<double>(guess.rows() - 1) / trace;
  }
};

}  // namespace

std::vector<Interaction> posterior_means(const std::vector<NoisyInteraction>& pairs,
                                         const Heartbeat& heartbeat) {
  std::map<std::pair<std::size_t, Index>, Codes> columns;
  std::vector<double> scale, guess, most;
  for (const NoisyInteraction& pair : pairs) {
    columns.try_emplace({pair.first, pair.rows.size()}, pair.rows);
    columns.try_emplace({pair.second, pair.columns.size()}, pair.columns);
    const double free =
        std::max(1.0, static_cast<double>((pair.rows.size() - 1) * (pair.columns.size() - 1)));
    const double noise = pair.sigma * pair.sigma, records = pair.rows.sum();
    guess.push_back(kGuess * records * records /
                    (free * static_cast<double>(pair.rows.size() * pair.columns.size())));
    // What is plainly above the noise.
    const double above = pair.measured.squaredNorm() - noise * (free + std::sqrt(2 * free));
    most.push_back(kMostEnergy * records * records / free);
    scale.push_back(std::min(most.back(), std::max(guess.back(), above / free)));
  }
  std::vector<Interaction> out(pairs.size());
  for (int round = 0; round <= kRounds; ++round) {
    beat(heartbeat);
    for (auto& [key, column] : columns) column.diagonalise();
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      const NoisyInteraction& pair = pairs[p];
      Codes &a = columns.at({pair.first, pair.rows.size()}),
            &b = columns.at({pair.second, pair.columns.size()});
      const double noise = std::max(pair.sigma * pair.sigma, 1e-9);
      const Eigen::ArrayXXd prior = (scale[p] * a.variance * b.variance.transpose()).array();
      const Eigen::ArrayXXd gain = prior / (prior + noise);
      const Eigen::MatrixXd mean = (gain * (a.basis.transpose() * pair.measured * b.basis).array()).matrix();
      if (round == kRounds) {
        out[p] = {a.basis * mean * b.basis.transpose(), noise * gain.sum()};
        continue;
      }
      const Eigen::MatrixXd variance = (gain * noise).matrix();
      const double tau = std::max(scale[p], 1e-300);
      Eigen::MatrixXd rows = mean * b.inverse.asDiagonal() * mean.transpose(),
                      columns_seen = mean.transpose() * a.inverse.asDiagonal() * mean;
      rows.diagonal() += variance * b.inverse;
      columns_seen.diagonal() += variance.transpose() * a.inverse;
      const double energy = a.inverse.dot((mean.cwiseProduct(mean) + variance) * b.inverse);
      scale[p] = std::min(most[p], (energy + kGuessed * guess[p]) / (a.rank() * b.rank() + kGuessed));
      a.seen += a.basis * rows * a.basis.transpose() / tau;
      a.weight += b.rank();
      b.seen += b.basis * columns_seen * b.basis.transpose() / tau;
      b.weight += a.rank();
    }
    for (auto& [key, column] : columns) column.learn();
  }
  return out;
}

}  // namespace muffle::pair_graph
