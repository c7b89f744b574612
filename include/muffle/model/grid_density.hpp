#pragma once

#include <cstddef>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/release/noisy_moments.hpp"

namespace muffle::model {

/// Densities of records of a few numbers, constant on the cells of a grid over [0, 1]^d. Public.
struct GridDensity {
  std::size_t dims = 0;  ///< d
  std::size_t side = 0;  ///< cells a number
  /// C of side^d masses >= 0, each class summing to 1; the last number's cells lie beside one another.
  std::vector<std::vector<double>> mass;
};

/// Records of more numbers have too many cells.
inline constexpr std::size_t kMaxGridDims = 3;
/// Cells for records of d numbers: as many as memory and time allow (about 2,000 in all).
std::size_t grid_side(std::size_t dims);

/// The density whose second moments come closest to the noisy ones: with z(g) the lift's vector in the middle
/// of cell g, it minimises || sum_g p_g z(g) z(g)^T - S_c / n_c ||_F over p >= 0, which needs no more than
/// the kernel (z(g) . z(g'))^2 and the quadratic forms z(g)^T S_c z(g): D is never expanded. Any lift will
/// do. Accelerated projected gradient, stopped early: more steps fit the noise. A class whose number of
/// records the noise hides gets the density of all. @throws DataError  the noise hides even the sum of all
/// classes.
///  ConfigError  records of more than kMaxGridDims numbers.
/// @param heartbeat  called between the steps
GridDensity fit_grid_density(const release::NoisyMoments& moments, const Heartbeat& heartbeat = {});

}  // namespace muffle::model
