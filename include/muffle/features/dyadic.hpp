#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace muffle::features {

/// The cells of a grid, halved again and again until every part is one cell: what a number's law is learned
/// over (docs/explanation/pairs.md, "Learned bins"). A part of an odd number of cells gives its left half one
/// more, so all paths are of L or L - 1 steps. Public: it follows from the number of cells.
struct DyadicTree {
  struct Node {
    std::uint32_t first = 0, last = 0;  ///< its cells: first .. last - 1
    std::uint32_t depth = 0;            ///< of the root: 0
    std::size_t left = 0, right = 0;    ///< places among the nodes; 0: it is one cell
    bool is_cell() const { return left == 0; }
  };

  /// @param cells  1 or more
  explicit DyadicTree(std::size_t cells);

  std::vector<Node> nodes;        ///< the root first, parents before their children, from left to right
  std::size_t levels = 0;         ///< L; 0: there is one cell
  std::vector<std::size_t> leaf;  ///< of each cell: the place of its node

  /// Which part of level m each code lies in, m from 1 to L: a cell that is reached earlier stays a part of
  /// its own, and so is every code beyond the cells (the missing value). Parts are numbered from 0.
  std::vector<std::uint32_t> level(std::size_t m, std::size_t codes) const;
};

/// What each table of such a tree weighs, beside 1 for the table of a column without one: L^(-1/4). A
/// record's squares then add up to sqrt(L) over the tree.
double tree_weight(std::size_t levels);

}  // namespace muffle::features
