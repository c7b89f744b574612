// How a node's records may be split between its halves, and what a noisy count says of it.
#pragma once

#include <array>
#include <cstddef>

namespace muffle::pair_graph {

/// What is thought beforehand of the left half's share theta: a mixture of laws. Some are the same for every
/// node (all in one half, nearly all, few, anything); four lie around a share that is expected of the node.
class SplitPrior {
 public:
  static constexpr std::size_t kCells = 144, kLaws = 11;
  using Weights = std::array<double, kLaws>;

  SplitPrior();

  /// What a count m of the left half, of noise sd, both over the node's records, says of the laws.
  struct Reading {
    Weights evidence;  ///< of each law: how likely it makes m, up to a factor
    Weights share;     ///< of each law: the same times the mean of theta given m
  };
  /// @param expected  the share that the four laws lie around, in (0, 1)
  Reading read(double m, double sd, double expected) const;

 private:
  static constexpr std::size_t kFixed = 5, kAround = 4, kSteps = 113;
  using Law = std::array<double, kCells>;  ///< of each cell of theta: its probability

  Law beta(double a, double b) const;

  std::array<double, kCells + 1> edge_;
  Law width_, middle_;
  std::array<Law, kFixed> fixed_;
  std::array<std::array<Law, kSteps>, kAround> around_;  ///< at shares of log odds -7, -6.875, ..., 7
};

}  // namespace muffle::pair_graph
