#include <torch/torch.h>

#include <string>

#include "labelled_records.hpp"
#include "muffle/core/error.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "muffle/networks/network.hpp"
#include "muffle/synth/sampler.hpp"
#include "spread_sums.hpp"

namespace muffle::evaluate {
namespace {

using torch::Tensor;

constexpr std::int64_t kImages = 16;    ///< that a network sees at a time
constexpr std::size_t kSamples = 1000;  ///< that are read at a time

/// The outputs of a public network.
class Outputs {
 public:
  explicit Outputs(const features::PerceptualSpec& spec)
      : pooled_(spec.pooled),
        network_(spec, torch::TensorOptions(torch::kFloat32)),
        images_(network_.treats_images_apart() ? kImages : 1) {}

  /// @param x  n x dims, scaled to [0, 1] @returns n x F, in double.
  Tensor of(const Tensor& x) const {
    const torch::NoGradGuard no_grad;
    std::vector<Tensor> all;
    for (std::int64_t first = 0; first < x.size(0); first += images_)
      all.push_back(some(x.slice(0, first, std::min(first + images_, x.size(0))).contiguous()));
    Tensor out = torch::cat(all);
    if (!torch::isfinite(out).all().item<bool>())
      throw DataError(
          "the network of evaluate.frechet_network makes numbers of an image that are not finite: choose "
          "other outputs (evaluate.frechet_layers), or another network.");
    return out;
  }

 private:
  Tensor some(const Tensor& x) const {
    try {
      std::vector<Tensor> layers;
      for (const Tensor& layer : network_.outputs(x)) {
        const Tensor numbers = layer.to(torch::kFloat64);
        layers.push_back(pooled_ ? numbers.mean({2, 3}) : numbers.flatten(1));
      }
      return torch::cat(layers, 1);
    } catch (const std::exception&) {  // what a network says may hold numbers of an image
      throw ConfigError(
          "the network of evaluate.frechet_network fails on an image, and what it says of it is not shown: "
          "use one that takes all images of its shape.");
    }
  }

  bool pooled_;
  networks::Network network_;
  std::int64_t images_;
};

/// Of the synthetic images, read as a stream.
SpreadSums sums_of_samples(const Subject& subject, const Outputs& outputs) {
  const auto dims = static_cast<std::int64_t>(subject.test.schema.dims());
  UnlabelledSamples samples(subject.samples, subject.test.schema);
  SpreadSums sums;
  for (std::vector<float> x = samples.next(kSamples); !x.empty(); x = samples.next(kSamples)) {
    beat(subject.heartbeat);
    sums.add(outputs.of(torch::from_blob(x.data(), {static_cast<std::int64_t>(x.size()) / dims, dims})));
  }
  if (sums.records() < 2)
    throw DataError("'" + subject.samples.string() +
                    "' has no two images to compare with real ones: make more (sample.count).");
  return sums;
}

}  // namespace

NetworkDistances network_distances(const Subject& subject, const features::PerceptualSpec& spec, bool own) {
  const synth::ScopedThreads threads(subject.threads);
  const Outputs outputs(spec);
  const Activations activations = [&](const Tensor& x) { return outputs.of(x); };
  const SpreadSums samples = sums_of_samples(subject, outputs);
  const Spread synthetic = samples.spread();
  NetworkDistances out;
  out.samples = static_cast<std::uint64_t>(samples.records());
  const Spread test = spread_of_records(subject.test, activations, subject.heartbeat);
  beat(subject.heartbeat);
  out.synthetic = FrechetDistance(test).to(synthetic);
  if (!own) return out;
  const FrechetDistance training(spread_of_records(subject.train, activations, subject.heartbeat));
  beat(subject.heartbeat);
  out.training = training.to(synthetic);
  out.floor = training.to(test);
  return out;
}

}  // namespace muffle::evaluate
