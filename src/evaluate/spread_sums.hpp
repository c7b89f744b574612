#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>

#include "frechet.hpp"
#include "muffle/core/heartbeat.hpp"
#include "muffle/data/source.hpp"

namespace muffle::evaluate {

/// Sums of what a network makes of images, in double. Memory does not grow with the images: F^2.
class SpreadSums {
 public:
  /// @param activations  n x F
  void add(const torch::Tensor& activations);
  std::int64_t records() const { return n_; }
  /// Divides by n, and by n - 1 in the covariance: of two records or more.
  Spread spread() const;

 private:
  std::int64_t n_ = 0;
  torch::Tensor sum_, products_;
};

/// What a network makes of images. @param x  n x dims, scaled to [0, 1] @returns n x F.
using Activations = std::function<torch::Tensor(const torch::Tensor& x)>;

/// Of real records, read as a stream, without those that the schema does not know (on_error clamp).
/// @throws IoError, DataError: also of fewer than two records.
Spread spread_of_records(const data::DataSpec& spec, const Activations& activations,
                         const Heartbeat& heartbeat);

}  // namespace muffle::evaluate
