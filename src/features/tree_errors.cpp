#include "muffle/features/tree_errors.hpp"

#include <algorithm>
#include <cmath>

#include "muffle/core/philox.hpp"

namespace muffle::features {
namespace {

constexpr std::size_t kDraws = 400;

}  // namespace

double left_part(double left, double right) { return left + right > 0 ? left / (left + right) : 0.5; }

TreeErrors TreeErrors::before_counting(std::size_t cells, double sigma) {
  TreeErrors out{DyadicTree(cells), {}};
  const std::vector<DyadicTree::Node>& nodes = out.tree.nodes;
  out.variance.resize(nodes.size());
  for (std::size_t v = nodes.size(); v-- > 0;) {  // upward
    // A cell that is reached early is a part of every level after it.
    const std::size_t times = nodes[v].is_cell() ? out.tree.levels - nodes[v].depth + 1 : 1;
    double precision = static_cast<double>(times) / (sigma * sigma);
    if (!nodes[v].is_cell()) precision += 1 / (out.variance[nodes[v].left] + out.variance[nodes[v].right]);
    out.variance[v] = 1 / precision;
  }
  out.variance[0] = 0;
  return out;
}

TreeErrors::Reach TreeErrors::reach(double records, std::span<const double> known,
                                    std::span<const double> edges) const {
  // The errors' own law, drawn: what all records are wrong by, then how each node's are divided.
  const std::size_t cells = tree.leaf.size();
  const double all = std::max(1.0, records);
  const double span = edges.empty() ? 0.0 : edges.back() - edges.front();
  const auto width = [&](std::size_t cell) {
    return span > 0 ? (edges[cell + 1] - edges[cell]) / span : 1 / static_cast<double>(cells);
  };
  std::vector<double> farthest;
  double areas = 0;
  std::vector<double> error(variance.size());
  for (std::size_t k = 0; k < kDraws; ++k) {
    const CounterStream random(0, Stream::kEvaluation, static_cast<std::uint32_t>(1000 + k));
    error[0] = std::sqrt(variance[0]) * random.normal(0);
    for (std::size_t v = 0; v < tree.nodes.size(); ++v) {
      const DyadicTree::Node& node = tree.nodes[v];
      if (node.is_cell()) continue;
      const double p = variance[node.left], q = variance[node.right];
      error[node.left] = left_part(p, q) * error[v] + std::sqrt(p * q / (p + q)) * random.normal(v + 1);
      error[node.right] = error[v] - error[node.left];
    }
    double below = 0, most = 0, before = 0;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      below += error[tree.leaf[cell]];
      const double apart = std::fabs(below - known[cell] * error[0]) / all;
      most = std::max(most, apart);
      areas += (before + apart) / 2 * width(cell);
      before = apart;
    }
    farthest.push_back(std::min(1.0, most));
  }
  std::sort(farthest.begin(), farthest.end());
  double sum = 0;
  for (const double one : farthest) sum += one;
  return {sum / static_cast<double>(kDraws), farthest[kDraws * 95 / 100],
          std::min(1.0, areas / static_cast<double>(kDraws))};
}

}  // namespace muffle::features
