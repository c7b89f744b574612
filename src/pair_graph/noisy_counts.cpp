#include "noisy_counts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numbers>

namespace muffle::pair_graph {
namespace {

using Eigen::Index;

constexpr int kPriorSteps = 50;
/// Fewer codes have no shape to speak of; more would take long.
constexpr Index kFewestSmoothed = 8, kMostSmoothed = 1024;

double density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }
double below(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

/// What a noisy count says, if the count lies in an interval and is uniform there.
struct Inside {
  double evidence = 0, mean = 0, square = 0;  ///< square: the mean of the squared count
};

Inside inside(double y, double sigma, double from, double to) {
  const double a = (from - y) / sigma, b = (to - y) / sigma;
  // The upper tail is a difference of small numbers.
  const double mass = a > 0 ? below(-a) - below(-b) : below(b) - below(a);
  if (!(mass > 1e-280)) return {};
  const double shift = (density(a) - density(b)) / mass;
  const double spread = 1 + (a * density(a) - b * density(b)) / mass;
  const double mean = std::clamp(y + sigma * shift, from, to);
  const double square = y * y + 2 * y * sigma * shift + sigma * sigma * spread;
  return {mass / (to - from), mean, std::max(square, mean * mean)};
}

/// The cosine transform's rows: orthonormal, of 0, 1, ... half waves over all codes.
Eigen::MatrixXd cosines(Index codes) {
  Eigen::MatrixXd out(codes, codes);
  const auto k = static_cast<double>(codes);
  for (Index f = 0; f < codes; ++f) {
    for (Index x = 0; x < codes; ++x)
      out(f, x) = std::sqrt((f == 0 ? 1 : 2) / k) *
                  std::cos(std::numbers::pi * static_cast<double>(f) * (static_cast<double>(x) + 0.5) / k);
  }
  return out;
}

}  // namespace

NoisyCounts smoothed(const NoisyCounts& noisy) {
  const Index codes = noisy.counts.size();
  if (codes < kFewestSmoothed || codes > kMostSmoothed || !(noisy.variance > 0)) return noisy;
  const Eigen::MatrixXd waves = cosines(codes);
  Eigen::VectorXd kept = waves * noisy.counts;
  const Eigen::ArrayXd seen = kept.array().tail(codes - 1),
                       wave = Eigen::ArrayXd::LinSpaced(codes - 1, 1.0, static_cast<double>(codes - 1));
  const double most = std::max(1.0, seen.abs().maxCoeff() / std::sqrt(noisy.variance));
  Eigen::ArrayXd gains = Eigen::ArrayXd::Zero(codes - 1);
  double weights = 0, best = -std::numeric_limits<double>::infinity();
  for (double longest = 1; longest < static_cast<double>(2 * codes); longest *= 2) {
    for (const double white : {0.0, 1e-3, 1e-2, 1e-1}) {
      const Eigen::ArrayXd law = 1 / (1 + (wave / longest).square()) + white;
      for (double scale = 0.25; scale < 4 * most * most; scale *= 2) {
        const Eigen::ArrayXd all = noisy.variance * (1 + scale * law);
        const double evidence = -(all.log() + seen.square() / all).sum() / 2;
        if (evidence > best) {
          gains *= std::exp(best - evidence);
          weights *= std::exp(best - evidence);
          best = evidence;
        }
        const double weight = std::exp(evidence - best);
        gains += weight * (1 - 1 / (1 + scale * law));
        weights += weight;
      }
    }
  }
  gains /= weights;
  kept.tail(codes - 1).array() *= gains;
  return {waves.transpose() * kept, noisy.variance * (1 + gains.sum()) / static_cast<double>(codes)};
}

Eigen::VectorXd onto_simplex(const Eigen::VectorXd& v, double total) {
  std::vector<double> sorted(v.data(), v.data() + v.size());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double sum = 0, shift = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sum += sorted[i];
    const double next = (sum - total) / static_cast<double>(i + 1);
    if (sorted[i] > next) shift = next;
  }
  return (v.array() - shift).max(0.0);
}

std::vector<Eigen::VectorXd> posterior_counts(const std::vector<NoisyCounts>& columns, double records) {
  std::vector<double> edge{0, 1};
  // The last digits of a sum do not decide whether there is one interval more.
  while (edge.back() < records * (1 - 1e-9)) edge.push_back(2 * edge.back());
  const std::size_t intervals = edge.size() - 1;
  std::vector<std::vector<Inside>> codes;  // all columns' codes, of each interval
  for (const NoisyCounts& column : columns) {
    const double sigma = std::sqrt(std::max(column.variance, 1e-6));
    for (Index x = 0; x < column.counts.size(); ++x) {
      std::vector<Inside>& of = codes.emplace_back();
      const double y = std::clamp(column.counts(x), -8 * sigma, records + 8 * sigma);
      for (std::size_t i = 0; i < intervals; ++i) of.push_back(inside(y, sigma, edge[i], edge[i + 1]));
    }
  }
  std::vector<double> weight(intervals, 1.0 / static_cast<double>(intervals));
  for (int step = 0; step < kPriorSteps; ++step) {
    std::vector<double> seen(intervals, 1.0 / static_cast<double>(intervals));
    for (const std::vector<Inside>& code : codes) {
      double sum = 0;
      for (std::size_t i = 0; i < intervals; ++i) sum += weight[i] * code[i].evidence;
      if (!(sum > 0)) continue;
      for (std::size_t i = 0; i < intervals; ++i) seen[i] += weight[i] * code[i].evidence / sum;
    }
    double all = 0;
    for (const double s : seen) all += s;
    for (std::size_t i = 0; i < intervals; ++i) weight[i] = seen[i] / all;
  }
  std::vector<Eigen::VectorXd> out;
  std::size_t next = 0;
  for (const NoisyCounts& column : columns) {
    Eigen::VectorXd mean(column.counts.size()), variance(column.counts.size());
    for (Index x = 0; x < mean.size(); ++x) {
      const std::vector<Inside>& code = codes[next++];
      double sum = 0, first = 0, second = 0;
      for (std::size_t i = 0; i < intervals; ++i) {
        const double share = weight[i] * code[i].evidence;
        sum += share;
        first += share * code[i].mean;
        second += share * code[i].square;
      }
      mean(x) = sum > 0 ? first / sum : std::clamp(column.counts(x), 0.0, records);
      variance(x) = sum > 0 ? std::max(0.0, second / sum - mean(x) * mean(x)) : column.variance;
    }
    // What they miss of the records, or have too much, goes to those that are least known.
    if (variance.sum() > 0) mean += variance * ((records - mean.sum()) / variance.sum());
    out.push_back(onto_simplex(mean, records));
  }
  return out;
}

}  // namespace muffle::pair_graph
