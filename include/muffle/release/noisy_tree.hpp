#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "muffle/features/tree_errors.hpp"
#include "muffle/release/noisy_tables.hpp"

namespace muffle::release {

/// What a release says of a number with learned bins: all levels of its tree of noisy counts together.
/// Public.
///
/// The levels' noise is independent, so the best linear unbiased estimate is exact in two passes: upward a
/// node's count is the inverse-variance mean of its own and of its halves' sum, downward what the halves miss
/// of their node goes to either by its variance. It says how well any range of cells is known. No law is
/// assumed, unlike the model's own estimate (src/pair_graph/tree_law.hpp), so its error is the noise's alone.
/// What later rounds counts in pairs is left out: the truth is known a little better than this says.
class NoisyTree {
 public:
  /// Of the column j, which has learned bins. None: not all of its tree was counted.
  static std::optional<NoisyTree> of(const NoisyTables& tables, std::size_t j);

  std::size_t cells() const { return errors_.tree.leaf.size(); }

  struct Count {
    double records = 0.0, sigma = 0.0;  ///< sigma: standard deviation of its noise
  };
  Count range(std::size_t first, std::size_t last) const;  ///< of cells first .. last - 1
  Count missing() const;                                   ///< of records without a value

  /// Of each cell: the share, of the records with a value, that lie in it or below; without bounds 0 and 1,
  /// as noise is in it.
  std::vector<double> distribution() const;

  /// How far distribution() lies from the truth. @param edges  of the cells, ascending; empty: equally wide
  features::TreeErrors::Reach reach(std::span<const double> edges = {}) const {
    return errors_.reach(counts_[0], distribution(), edges);
  }

 private:
  explicit NoisyTree(std::size_t cells) : errors_{features::DyadicTree(cells), {}} {}
  void combine(double records, bool records_known);

  /// The records of a range, given those of a node: slope times those, plus a constant, with so much
  /// variance.
  struct Part {
    double slope = 0.0, variance = 0.0;
  };
  Part part(std::size_t v, std::size_t first, std::size_t last) const;

  features::TreeErrors errors_;
  std::vector<double> counts_;  ///< of each node
  bool may_miss_ = false;
  double missing_ = 0.0, missing_variance_ = 0.0;
  double records_ = 0.0;
};

}  // namespace muffle::release
