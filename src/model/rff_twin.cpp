#include <torch/torch.h>

#include "by_class.hpp"
#include "muffle/features/rff.hpp"
#include "muffle/model/fourier_embedding.hpp"
#include "muffle/model/map_twin.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

Tensor frequencies_of(const features::RffSpec& rff, const torch::TensorOptions& like) {
  return torch::tensor(features::rff_frequencies(rff), torch::kFloat32).view({-1, as_int(rff.dims)}).to(like);
}

class RffTwin : public MapTwin {
 public:
  RffTwin(const features::RffMap& map, const TwinPlace& place)
      : MapTwin(place, map.features()), embedding_(frequencies_of(map.spec(), place.like), place.classes) {}

  Tensor class_sums(const Tensor& x, const Tensor& labels) const override {
    return embedding_.class_sums(x, labels);
  }

 private:
  FourierEmbedding embedding_;
};

}  // namespace

TwinKind rff_twin() {
  return {"rff", [](const features::FeatureMap& map, const TwinPlace& place) -> std::unique_ptr<MapTwin> {
            return std::make_unique<RffTwin>(dynamic_cast<const features::RffMap&>(map), place);
          }};
}

}  // namespace muffle::model
