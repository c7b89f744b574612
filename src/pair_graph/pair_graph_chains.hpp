// Records of one class's law that the fit draws, and what they say about its pairs.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/pair_graph/pair_graph.hpp"
#include "pair_graph_gibbs.hpp"

namespace muffle::pair_graph {

/// The noise of a release in a class's pairs.
struct CellNoise {
  double cells = 1;  ///< of a pair
  double share = 0;  ///< standard deviation in a cell, as a share of the class's records
};

inline constexpr std::size_t kLeastChains = 2000, kMostChains = 20000;

/// How many records a step of the fit draws: so many that the mean of `averaged` steps has less chance in a
/// cell than three tenths of the release's noise, and at least four for each inverse of that noise (columns
/// are known better than cells); from kLeastChains to kMostChains. A step sees a pair of k cells from both
/// its columns: its chance in a cell is about 1 / sqrt(2 k records).
std::size_t chains_for(const CellNoise& noise, std::size_t averaged);

/// What records of a law say about its pairs: drawn as the sampler draws them, from the tree and by sweeps.
class Chains {
 public:
  /// @param codes  of each column, d; outlive this object
  Chains(const std::vector<std::size_t>& codes, const PairGraphLaw& law, std::size_t sweeps,
         std::uint32_t substream);

  /// Each pair's probabilities, first's codes x second's codes: means of the conditional laws that the last
  /// sweep meets (Rao and Blackwell), over `chains` new records of the law with these parameters.
  std::vector<Eigen::MatrixXd> show(const PairGraphLaw& law, std::size_t chains);

 private:
  const std::vector<std::size_t>& codes_;
  GibbsLaw law_;
  std::size_t sweeps_;
  GibbsRecords records_;
  CounterStream random_;
  std::uint64_t next_ = 0;                ///< record
  std::vector<GibbsLaw::Meetings> seen_;  ///< d
};

}  // namespace muffle::pair_graph
