#include "spikes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace muffle::pair_graph {
namespace {

using features::DyadicTree;

/// Beyond an end of what is possible noise is believed no less than here, in its standard deviations: the
/// same as where splits are read.
constexpr double kFarthest = 3.0;

/// log(e^a + e^b).
double log_sum(double a, double b) { return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b))); }

/// Of the mean of e^x over all x.
double log_mean(const std::vector<double>& logs) {
  const double most = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double x : logs) sum += std::exp(x - most);
  return most + std::log(sum / static_cast<double>(logs.size()));
}

}  // namespace

Spikes::Spikes(const DyadicTree& tree, const std::vector<double>& counts,
               const std::vector<double>& precision)
    : tree_(tree), counts_(counts), precision_(precision), empty_(tree.nodes.size(), 0.0) {
  for (std::size_t v = empty_.size(); v-- > 0;) {
    const DyadicTree::Node& node = tree.nodes[v];
    if (node.is_cell()) continue;
    empty_[v] = empty_[node.left] + empty_[node.right];
    const double p = precision[node.left], q = precision[node.right];
    if (!(p + q > 0)) continue;
    const double off = (counts[node.left] * p - counts[node.right] * q) / std::sqrt(p + q);
    empty_[v] -= std::min(off * off, kFarthest * kFarthest) / 2;
  }
}

std::vector<double> Spikes::all_in_each(std::size_t v, double records) const {
  std::vector<double> out;
  std::vector<std::pair<std::size_t, double>> open{{v, 0.0}};
  while (!open.empty()) {  // cells come from left to right
    const auto [u, so_far] = open.back();
    open.pop_back();
    const DyadicTree::Node& node = tree_.nodes[u];
    if (node.is_cell()) {
      out.push_back(so_far);
      continue;
    }
    const double p = precision_[node.left], q = precision_[node.right], scale = std::sqrt(p + q);
    double left = 0, right = 0;  // how far off, in standard deviations, are all or none in the left half
    if (p + q > 0) {
      const double seen = (counts_[node.left] * p + (records - counts_[node.right]) * q) / (p + q);
      left = std::min((seen - records) * scale, kFarthest);
      right = std::max(seen * scale, -kFarthest);
    }
    open.emplace_back(node.right, so_far + empty_[node.left] - right * right / 2);
    open.emplace_back(node.left, so_far + empty_[node.right] - left * left / 2);
  }
  return out;
}

Spikes::Chances Spikes::chances(const std::vector<double>& records, const std::vector<double>& split,
                                const std::vector<double>& before) const {
  const std::size_t n = tree_.nodes.size();
  Chances out{std::vector<double>(n, 0.0), std::vector<double>(n, 1.0)};
  std::vector<double> all(n, 0.0);  // both together
  for (std::size_t v = n; v-- > 0;) {
    const DyadicTree::Node& node = tree_.nodes[v];
    if (node.is_cell()) continue;
    const double share = before[node.depth];
    const double one = std::log(share) + log_mean(all_in_each(v, records[v]));
    all[v] = log_sum(one, std::log1p(-share) + split[v] + all[node.left] + all[node.right]);
    out.here[v] = std::exp(one - all[v]);
  }
  for (std::size_t v = 0; v < n; ++v) {
    const DyadicTree::Node& node = tree_.nodes[v];
    if (!node.is_cell())
      out.reached[node.left] = out.reached[node.right] = out.reached[v] * (1 - out.here[v]);
  }
  return out;
}

std::vector<double> Spikes::mean(const std::vector<double>& records, const Chances& chances) const {
  constexpr double kLeastChance = 1e-9;
  const std::vector<DyadicTree::Node>& nodes = tree_.nodes;
  std::vector<double> out(nodes.size(), 0.0);
  for (const std::size_t v : tree_.leaf) out[v] = chances.reached[v] * records[v];
  for (std::size_t v = 0; v < nodes.size(); ++v) {
    const double share = nodes[v].is_cell() ? 0.0 : chances.reached[v] * chances.here[v];
    if (!(share > kLeastChance)) continue;
    std::vector<double> cells = all_in_each(v, records[v]);
    const double most = *std::max_element(cells.begin(), cells.end());
    double sum = 0;
    for (double& x : cells) sum += x = std::exp(x - most);
    for (std::size_t i = 0; i < cells.size(); ++i)
      out[tree_.leaf[nodes[v].first + i]] += share * records[v] * cells[i] / sum;
  }
  for (std::size_t v = nodes.size(); v-- > 0;) {
    if (!nodes[v].is_cell()) out[v] = out[nodes[v].left] + out[nodes[v].right];
  }
  return out;
}

}  // namespace muffle::pair_graph
