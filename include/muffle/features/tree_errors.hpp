#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "muffle/features/dyadic.hpp"

namespace muffle::features {

/// How the noisy counts of a DyadicTree err, once the best linear unbiased estimate has combined its levels
/// (release::NoisyTree has that estimate): the law depends on the noise alone, so it is known before there
/// are any counts. Public.
struct TreeErrors {
  DyadicTree tree;
  /// Of each node, the variance of what its own counts and those below it say of its records; of the root,
  /// that of the number of all. In squared records.
  std::vector<double> variance;

  /// Before there are counts: each level counted once, with noise of this standard deviation in each part,
  /// and the number of all records known. @param cells  1 or more
  static TreeErrors before_counting(std::size_t cells, double sigma);

  /// How far the distribution lies from the truth where it lies farthest: on average, and in 95 of 100
  /// releases at most; and the area between both, on average, over the cells' width together.
  struct Reach {
    double mean = 0.0, most = 0.0, area = 0.0;
  };
  /// @param known  the distribution: of each cell, the share of the records in it or below
  /// @param edges  of the cells, ascending; empty: all are equally wide
  Reach reach(double records, std::span<const double> known, std::span<const double> edges = {}) const;
};

/// The left half's part in what two halves miss of their node: its share of their variances.
double left_part(double left, double right);

}  // namespace muffle::features
