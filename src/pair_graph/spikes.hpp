// Single values that hold all records of a part of a number's range.
#pragma once

#include <cstddef>
#include <vector>

#include "muffle/features/dyadic.hpp"

namespace muffle::pair_graph {

/// What noisy counts say of a law of which some nodes of the tree have all their records in one of their
/// cells, any of them equally likely. Split by split this would be one coincidence after another, each of
/// which a little noise makes doubtful: a column that is 0 in all records but a few would lose some of them
/// at every level.
class Spikes {
 public:
  /// @param counts, precision  of each node, as it and the nodes below it counted them; all outlive this
  Spikes(const features::DyadicTree& tree, const std::vector<double>& counts,
         const std::vector<double>& precision);

  /// How likely it is of each node, cells excepted, that it is one.
  struct Chances {
    std::vector<double> here;     ///< that the node is one, if no node above it is
    std::vector<double> reached;  ///< that none above it is
  };
  /// @param records  of each node, if no node above it is one
  /// @param split  of each node: the logarithm of how likely its halves' counts are under the laws of splits
  /// @param before  of each depth: how often a node is one
  Chances chances(const std::vector<double>& records, const std::vector<double>& split,
                  const std::vector<double>& before) const;
  /// The records of every node, the mean over both: each the sum of its halves.
  std::vector<double> mean(const std::vector<double>& records, const Chances& chances) const;

 private:
  /// Of each cell of node v: how likely the counts below v are if all records are in it, as a logarithm.
  std::vector<double> all_in_each(std::size_t v, double records) const;

  const features::DyadicTree& tree_;
  const std::vector<double>&counts_, &precision_;
  std::vector<double> empty_;  ///< of each node: the same if it has no records
};

}  // namespace muffle::pair_graph
