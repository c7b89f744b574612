#include "rising_pairs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "muffle/core/philox.hpp"

namespace muffle::pair_graph {
namespace {

using Eigen::Index;

using OfEach = std::array<double, NormalTables::kCorrelations>;

/// Correlations are tanh of equal steps, from -kMostStrength to kMostStrength.
constexpr double kMostStrength = 4.0;
constexpr int kLawPasses = 30;
/// What the first guess of the law of correlations is worth, all alike: so many pairs.
constexpr double kFirstLaw = 1.0;

std::vector<double> thresholds(const Eigen::VectorXd& counts) {
  constexpr double kLeastShare = 1e-9;
  std::vector<double> out;
  const double all = counts.sum();
  double below = 0;
  for (Index x = 0; x + 1 < counts.size(); ++x) {
    below += counts(x);
    out.push_back(normal_quantile(std::clamp(below / all, kLeastShare, 1 - kLeastShare)));
  }
  return out;
}

/// Adds what the chance of both to lie below (x, y) gains where the correlation's angle goes from one to the
/// other: its derivative is the density at (x, y) (Plackett, 1954), by three points of Gauss and Legendre.
void add_turn(const std::vector<double>& xs, const std::vector<double>& ys, double from, double to,
              Eigen::MatrixXd& below) {
  constexpr std::array<double, 3> kAt{-0.7745966692414834, 0.0, 0.7745966692414834};
  constexpr std::array<double, 3> kWeight{5.0 / 9, 8.0 / 9, 5.0 / 9};
  for (std::size_t i = 0; i < kAt.size(); ++i) {
    const double angle = (from + to + (to - from) * kAt[i]) / 2, s = std::sin(angle), c = std::cos(angle);
    const double weight = kWeight[i] * (to - from) / (4 * std::numbers::pi);
    for (std::size_t x = 0; x < xs.size(); ++x) {
      for (std::size_t y = 0; y < ys.size(); ++y)
        below(static_cast<Index>(x), static_cast<Index>(y)) +=
            weight * std::exp(-(xs[x] * xs[x] - 2 * xs[x] * ys[y] * s + ys[y] * ys[y]) / (2 * c * c));
    }
  }
}

/// Differences of a distribution function that is 0 at all ends.
Eigen::MatrixXd differences(const Eigen::MatrixXd& below) {
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(below.rows() + 1, below.cols() + 1);
  out.topLeftCorner(below.rows(), below.cols()) += below;
  out.bottomLeftCorner(below.rows(), below.cols()) -= below;
  out.topRightCorner(below.rows(), below.cols()) -= below;
  out.bottomRightCorner(below.rows(), below.cols()) += below;
  return out;
}

/// A pair of numbers, without what is missing.
struct TwoNumbers {
  std::size_t at;
  Index rows, columns;
  double records = 0;  ///< both are there, were they independent
  OfEach likely{};     ///< how likely each correlation makes the counts

  /// @returns  the tables, records
  NormalTables tables(const NoisyInteraction& pair) const {
    return {pair.rows.head(rows), pair.columns.head(columns)};
  }
};

OfEach summing_to_1(const OfEach& weights) {
  double sum = 0;
  OfEach out = weights;
  for (const double w : weights) sum += w;
  for (double& w : out) w /= sum;
  return out;
}

}  // namespace

double NormalTables::correlation(int k) {
  return std::tanh(kMostStrength * (2.0 * k / (kCorrelations - 1) - 1));
}

NormalTables::NormalTables(const Eigen::VectorXd& first, const Eigen::VectorXd& second)
    : tables_(kCorrelations) {
  const std::vector<double> xs = thresholds(first), ys = thresholds(second);
  constexpr int kMiddle = kCorrelations / 2;
  for (const int way : {1, -1}) {
    Eigen::MatrixXd below = Eigen::MatrixXd::Zero(std::ssize(xs), std::ssize(ys));
    tables_[kMiddle] = differences(below);
    for (int k = kMiddle + way; k >= 0 && k < kCorrelations; k += way) {
      add_turn(xs, ys, std::asin(correlation(k - way)), std::asin(correlation(k)), below);
      tables_[static_cast<std::size_t>(k)] = differences(below);
    }
  }
}

std::vector<Interaction> rising_together(const std::vector<NoisyInteraction>& pairs,
                                         const std::vector<Order>& order, const Heartbeat& heartbeat) {
  std::vector<Interaction> out(pairs.size());
  std::vector<TwoNumbers> looked;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const NoisyInteraction& pair = pairs[p];
    if (pair.first >= order.size() || pair.second >= order.size()) continue;
    const Order a = order[pair.first], b = order[pair.second];
    if (a == Order::kNone || b == Order::kNone || !(pair.sigma > 0)) continue;
    TwoNumbers numbers{p, pair.rows.size() - (a == Order::kNumbersAndMissing),
                       pair.columns.size() - (b == Order::kNumbersAndMissing)};
    const double rows = pair.rows.head(numbers.rows).sum(),
                 columns = pair.columns.head(numbers.columns).sum();
    if (numbers.rows < 2 || numbers.columns < 2 || !(rows > 0 && columns > 0)) continue;
    beat(heartbeat);
    numbers.records = rows * columns / pair.rows.sum();
    const NormalTables tables = numbers.tables(pair);
    const auto measured = pair.measured.topLeftCorner(numbers.rows, numbers.columns);
    double most = 0;
    for (int k = 0; k < NormalTables::kCorrelations; ++k) {
      const double log = (numbers.records * measured.cwiseProduct(tables.of(k)).sum() -
                          numbers.records * numbers.records * tables.of(k).squaredNorm() / 2) /
                         (pair.sigma * pair.sigma);
      numbers.likely[static_cast<std::size_t>(k)] = log;
      most = std::max(most, log);
    }
    for (double& w : numbers.likely) w = std::exp(w - most);
    looked.push_back(numbers);
  }
  OfEach law;
  law.fill(1.0 / NormalTables::kCorrelations);
  const auto posterior = [&](const TwoNumbers& numbers) {
    OfEach all;
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = law[k] * numbers.likely[k];
    return summing_to_1(all);
  };
  for (int pass = 0; pass < kLawPasses; ++pass) {
    OfEach seen;
    seen.fill(kFirstLaw / NormalTables::kCorrelations);
    for (const TwoNumbers& numbers : looked) {
      const OfEach own = posterior(numbers);
      for (std::size_t k = 0; k < seen.size(); ++k) seen[k] += own[k];
    }
    law = summing_to_1(seen);
  }
  for (const TwoNumbers& numbers : looked) {
    beat(heartbeat);
    const NoisyInteraction& pair = pairs[numbers.at];
    const NormalTables tables = numbers.tables(pair);
    const OfEach own = posterior(numbers);
    Eigen::MatrixXd mean = Eigen::MatrixXd::Zero(numbers.rows, numbers.columns);
    double squares = 0;
    for (int k = 0; k < NormalTables::kCorrelations; ++k) {
      const double weight = own[static_cast<std::size_t>(k)];
      if (weight < 1e-9) continue;
      mean += weight * tables.of(k);
      squares += weight * tables.of(k).squaredNorm();
    }
    Interaction& made = out[numbers.at];
    made.mean = Eigen::MatrixXd::Zero(pair.rows.size(), pair.columns.size());
    made.mean.topLeftCorner(numbers.rows, numbers.columns) = numbers.records * mean;
    made.variance = numbers.records * numbers.records * std::max(0.0, squares - mean.squaredNorm());
  }
  return out;
}

}  // namespace muffle::pair_graph
