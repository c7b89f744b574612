#include "short_tails.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace muffle::pair_graph {
namespace {

using Eigen::Index;

constexpr double kTailNoise = 2.0;
/// Shorter ends, in mean distances from where they begin, stay as counted: what they add to a mean is little.
constexpr double kLeastRange = 4.0;
/// Share of a tail's records that stay where the tree has them: one in many may well lie far out.
constexpr double kKept = 0.03;

/// @param cells  of the column, from the end inwards
Tail tail_at(const std::vector<std::size_t>& cells, const Eigen::VectorXd& law, const TreeLaw& known,
             const features::DyadicTree& tree, const std::vector<double>& widths) {
  const auto records = [&](std::size_t i) { return law(static_cast<Index>(cells[i])); };
  std::size_t n = 0;
  double held = 0, range = 0;
  for (; n < cells.size(); ++n) {
    const auto [first, last] = std::minmax(cells.front(), cells[n]);
    const double noise = std::sqrt(known.variance(tree, first, last + 1));
    if (!(std::isfinite(noise) && held + records(n) <= kTailNoise * noise)) break;
    held += records(n);
    range += widths[cells[n]];
  }
  if (n < 2 || !(held > 0)) return {};
  double before = 0, width = 0;
  for (std::size_t i = n; i < cells.size() && before < held; ++i) {
    if (widths[cells[i]] <= 1 && records(i) > held) break;  // a spike
    before += records(i);
    width += widths[cells[i]];
  }
  // Beyond each such width half of what lay beyond the last one: the mean distance from where the tail
  // begins.
  const double decay = before > 0 ? held / before * width / std::numbers::ln2 : range;
  if (!(kLeastRange * decay < range)) return {};
  Tail out{{}, {}, decay};
  for (std::size_t i = n; i-- > 0;) {
    out.cells.push_back(cells[i]);
    out.widths.push_back(widths[cells[i]]);
  }
  return out;
}

}  // namespace

std::vector<Tail> short_tails(const Eigen::VectorXd& law, const TreeLaw& known,
                              const features::DyadicTree& tree, const std::vector<double>& widths) {
  std::vector<std::size_t> cells(widths.size());
  std::iota(cells.begin(), cells.end(), std::size_t{0});
  std::vector<Tail> out;
  for (int end = 0; end < 2; ++end) {
    if (Tail tail = tail_at(cells, law, known, tree, widths); !tail.cells.empty())
      out.push_back(std::move(tail));
    std::ranges::reverse(cells);
  }
  return out;
}

Eigen::VectorXd laid_out(const std::vector<Tail>& tails, const std::vector<std::uint32_t>& group,
                         Eigen::VectorXd law) {
  for (const Tail& tail : tails) {
    std::size_t end = 0;
    for (std::size_t begin = 0; begin < tail.cells.size(); begin = end) {
      double held = 0, range = 0;
      for (; end < tail.cells.size() && group[tail.cells[end]] == group[tail.cells[begin]]; ++end) {
        held += law(static_cast<Index>(tail.cells[end]));
        range += tail.widths[end];
      }
      // An exponential law has no memory: in a group farther out it is the same one, from where the group
      // begins.
      const double all = -std::expm1(-range / tail.decay);
      double from = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const double within = -std::expm1(-tail.widths[i] / tail.decay);
        double& records = law(static_cast<Index>(tail.cells[i]));
        records = kKept * records + (1 - kKept) * held * std::exp(-from / tail.decay) * within / all;
        from += tail.widths[i];
      }
    }
  }
  return law;
}

}  // namespace muffle::pair_graph
