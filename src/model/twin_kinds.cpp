#include <torch/torch.h>

#include "muffle/core/error.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/features/lift.hpp"
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

namespace {

/// Null: there is none.
const TwinKind* kind_of(const features::FeatureMap& map) {
  for (const TwinKind& kind : twin_kinds()) {
    if (kind.name == map.kind()) return &kind;
  }
  return nullptr;
}

}  // namespace

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

std::size_t twin_columns(const features::FeatureMap& map) {
  const TwinKind* const kind = kind_of(map);
  return kind == nullptr ? 0 : kind->columns(map);
}

bool takes_relaxed(const features::FeatureMap& map) {
  const TwinKind* const kind = kind_of(map);
  return kind != nullptr && kind->relaxed;
}

std::string trainable_maps() {
  return names_where(twin_kinds(),
                     [](const auto& twin) { return !features::make_map(twin.name)->second_moments(); });
}

std::unique_ptr<MapTwin> make_twin(const features::FeatureMap& map, const TwinPlace& place) {
  require(twin_columns(map) > 0, "a map without a twin was to be trained on: this is a bug in muffle.");
  return kind_of(map)->make(map, place);
}

}  // namespace muffle::model
