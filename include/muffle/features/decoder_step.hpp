#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "muffle/features/feature_map.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/features/principal_axes.hpp"
#include "muffle/features/stepped.hpp"

namespace muffle::features {

/// From a record's code back to a record: dec(u) = back(u) + V relu(A z), z = (1, u / c), u the code that a
/// public affine lift makes of a record, or that lies along principal axes; c is unit(). Public.
struct Decoder {
  std::shared_ptr<const Lift> lift;           ///< built, affine; null: the axes
  std::shared_ptr<const PrincipalAxes> axes;  ///< null: the lift
  std::size_t hidden = 0;                     ///< H
  /// A: H x (n + 1), then V: d x H, row-major. Rounded to single precision, as a release's readers have them.
  std::vector<float> weights;

  std::size_t inputs() const { return 1 + (lift ? lift->coefficients() : axes->count()); }
  std::size_t outputs() const { return lift ? lift->dims() : axes->dims(); }
  const float* first() const { return weights.data(); }
  const float* second() const { return weights.data() + hidden * inputs(); }

  /// The lift's default offset, which the axes have of as many numbers.
  double unit() const;
  /// @param u  a row of `stride` >= n numbers for each record
  void encode(std::span<const float* const> records, double* u, std::size_t stride) const;
  /// @param x  d numbers, not clipped
  void back(const double* u, double* x) const;
  /// dec(enc(x)), not clipped. @param x, out  d numbers each; they may be the same
  void redraw(const float* x, float* out) const;
};

/// The kind "decoder-step" of feature maps (docs/reference/feature-maps.md): what a record's gradient of
/// |dec(enc(x)) - x|^2 / 2 is, brought to norm 1 at most.
class DecoderStepMap : public FeatureMap, public SteppedFeatures {
 public:
  /// @throws InvariantError  its weights are not known (SteppedFeatures::state()).
  virtual Decoder decoder() const = 0;
};

}  // namespace muffle::features
