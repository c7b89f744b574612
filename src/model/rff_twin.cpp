#include <torch/torch.h>

#include "as_int.hpp"
#include "muffle/features/rff.hpp"
#include "muffle/model/fourier_embedding.hpp"
#include "muffle/model/map_twin.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

const features::RffSpec& spec_of(const features::FeatureMap& map) {
  return dynamic_cast<const features::RffMap&>(map).spec();
}

Tensor frequencies_of(const features::RffSpec& rff, const torch::TensorOptions& like) {
  return torch::tensor(features::rff_frequencies(rff), torch::kFloat32)
      .view({-1, as_int(rff.dims)})
      .to(like.device(), c10::typeMetaToScalarType(like.dtype()));
}

class RffTwin : public MapTwin {
 public:
  RffTwin(const features::RffSpec& rff, const TwinPlace& place)
      : embedding_(frequencies_of(rff, place.like), place.classes), like_(place.like) {}

  Tensor class_sums(const Tensor& x, const Tensor& labels) const override { return embedding_.class_sums(x, labels); }

  Tensor target(std::span<const std::int64_t> sums, double scale, double records) const override {
    std::vector<float> mean(sums.size());
    const double all = records * scale;
    for (std::size_t i = 0; i < sums.size(); ++i) mean[i] = static_cast<float>(static_cast<double>(sums[i]) / all);
    return torch::tensor(mean, torch::kFloat32).view({embedding_.classes(), -1}).to(like_);
  }

  double noise_square(std::span<const double> sigmas, double scale, double records) const override {
    const double noise = sigmas[0] / (records * scale);
    return noise * noise * static_cast<double>(embedding_.features());
  }

 private:
  FourierEmbedding embedding_;
  torch::TensorOptions like_;
};

}  // namespace

TwinKind rff_twin() {
  return {"rff", [](const features::FeatureMap& map) { return map.features(); },
          [](const features::FeatureMap& map, const TwinPlace& place) -> std::unique_ptr<MapTwin> {
            return std::make_unique<RffTwin>(spec_of(map), place);
          }};
}

}  // namespace muffle::model
