// The ends of a number's range, where no more than noise was counted.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "muffle/features/dyadic.hpp"
#include "tree_law.hpp"

namespace muffle::pair_graph {

/// How the few records at an end of a range lie there: exponentially.
struct Tail {
  std::vector<std::size_t> cells;  ///< outwards from the first one
  std::vector<double> widths;      ///< of each, values of the grid
  double decay = 1;                ///< mean distance from where it begins, values
};

/// The tails of a column's law, at most one at each end: the outermost cells of which none holds, with all
/// beyond it, more records than kTailNoise standard deviations of what was counted. Noise spreads these over
/// a range that most columns never reach (the mean of a cost becomes a fifth larger). They get an exponential
/// law instead (laid_out()), which begins with the density of as many records before them. No tail: where
/// these are sparser, or a single value (a spike says nothing of what lies beside it). Post-processing.
/// @param law  records of each cell (and of what lies behind the cells, which is not looked at)
/// @param known  of the same tree; its precision is looked at
/// @param widths  of each cell, values of the grid
std::vector<Tail> short_tails(const Eigen::VectorXd& law, const TreeLaw& known,
                              const features::DyadicTree& tree, const std::vector<double>& widths);
/// A law whose records are moved within its tails, and there within each group: how many either holds does
/// not change. @param group  of each code
Eigen::VectorXd laid_out(const std::vector<Tail>& tails, const std::vector<std::uint32_t>& group,
                         Eigen::VectorXd law);

}  // namespace muffle::pair_graph
