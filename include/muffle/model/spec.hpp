#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "muffle/schema/schema.hpp"

namespace muffle::model {

enum class GeneratorKind {
  kFullyConnected,  ///< code + one-hot -> hidden layers (linear, batch norm, ReLU) -> linear -> sigmoid
  kConvolutional,   ///< code + one-hot -> FC -> FC -> 2x (bilinear x2, conv 5x5) -> sigmoid (spec section 7)
  kMoments,  ///< closed form: laws of records fitted to released second moments (model/moments_model.hpp)
};

/// A conditional generator's architecture: everything needed to rebuild it, without torch.
struct GeneratorSpec {
  GeneratorKind kind = GeneratorKind::kConvolutional;
  std::size_t code = 5;                  ///< length of the latent code z ~ N(0, I)
  std::vector<std::size_t> hidden{200};  ///< hidden widths (fully connected part)
  std::vector<std::size_t> channels{
      16, 8};  ///< convolutional: channels after the FC part, and between the convolutions
  /// moments, affine lifts: the share of records whose numbers are the Gaussian's, clipped, from 0 to 1; the
  /// others keep mean and variance of each number through the clipping.
  double plain_share = 0.5;
  /// A network beside the closed form of affine lifts (kMoments): records are clip(closed form + network),
  /// and the network starts at 0. `code` is then n, the closed form's own normal numbers.
  bool residual = false;
  schema::Schema schema;  ///< shape and classes of what it generates; output is in [0, 1]
};

}  // namespace muffle::model
