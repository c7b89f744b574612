#include "muffle/features/feature_map.hpp"

#include <algorithm>
#include <cmath>

#include "muffle/core/kinds.hpp"

namespace muffle::features {

#define MUFFLE_KIND(kind) MapKind kind##_map();
#include "map_kinds.inc"
#undef MUFFLE_KIND

std::span<const MapKind> map_kinds() {
  static const std::vector<MapKind> table{
#define MUFFLE_KIND(kind) kind##_map(),
#include "map_kinds.inc"
#undef MUFFLE_KIND
  };
  return table;
}

std::unique_ptr<FeatureMap> make_map(std::string_view kind) {
  return find_kind(map_kinds(), kind, "feature map").make();
}

std::vector<CoordinateRun> FeatureMap::coordinates(const Lattice& lattice) const {
  return {{features(), std::ldexp(1.0, lattice.bits)}};
}

void FeatureMap::require_no_overflow(std::uint64_t records, const Lattice& lattice) const {
  features::require_no_overflow(records, lattice);
}

BlockBound NamedMap::bound() const { return weighted(map->bound(), weight); }

std::vector<CoordinateRun> NamedMap::coordinates(const Lattice& lattice) const {
  return weighted(map->coordinates(lattice), weight);
}

PlainFacts NamedMap::plain_facts(const Lattice& lattice) const {
  PlainFacts facts = map->plain_facts(lattice);
  facts.norm *= weight;
  for (PlainFacts::Run& run : facts.runs) run.unit /= weight;
  return facts;
}

bool is_map_name(std::string_view text) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && text.size() <= 32 && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace muffle::features
