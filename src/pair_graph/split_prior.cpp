#include "split_prior.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace muffle::pair_graph {
namespace {

/// theta's cells are equal parts of its log odds, from -9 to 9.
constexpr double kMostLogOdds = 9.0;
constexpr std::array<double, 4> kConcentrations{400.0, 60.0, 12.0, 3.0};
/// Of the shares that laws lie around: a class's share of a spike can be next to one.
constexpr double kFirstLogOdds = -7.0, kLogOddsStep = 0.125, kLeastShare = 1e-6;
/// Cells that are narrower than this part of the noise are looked at in their middle alone.
constexpr double kNarrow = 1e-3;
/// Further away in units of noise, nothing is likely.
constexpr double kFar = 37.0;

double upper_tail(double t) { return std::erfc(t / std::numbers::sqrt2) / 2; }

}  // namespace

SplitPrior::SplitPrior() {
  for (std::size_t e = 0; e <= kCells; ++e)
    edge_[e] = 1 / (1 + std::exp(kMostLogOdds - 2 * kMostLogOdds * static_cast<double>(e) / kCells));
  edge_.front() = 0;
  edge_.back() = 1;
  for (std::size_t i = 0; i < kCells; ++i) {
    width_[i] = edge_[i + 1] - edge_[i];
    middle_[i] = (edge_[i] + edge_[i + 1]) / 2;
  }
  fixed_ = {beta(1, 60), beta(60, 1), beta(1, 8), beta(8, 1), beta(1, 1)};
  for (std::size_t k = 0; k < kAround; ++k) {
    for (std::size_t s = 0; s < kSteps; ++s) {
      const double share = 1 / (1 + std::exp(-kFirstLogOdds - kLogOddsStep * static_cast<double>(s)));
      around_[k][s] = beta(kConcentrations[k] * share, kConcentrations[k] * (1 - share));
    }
  }
}

SplitPrior::Law SplitPrior::beta(double a, double b) const {
  Law log, out;
  for (std::size_t i = 0; i < kCells; ++i)
    log[i] = (a - 1) * std::log(middle_[i]) + (b - 1) * std::log1p(-middle_[i]) + std::log(width_[i]);
  // At the ends the density may have no bound: its integral.
  log[0] = a * std::log(width_[0]) - std::log(a) + (b - 1) * std::log1p(-middle_[0]);
  log[kCells - 1] = b * std::log(width_[kCells - 1]) - std::log(b) + (a - 1) * std::log(middle_[kCells - 1]);
  const double most = *std::max_element(log.begin(), log.end());
  double sum = 0;
  for (std::size_t i = 0; i < kCells; ++i) sum += out[i] = std::exp(log[i] - most);
  for (double& p : out) p /= sum;
  return out;
}

SplitPrior::Reading SplitPrior::read(double m, double sd, double expected) const {
  m = std::clamp(m, -3 * sd, 1 + 3 * sd);
  // Mean likelihood over each cell, and of theta times it, up to sqrt(2 pi) sd: exact integrals, for the
  // noise may be far narrower than a cell.
  std::array<double, kCells + 1> tail, height;
  std::array<bool, kCells + 1> right;
  for (std::size_t e = 0; e <= kCells; ++e) {
    const double t = (edge_[e] - m) / sd;
    right[e] = t > 0;
    tail[e] = std::fabs(t) < kFar ? upper_tail(std::fabs(t)) : 0.0;
    height[e] = std::fabs(t) < kFar ? std::exp(-t * t / 2) : 0.0;
  }
  const double root = std::sqrt(2 * std::numbers::pi);
  Reading out{};
  const double share = std::clamp(expected, kLeastShare, 1 - kLeastShare);
  const double at = std::clamp((std::log(share / (1 - share)) - kFirstLogOdds) / kLogOddsStep, 0.0,
                               static_cast<double>(kSteps - 1));
  const std::size_t step = std::min(static_cast<std::size_t>(at), kSteps - 2);
  const double beyond = at - static_cast<double>(step);
  for (std::size_t i = 0; i < kCells; ++i) {
    double mean, moment;
    if (width_[i] < kNarrow * sd) {
      const double t = (middle_[i] - m) / sd;
      mean = std::exp(-t * t / 2);
      moment = mean * middle_[i];
    } else {
      const double inside = right[i]       ? tail[i] - tail[i + 1]
                            : right[i + 1] ? 1 - tail[i] - tail[i + 1]
                                           : tail[i + 1] - tail[i];
      const double scale = root * sd / width_[i];
      mean = inside * scale;
      moment = std::max(0.0, (m * inside + sd * (height[i] - height[i + 1]) / root) * scale);
    }
    if (!(mean > 0)) continue;
    for (std::size_t k = 0; k < kFixed; ++k) {
      out.evidence[k] += fixed_[k][i] * mean;
      out.share[k] += fixed_[k][i] * moment;
    }
    for (std::size_t k = 0; k < kAround; ++k) {
      const double p = (1 - beyond) * around_[k][step][i] + beyond * around_[k][step + 1][i];
      out.evidence[kFixed + k] += p * mean;
      out.share[kFixed + k] += p * moment;
    }
  }
  const double zero = m / sd, one = (1 - m) / sd;
  out.evidence[kLaws - 2] = std::exp(-zero * zero / 2);
  out.evidence[kLaws - 1] = out.share[kLaws - 1] = std::exp(-one * one / 2);
  return out;
}

}  // namespace muffle::pair_graph
