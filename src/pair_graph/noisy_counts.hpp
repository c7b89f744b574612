// Counts of single columns, cleaned of noise: most codes of most columns are rare, and noise must not make
// them frequent.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace muffle::pair_graph {

/// One column's counts with independent Gaussian noise of one variance.
struct NoisyCounts {
  Eigen::VectorXd counts;
  double variance = 0.0;
};

/// The counts where neighbouring codes tell of each other, as years of age do. Beforehand they are a random
/// function of the code with a spectrum 1 / (1 + (f / f_0)^2) and a share of white noise; the posterior mean
/// is averaged over scales, f_0 and shares by how likely they make the counts. So what has no order, or
/// spikes, is left as it is.
/// @returns  with the mean of the codes' variances. Fewer than 8 codes, or more than 1024, as they are.
NoisyCounts smoothed(const NoisyCounts& noisy);

/// The counts' posterior means, which sum to `records` in each column. How frequent codes are beforehand is
/// a law that all columns' codes share, uniform between powers of two, and is fitted to them by
/// expectation-maximisation (empirical Bayes).
std::vector<Eigen::VectorXd> posterior_counts(const std::vector<NoisyCounts>& columns, double records);

/// The nearest vector that is not negative and sums to `total`.
Eigen::VectorXd onto_simplex(const Eigen::VectorXd& v, double total);

}  // namespace muffle::pair_graph
