#include <torch/torch.h>

#include "muffle/core/error.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/model/map_twin.hpp"

namespace muffle::model {

#define MUFFLE_KIND(kind) TwinKind kind##_twin();
#include "twin_kinds.inc"

std::span<const TwinKind> twin_kinds() {
  static const std::vector<TwinKind> table{
#define MUFFLE_KIND(kind) kind##_twin(),
#include "twin_kinds.inc"
  };
  return table;
}

torch::Tensor MapTwin::target(std::span<const std::int64_t> sums, double scale, double records) const {
  std::vector<float> mean(sums.size());
  const double all = records * scale;
  for (std::size_t i = 0; i < sums.size(); ++i)
    mean[i] = static_cast<float>(static_cast<double>(sums[i]) / all);
  return torch::tensor(mean, torch::kFloat32).view({place_.classes, -1}).to(place_.like);
}

double MapTwin::noise_square(std::span<const double> sigmas, double scale, double records) const {
  const double noise = sigmas[0] / (records * scale);
  return noise * noise * static_cast<double>(numbers_);
}

std::unique_ptr<MapTwin> make_twin(const features::FeatureMap& map, const TwinPlace& place) {
  require(twin_columns(map) > 0, "a map without a twin was to be trained on: this is a bug in muffle.");
  return find_kind(twin_kinds(), map.kind(), "twin of a feature map").make(map, place);
}

}  // namespace muffle::model
