// The laws of columns whose bins are learned, from the tables of their trees and those of pairs.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/release/noisy_tables.hpp"
#include "short_tails.hpp"

namespace muffle::pair_graph {

/// What tables of several columns say of one of them, class by class: their sums over the other columns.
struct GroupCounts {
  std::vector<std::size_t> group;       ///< of each code; empty: no table says anything
  std::vector<Eigen::VectorXd> counts;  ///< C of the groups
  double variance = 0;                  ///< of a group's
};

struct LearnedColumns {
  std::vector<std::vector<Eigen::VectorXd>> laws;  ///< C of d: records of each code; empty for other columns
  /// d: where no more than noise was counted, of all classes together. The laws are as counted even there:
  /// they choose the groups of later rounds, and are the margins of pairs.
  std::vector<std::vector<Tail>> tails;
};

/// The laws of the columns with grid_cells, class by class, of sum size[c]. All classes together first; each
/// class's is then thought to be like theirs.
/// @param beside  d: of the tables that are not the tree's
LearnedColumns learned_columns(const release::NoisyTables& tables, const std::vector<double>& size,
                               const std::vector<GroupCounts>& beside, const Heartbeat& heartbeat);

}  // namespace muffle::pair_graph
