#include "muffle/release/noisy_tree.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace muffle::release {

using features::DyadicTree;
using features::left_part;

std::optional<NoisyTree> NoisyTree::of(const NoisyTables& tables, std::size_t j) {
  const std::size_t cells = tables.grid_cells[j], codes = tables.codes[j];
  NoisyTree out(cells);
  const std::vector<DyadicTree::Node>& nodes = out.errors_.tree.nodes;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> places;
  for (std::size_t v = 0; v < nodes.size(); ++v) places[{nodes[v].first, nodes[v].last}] = v;
  out.may_miss_ = codes > cells;
  // Sums of counts by precision, and of precisions.
  std::vector<double> sums(nodes.size(), 0.0), precision(nodes.size(), 0.0);
  double missing = 0, missing_precision = 0;
  for (const NoisyTable& table : tables.tables) {
    if (table.columns != std::vector{j}) continue;
    const double own = 1 / (table.sigma * table.sigma * static_cast<double>(tables.classes));
    std::vector<double> counts(table.cells(), 0.0);
    for (std::size_t y = 0; y < tables.classes; ++y) {
      const auto of_class = table.of_class(y);
      std::transform(counts.begin(), counts.end(), of_class.begin(), counts.begin(), std::plus<>());
    }
    std::vector<std::pair<std::size_t, std::size_t>> range(counts.size(), {codes, 0});
    for (std::size_t code = 0; code < codes; ++code) {
      auto& of = range[table.groups.empty() || table.groups[0].empty() ? code : table.groups[0][code]];
      of = {std::min(of.first, code), std::max(of.second, code + 1)};
    }
    for (std::size_t g = 0; g < counts.size(); ++g) {
      if (range[g].first >= cells) {
        missing += own * counts[g];
        missing_precision += own;
      } else if (const auto at = places.find(range[g]); at != places.end()) {
        sums[at->second] += own * counts[g];
        precision[at->second] += own;
      }
    }
  }
  for (std::size_t v = 0; v < nodes.size(); ++v) {
    if (nodes[v].is_cell() && !(precision[v] > 0)) return std::nullopt;
  }
  if (out.may_miss_ && !(missing_precision > 0)) return std::nullopt;
  out.missing_ = missing_precision > 0 ? missing / missing_precision : 0.0;
  out.missing_variance_ = missing_precision > 0 ? 1 / missing_precision : 0.0;
  for (std::size_t v = nodes.size(); v-- > 0;) {  // upward
    if (!nodes[v].is_cell()) {
      const double below = 1 / (1 / precision[nodes[v].left] + 1 / precision[nodes[v].right]);
      sums[v] += below * (sums[nodes[v].left] / precision[nodes[v].left] +
                          sums[nodes[v].right] / precision[nodes[v].right]);
      precision[v] += below;
    }
  }
  for (std::size_t v = 0; v < nodes.size(); ++v) {
    out.counts_.push_back(sums[v] / precision[v]);
    out.errors_.variance.push_back(1 / precision[v]);
  }
  out.combine(tables.records, tables.records_known);
  return out;
}

void NoisyTree::combine(double records, bool records_known) {
  records_ = records;
  if (records_known && !may_miss_) {
    counts_[0] = records;
    errors_.variance[0] = 0;
  } else if (records_known) {  // those with a value were counted, and so were those without
    const double there = left_part(missing_variance_, errors_.variance[0]);
    counts_[0] = there * counts_[0] + (1 - there) * (records - missing_);
    errors_.variance[0] *= there;
    missing_ = records - counts_[0];
    missing_variance_ = errors_.variance[0];
  }
  for (const DyadicTree::Node& node : errors_.tree.nodes) {  // downward, parents first
    if (node.is_cell()) continue;
    const double short_of = counts_[static_cast<std::size_t>(&node - errors_.tree.nodes.data())] -
                            counts_[node.left] - counts_[node.right];
    const double left = left_part(errors_.variance[node.left], errors_.variance[node.right]);
    counts_[node.left] += left * short_of;
    counts_[node.right] += (1 - left) * short_of;
  }
}

NoisyTree::Part NoisyTree::part(std::size_t v, std::size_t first, std::size_t last) const {
  const DyadicTree::Node& node = errors_.tree.nodes[v];
  if (node.last <= first || node.first >= last) return {};
  if (node.first >= first && node.last <= last) return {1.0, 0.0};
  const Part one = part(node.left, first, last), other = part(node.right, first, last);
  const double p = errors_.variance[node.left], q = errors_.variance[node.right];
  const double apart = one.slope - other.slope;
  return {other.slope + apart * left_part(p, q),
          one.variance + other.variance + apart * apart * p * q / (p + q)};
}

NoisyTree::Count NoisyTree::range(std::size_t first, std::size_t last) const {
  double records = 0;
  for (std::size_t cell = first; cell < last; ++cell) records += counts_[errors_.tree.leaf[cell]];
  const Part of = part(0, first, last);
  return {records, std::sqrt(of.variance + of.slope * of.slope * errors_.variance[0])};
}

NoisyTree::Count NoisyTree::missing() const { return {missing_, std::sqrt(missing_variance_)}; }

std::vector<double> NoisyTree::distribution() const {
  const double all = std::max(1.0, counts_[0]);
  std::vector<double> out;
  double below = 0;
  for (const std::size_t leaf : errors_.tree.leaf) out.push_back((below += counts_[leaf]) / all);
  return out;
}

}  // namespace muffle::release
