// Margins on the groups that pairs were counted on: what a law of pairs knows of a column whose bins are
// learned.
#pragma once

#include <vector>

#include "code_groups.hpp"
#include "pair_graph_margins.hpp"

namespace muffle::pair_graph {

struct CoarseMargins {
  Margins margins;             ///< of the groups
  std::vector<Groups> groups;  ///< d: of each code; empty: the codes themselves
};

/// @param grid_cells  release::NoisyTables::grid_cells: of these columns the codes that no pair tells apart
/// become one, but for the missing value
CoarseMargins on_counted_groups(Margins margins, const std::vector<std::size_t>& grid_cells);

}  // namespace muffle::pair_graph
