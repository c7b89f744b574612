#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "muffle/features/asset.hpp"
#include "muffle/features/feature_map.hpp"
#include "muffle/features/network_manifest.hpp"

namespace muffle::features {

/// How images of another size become the network's.
enum class Resize { kNone, kBilinear, kBicubic };

/// What a perceptual map is made by. Public; the path of the network's file stays here.
struct PerceptualSpec {
  Asset network;
  NetworkInput input;
  double flops = 0.0;  ///< of the network, one image
  Resize resize = Resize::kNone;
  bool nonnegative = false;          ///< no output is negative: declared, and checked of each record
  std::vector<NetworkLayer> layers;  ///< those that are released, in this order
  std::vector<double> weights;       ///< of each layer, relative to the others
  std::uint64_t moments = 1;         ///< 2: the squares of the outputs beside the outputs
  bool whole = false;                ///< one norm over all layers, as published; else one for each layer
  bool pooled = false;               ///< means over places, a number a channel
  std::vector<std::size_t> image;    ///< channels, height and width of a record

  /// Of one moment of a layer.
  std::size_t numbers(std::size_t layer) const {
    return pooled ? layers[layer].channels : layers[layer].numbers();
  }
  /// Of one moment of all layers.
  std::size_t numbers() const;
  /// The norm that a layer's part of either moment is brought to; those of all parts together are 1.
  /// With `whole` the norm of all layers' part.
  double share(std::size_t layer) const;
};

/// The kind "perceptual": normed outputs of a public network (DP-MEPF). What is described here needs no
/// LibTorch; the network is opened and run by networks::make_block() and the twin.
class PerceptualMap : public FeatureMap {
 public:
  virtual const PerceptualSpec& spec() const = 0;
};

/// A record's D lattice values, from the outputs of the spec's layers for it (float32, channel by channel).
/// @param features  D
/// @returns false  a number is not finite: the record adds nothing.
bool perceptual_features(const PerceptualSpec& spec, const Lattice& lattice,
                         std::span<const float* const> outputs, std::int32_t* features);

}  // namespace muffle::features
