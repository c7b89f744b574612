#include <algorithm>

#include "muffle/core/kinds.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/features/mixed.hpp"
#include "muffle/model/twin_kind.hpp"

namespace muffle::model {
namespace {

struct NamedTwin {
  std::string name;
};

std::span<const NamedTwin> table() {
  static const std::vector<NamedTwin> twins{
#define MUFFLE_KIND(kind) {kind_name(#kind)},
#include "twin_kinds.inc"
  };
  return twins;
}

bool has_twin(std::string_view map) {
  return std::ranges::any_of(table(), [&](const NamedTwin& twin) { return twin.name == map; });
}

}  // namespace

std::size_t twin_columns(const features::FeatureMap& map) {
  if (!has_twin(map.kind())) return 0;
  const features::SecondMomentFeatures* const second = map.second_moments();
  if (second == nullptr) return map.features();
  // Both triangles of the matrix, of lifts that are drawn from by a normal law.
  const features::SecondMoments& moments = second->moments();
  return moments.lift->affine() == nullptr ? 0 : moments.order() * moments.order();
}

bool takes_relaxed(const features::FeatureMap& map) { return has_twin(map.kind()) && map.mixed() != nullptr; }

std::string trainable_maps() {
  return names_where(table(),
                     [](const NamedTwin& twin) { return !features::make_map(twin.name)->second_moments(); });
}

}  // namespace muffle::model
