// Numbers that go up and down together.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "pair_graph_interactions.hpp"

namespace muffle::pair_graph {

/// What normal copulas say of the interactions of two numbers: of each pair the posterior mean, whose
/// correlation is beforehand a law that all pairs share (fitted by expectation-maximisation), and which the
/// noisy counts make likely or not. Values that are missing have no part in it. A table of numbers that rise
/// together has most of its records along its diagonal: no product of laws of single columns
/// (posterior_means()) knows that, and what noise adds beside the diagonal takes the correlation away. One
/// number, how strong it is, is known well where the cells are not.
/// @param order  d: of the columns
/// @returns  of each pair: nothing measured (mean of 0 x 0) unless both are numbers
std::vector<Interaction> rising_together(const std::vector<NoisyInteraction>& pairs,
                                         const std::vector<Order>& order, const Heartbeat& heartbeat);

/// Chances of two standard normal numbers to lie between thresholds, less the product of their own, for every
/// correlation that is looked at.
class NormalTables {
 public:
  static constexpr int kCorrelations = 41;
  static double correlation(int k);

  /// @param first, second  how many records lie in each interval
  NormalTables(const Eigen::VectorXd& first, const Eigen::VectorXd& second);
  /// Of correlation k: intervals of the first x of the second; rows and columns sum to 0.
  const Eigen::MatrixXd& of(int k) const { return tables_[static_cast<std::size_t>(k)]; }

 private:
  std::vector<Eigen::MatrixXd> tables_;
};

}  // namespace muffle::pair_graph
