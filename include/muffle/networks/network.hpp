#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "muffle/features/perceptual.hpp"

namespace muffle::networks {

/// The network of a perceptual map, opened. Immutable and thread-safe; it computes on the calling thread's
/// threads.
class Network {
 public:
  /// Reads the file that the spec names, once, and tries it with public images on the CPU.
  /// @param like  device and floating-point type of the images that it will see
  /// @throws ConfigError  no file; not the one whose hash is stated; it does not run; its outputs have other
  /// shapes than its manifest says, are not finite, or are negative where it declares that none is; one
  /// image's outputs could depend on those that came before it (the network changes its own attributes).
  Network(const features::PerceptualSpec& spec, const torch::TensorOptions& like);
  ~Network();

  /// The outputs of the spec's layers, each n x channels x height x width. Differentiable in x.
  /// @param x  n x d, images in [0, 1] as records have them
  std::vector<torch::Tensor> outputs(const torch::Tensor& x) const;
  /// All that it does is known to treat the images of a batch one by one.
  bool treats_images_apart() const;

 private:
  struct Opened;
  std::unique_ptr<const Opened> opened_;
};

/// Public images, for trying a network: n x d numbers in [0, 1], from Philox.
torch::Tensor trial_images(std::int64_t n, const features::PerceptualSpec& spec);

}  // namespace muffle::networks
