#pragma once

#include <Eigen/Core>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/features/moments.hpp"
#include "muffle/model/grid_density.hpp"
#include "muffle/model/model_info.hpp"

namespace muffle::model {

/// The closed-form generator: laws of records fitted to the second moments of a release (docs/moments.md).
/// Holds either `mean` and `factor` (affine lifts) or `grid` (all others). Public.
struct MomentsModel {
  ModelInfo info;                       ///< info.spec.kind is kMoments; info.spec.plain_share counts
  features::MomentsSpec lift;           ///< resolved
  std::vector<Eigen::VectorXd> mean;    ///< C of n: of the coefficients u
  std::vector<Eigen::MatrixXd> factor;  ///< C of n x n: u = mean + factor e, e standard normal
  std::optional<GridDensity> grid;
};

/// Fits the laws; one thread. Images take seconds; in general a class takes four diagonalisations of n x n,
/// of images five, whose time grows as n^3 (docs/moments.md). `info` becomes the model's.
/// @param between  called before each (of a density on a grid: before each step); may be empty. What it
/// throws ends the fit.
/// @throws DataError  the noise hides everything. ConfigError  a lift that is not affine, of too many
/// numbers, or a model that is larger than a model file.
MomentsModel fit_moments_model(const release::NoisyMoments& moments, ModelInfo info,
                               const std::function<void()>& between = {});

/// Bytes of numbers in the file of a Gaussian closed form (affine lifts): C of n + n^2.
double moments_model_bytes(const features::MomentsSpec& resolved_spec, std::size_t classes);

/// Layout of the model file of this kind (docs/artifact-format.md).
inline constexpr int kMomentsModelVersion = 2;

/// Atomic. @returns SHA-256 of the file in hex. @throws IoError.
std::string save_moments_model(const std::filesystem::path& path, const MomentsModel& model);
/// Full validation; allocates no more than a few times the bytes. @throws ProtocolError.
MomentsModel parse_moments_model(std::string_view bytes, const std::string& name);
/// Whether the bytes of a model file hold this kind; says nothing about their integrity.
bool holds_moments_model(std::string_view bytes);

}  // namespace muffle::model
