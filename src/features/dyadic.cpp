#include "muffle/features/dyadic.hpp"

#include <algorithm>
#include <cmath>

#include "muffle/core/error.hpp"

namespace muffle::features {
namespace {

std::size_t grow(DyadicTree& tree, std::uint32_t first, std::uint32_t last, std::uint32_t depth) {
  const std::size_t here = tree.nodes.size();
  tree.nodes.push_back({first, last, depth});
  tree.levels = std::max<std::size_t>(tree.levels, depth);
  if (last - first == 1) {
    tree.leaf[first] = here;
    return here;
  }
  const std::uint32_t middle = (first + last + 1) / 2;
  const std::size_t left = grow(tree, first, middle, depth + 1), right = grow(tree, middle, last, depth + 1);
  tree.nodes[here].left = left;
  tree.nodes[here].right = right;
  return here;
}

}  // namespace

DyadicTree::DyadicTree(std::size_t cells) : leaf(cells) {
  require(cells > 0, "a tree over no cell: this is a bug in muffle.");
  grow(*this, 0, static_cast<std::uint32_t>(cells), 0);
}

std::vector<std::uint32_t> DyadicTree::level(std::size_t m, std::size_t codes) const {
  std::vector<std::uint32_t> out(codes);
  std::uint32_t next = 0;
  for (const Node& node : nodes) {
    if (node.depth != m && !(node.is_cell() && node.depth < m)) continue;
    std::fill(out.begin() + node.first, out.begin() + node.last, next++);
  }
  for (std::size_t code = leaf.size(); code < codes; ++code) out[code] = next++;
  return out;
}

double tree_weight(std::size_t levels) {
  return std::pow(static_cast<double>(std::max<std::size_t>(1, levels)), -0.25);
}

}  // namespace muffle::features
