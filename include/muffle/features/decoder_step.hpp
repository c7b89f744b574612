#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "muffle/features/feature_map.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/features/stepped.hpp"

namespace muffle::features {

/// From a record's code back to a record: dec(u) = back(u) + V relu(A z), z = (1, u / c), u the code that a
/// public affine lift makes of a record, c the lift's default offset. Public.
struct Decoder {
  std::shared_ptr<const Lift> lift;  ///< built, affine
  std::size_t hidden = 0;            ///< H
  /// A: H x (n + 1), then V: d x H, row-major. Rounded to single precision, as a release's readers have them.
  std::vector<float> weights;

  std::size_t inputs() const { return lift->coefficients() + 1; }
  std::size_t outputs() const { return lift->dims(); }
  const float* first() const { return weights.data(); }
  const float* second() const { return weights.data() + hidden * inputs(); }
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
