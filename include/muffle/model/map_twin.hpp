#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <span>

#include "muffle/model/twin_kind.hpp"

namespace muffle::model {

/// Where a twin computes.
struct TwinPlace {
  std::int64_t classes = 1;  ///< C
  /// Device and type (float32, or float64 in tests) of the generated records.
  torch::TensorOptions like = torch::TensorOptions(torch::kFloat32);
};

/// A feature map's sums over generated records: what training compares with the released sums over private
/// ones, in an order of columns of its own. Works on public data only. A kind derives from this, in a file
/// <kind>_twin.cpp, and has a line in twin_kinds.inc. Immutable.
class MapTwin {
 public:
  /// @param columns  of class_sums()
  MapTwin(const TwinPlace& place, std::size_t columns) : place_(place), numbers_(columns) {}
  virtual ~MapTwin() = default;
  /// sum_i phi(x_i) e_{y_i}^T over the given records only (no communication): C x columns. Differentiable in
  /// x. A squared distance of two such sums is that of their features.
  /// @param x       n x d, or relaxed records (takes_relaxed()); n may be 0
  /// @param labels  n, int64, in 0..C-1
  virtual torch::Tensor class_sums(const torch::Tensor& x, const torch::Tensor& labels) const = 0;
  /// Released sums as the mean embedding that class_sums() / records is to resemble: C x columns, where the
  /// twin computes. This one is of twins whose columns are the map's numbers as released, all in one unit.
  /// @param sums     C x D lattice units, class-major, as the map releases them
  /// @param scale    FeatureMap::scale()
  /// @param records  m
  virtual torch::Tensor target(std::span<const std::int64_t> sums, double scale, double records) const;
  /// Expected ||noise||^2 in a row of target(). @param sigmas  of each run of coordinates(), lattice units
  virtual double noise_square(std::span<const double> sigmas, double scale, double records) const;

 protected:
  const TwinPlace& place() const { return place_; }

 private:
  TwinPlace place_;
  std::size_t numbers_;  ///< columns of class_sums()
};

/// @throws InvariantError  the map has none (twin_columns()).
std::unique_ptr<MapTwin> make_twin(const features::FeatureMap& map, const TwinPlace& place);

}  // namespace muffle::model
