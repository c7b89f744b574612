// The laws of columns whose bins are learned, from the tables of their trees and those of pairs.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/release/noisy_tables.hpp"

namespace muffle::model {

/// What tables of several columns say of one of them, class by class: their sums over the other columns.
struct GroupCounts {
  std::vector<std::size_t> group;       ///< of each code; empty: no table says anything
  std::vector<Eigen::VectorXd> counts;  ///< C of the groups
  double variance = 0;                  ///< of a group's
};

/// The laws of the columns with grid_cells: records of each code, for each class, of sum size[c]. All classes
/// together first; each class's is then thought to be like theirs.
/// @param beside  d: of the tables that are not the tree's
/// @returns  C of d; empty for other columns
std::vector<std::vector<Eigen::VectorXd>> learned_columns(const release::NoisyTables& tables,
                                                          const std::vector<double>& size,
                                                          const std::vector<GroupCounts>& beside,
                                                          const Heartbeat& heartbeat);

}  // namespace muffle::model
