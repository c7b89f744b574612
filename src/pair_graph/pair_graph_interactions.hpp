// The posterior means of all pairs' interactions under one Gaussian law, whose scales are fitted to them.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "pair_graph_margins.hpp"

namespace muffle::pair_graph {

/// A pair's interaction R with independent noise in each cell.
struct NoisyInteraction {
  std::size_t first = 0, second = 0;  ///< columns
  Eigen::MatrixXd measured;           ///< double-centred, records
  double sigma = 0.0;                 ///< of the noise in a cell, records
  Eigen::VectorXd rows, columns;      ///< the columns' counts, on R's rows and columns
};

/// What is measured beside the product of the columns' counts, on the groups that a pair is counted on.
/// @returns  C of one for each of margins.pairs
std::vector<std::vector<NoisyInteraction>> noisy_interactions(const Margins& margins);

/// What is known of a pair's interaction.
struct Interaction {
  Eigen::MatrixXd mean;   ///< records
  double variance = 0.0;  ///< summed over the cells
  /// It says more than it leaves open: others would hide more of the joint law than they tell.
  bool is_seen() const { return mean.squaredNorm() > variance; }
};

/// R_ij ~ N(0, tau_ij K_i (x) K_j): K_i, shared by all partners of a column, says which of its codes tend to
/// move together, and how much. Beforehand it is guessed to be sqrt(count_x count_y) times what x and y
/// have in common, 1 for x = y and less the further they are apart, centred. K and tau are fitted by
/// expectation-maximisation; in the bases of the K's eigenvectors the noise stays independent, and each
/// number is multiplied by its variance over its variance and the noise's (Wiener). Pairs counted on coarser
/// groups than a column's codes have a K of their own for these groups.
std::vector<Interaction> posterior_means(const std::vector<NoisyInteraction>& pairs,
                                         const Heartbeat& heartbeat);

}  // namespace muffle::pair_graph
