#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/features/feature_map.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/release/noisy_moments.hpp"
#include "muffle/sampling/sampler.hpp"

namespace muffle::moments {

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
/// records the noise hides gets the density of all. @throws DataError  the noise hides even the sum.
///  ConfigError  records of more than kMaxGridDims numbers.
/// @param heartbeat  called between the steps
GridDensity fit_grid_density(const release::NoisyMoments& moments, const Heartbeat& heartbeat = {});

/// The closed-form generator: laws of records fitted to the second moments of a release
/// (docs/explanation/moments.md). Public. Holds either `mean` and `factor` (affine lifts) or `grid`.
struct MomentsModel {
  features::SecondMoments moments;      ///< whose lift is built
  std::vector<Eigen::VectorXd> mean;    ///< C of n: of the coefficients u
  std::vector<Eigen::MatrixXd> factor;  ///< C of n x n: u = mean + factor e, e standard normal
  std::optional<GridDensity> grid;
  /// Affine lifts: the share of records whose numbers are the Gaussian's, clipped, from 0 to 1; the others
  /// keep mean and variance of each number through the clipping.
  double plain_share = 0.5;
};

/// Fits the laws; one thread. Images take seconds; in general a class takes six diagonalisations of n x n,
/// of images seven, whose time grows as n^3 (docs/explanation/moments.md).
/// @param heartbeat  called before each (of a density on a grid: before each step)
/// @throws ConfigError  a lift that is not affine, of too many numbers, or a model that is larger than a
/// model file.
MomentsModel fit_moments_model(const release::NoisyMoments& moments, double plain_share,
                               const Heartbeat& heartbeat = {});

/// The second moments that models are made of; null: there are none.
const features::SecondMoments* moments_of(const std::vector<features::NamedMap>& maps);
/// That the file of their Gaussian closed form can be read again. @param moments  affine
void check_model_size(const features::SecondMoments& moments, std::size_t classes,
                      settings::Problems& problems);

/// Substream of Stream::kSampleLatent with the coins that choose between a record's two laws.
inline constexpr std::uint32_t kCoinSubstream = 1;

/// How the numbers of one class's records follow from u = mean + factor e, g = back(u) - centre: d each.
struct PixelLaw {
  std::vector<double> centre;             ///< back(mean): the plain law is clip(centre + g)
  std::vector<double> location, stretch;  ///< of the law that keeps the moments: clip(location + stretch g)
};

/// Most of a pixel's stretch. A pixel near 0 whose variance is large by noise alone would ask for tens: it
/// would be black or white where its neighbours are grey, and be seen as salt.
inline constexpr double kMostStretch = 4.0;

/// Of images the stretch is at most kMostStretch: means are kept still, larger variances not.
PixelLaw make_pixel_law(const features::AffineLift& lift, const Eigen::VectorXd& mean,
                        const Eigen::MatrixXd& factor);

/// Affine lifts: u = mean + factor e, x = back(u) = mean record + g, and then each number of the record
/// follows one of two laws, by a coin of the record's own: clip(mean + g, 0, 1) with probability plain_share,
/// and clip(location + scale g / deviation, 0, 1) otherwise, whose mean and variance are those of the
/// Gaussian (clipped_normal.hpp), but for make_pixel_law()'s bound. Others: a cell of the grid by its
/// mass, and a uniform place in it.
std::unique_ptr<sampling::Sampler> make_sampler(const MomentsModel& model);

}  // namespace muffle::moments
