#include "muffle/core/error.hpp"
#include "muffle/model/map_twin.hpp"

namespace muffle::model {

#define MUFFLE_KIND(kind) TwinKind kind##_twin();
#include "twin_kinds.inc"
#undef MUFFLE_KIND

std::span<const TwinKind> twin_kinds() {
  static const std::vector<TwinKind> table{
#define MUFFLE_KIND(kind) kind##_twin(),
#include "twin_kinds.inc"
#undef MUFFLE_KIND
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

std::size_t twin_columns(const features::FeatureMap& map) {
  const TwinKind* const kind = kind_of(map);
  return kind == nullptr ? 0 : kind->columns(map);
}

std::unique_ptr<MapTwin> make_twin(const features::FeatureMap& map, const TwinPlace& place) {
  require(twin_columns(map) > 0, "a map without a twin was to be trained on: this is a bug in muffle.");
  return kind_of(map)->make(map, place);
}

}  // namespace muffle::model
