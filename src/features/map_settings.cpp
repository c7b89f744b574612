#include "muffle/features/map_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "muffle/core/kinds.hpp"

namespace muffle::features {

MapSettings::MapSettings(const MapSettings& other)
    : role(other.role), weight(other.weight), map(other.map ? other.map->clone() : nullptr) {}

MapSettings& MapSettings::operator=(MapSettings other) {
  role = other.role;
  weight = other.weight;
  map = std::move(other.map);
  return *this;
}

void MapSettings::declare(settings::Keys& keys) {
  keys.stage(settings::Stage::kRelease);
  const std::vector<std::string> known = names_of(map_kinds());
  const std::string listed = fmt::format("\"{}\"", fmt::join(known, "\", \""));
  keys.add({"kind",
            {},
            "which feature map (" + listed + ")",
            [this, known, listed](const settings::Value& v) {
              if (v.kind != settings::Value::Kind::kString || std::ranges::find(known, v.text) == known.end())
                return settings::wanted("one of " + listed, v);
              if (!map || map->kind() != v.text) map = make_map(v.text);
              return std::string();
            },
            [this] { return settings::toml_string(map ? std::string(map->kind()) : ""); }});
  keys.choice("role", role, {{"match", MapRole::kMatch}, {"proxy", MapRole::kProxy}},
              "match: generators are made from it; proxy: two models are compared by it");
  keys.number("weight", weight, {1e-6, 1e6},
              "scales the map beside others: the larger, the less of the noise falls on it");
  if (map) map->declare(keys);
}

void MapsSettings::declare(settings::Keys& keys) {
  keys.stage(settings::Stage::kRelease);
  keys.count("lattice_bits", lattice.bits, 8, 24,
             "k of the integer lattice of counts and of maps without bits of their own");
}

void MapsSettings::prepare(const schema::Schema& schema) {
  for (auto& [name, settings] : maps) {
    if (settings.map) settings.map->prepare(schema);
  }
}

std::vector<NamedMap> MapsSettings::resolved(const schema::Schema& schema) const {
  std::vector<NamedMap> out;
  settings::Problems problems;
  for (const auto& [name, settings] : maps) {
    problems.check(fmt::format("[map.{}]: ", name), [&, &name = name, &settings = settings] {
      if (!settings.map)
        throw ConfigError("it has no kind: write kind = \"rff\" or another of `muffle config-keys`.");
      std::unique_ptr<FeatureMap> map = settings.map->clone();
      map->resolve(schema);
      out.push_back({name, settings.role, settings.weight, std::move(map)});
    });
  }
  if (!problems.empty()) throw ConfigError(fmt::format("{}.", fmt::join(problems.take(), "; ")));
  return out;
}

}  // namespace muffle::features
