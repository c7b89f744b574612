// The law of a number over the cells of its grid, from the noisy counts of a dyadic tree.
#pragma once

#include <cstddef>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/features/dyadic.hpp"

namespace muffle::pair_graph {

/// What is known of one column: counts with independent Gaussian noise for the nodes of its tree.
struct TreeCounts {
  const features::DyadicTree* tree = nullptr;
  std::vector<double> counts;                     ///< of each node, records; looked at where it was counted
  std::vector<double> precision;                  ///< of each node, 1 / variance; 0: it was not counted
  bool may_miss = false;                          ///< a value may be absent
  double missing = 0.0, missing_precision = 0.0;  ///< how many are, as counted
  double records = 0.0;                           ///< of the cells and the missing value
  /// Of each node: records of a law that this one is thought to be like; empty: of none.
  std::vector<double> like = {};
};

struct TreeLaw {
  std::vector<double> nodes;  ///< records of each node, each the sum of its halves
  double missing = 0.0;       ///< records without a value
  /// Of each node: 1 / variance of what it and the nodes below it counted; 0: nothing.
  std::vector<double> precision;

  /// Variance of what was counted of cells first .. last - 1. Infinite: nothing was.
  double variance(const features::DyadicTree& tree, std::size_t first, std::size_t last) const;
};

/// The laws, posterior means (docs/explanation/pairs.md, "Learned bins"): upward, a node's count is the
/// inverse-variance mean of its own and of its halves'; downward, a node's records are split by a mixture of
/// laws of the left half's share, whose weights all columns share, one set for each depth, fitted by
/// expectation-maximisation. Post-processing of public numbers.
std::vector<TreeLaw> tree_laws(const std::vector<TreeCounts>& columns, const Heartbeat& heartbeat);

}  // namespace muffle::pair_graph
