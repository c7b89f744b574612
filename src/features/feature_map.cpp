#include "muffle/features/feature_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "muffle/features/gaussian_features.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/features/pairs.hpp"

namespace muffle::features {

#define MUFFLE_KIND(kind) MapKind kind##_map();
#include "map_kinds.inc"

std::span<const MapKind> map_kinds() {
  static const std::vector<MapKind> table{
#define MUFFLE_KIND(kind) kind##_map(),
#include "map_kinds.inc"
  };
  return table;
}

std::unique_ptr<FeatureMap> make_map(std::string_view kind) {
  return find_kind(map_kinds(), kind, "feature map").make();
}

std::string second_moments_maps() {
  return names_where(map_kinds(), [](const MapKind& kind) { return kind.make()->second_moments(); });
}

std::string tables_maps() {
  return names_where(map_kinds(), [](const MapKind& kind) { return kind.make()->tables(); });
}

std::string gaussian_maps() {
  return names_where(map_kinds(), [](const MapKind& kind) { return gaussian_features(*kind.make()); });
}

std::string counting_maps() {
  return names_where(map_kinds(),
                     [](const MapKind& kind) { return kind.make()->counts_inside({}).has_value(); });
}

std::vector<bounds::NamedBound> named_bounds() {
  std::vector<bounds::NamedBound> out;
  for (const MapKind& kind : map_kinds()) {
    if (kind.bound.of != nullptr) out.push_back(kind.bound);
  }
  return out;
}

std::vector<CoordinateRun> FeatureMap::coordinates(const Lattice& lattice) const {
  return {{features(), std::ldexp(1.0, lattice.bits)}};
}

void FeatureMap::require_no_overflow(std::uint64_t records, const Lattice& lattice) const {
  features::require_no_overflow(records, lattice);
}

bool NamedMap::is_plain(const Lattice& lattice) const {
  return !map->second_moments() && !map->tables() && !map->steps() && !map->counts_inside(lattice);
}

BlockBound NamedMap::bound() const {
  BlockBound out = weighted(map->bound(), weight);
  out.labelled = labelled;
  return minibatches ? in_minibatches(std::move(out), minibatches.epochs) : out;
}

std::vector<CoordinateRun> NamedMap::coordinates(const Lattice& lattice) const {
  return weighted(map->coordinates(lattice), weight);
}

PlainFacts NamedMap::plain_facts(const Lattice& lattice) const {
  PlainFacts facts = map->plain_facts(lattice);
  facts.norm *= weight;
  if (minibatches) facts.norm *= std::sqrt(static_cast<long double>(minibatches.epochs));
  for (PlainFacts::Run& run : facts.runs) run.unit /= weight;
  return facts;
}

bool minibatches_in(std::span<const NamedMap> maps) {
  return std::ranges::any_of(maps, [](const NamedMap& map) { return static_cast<bool>(map.minibatches); });
}

void find_assets(std::vector<NamedMap>& maps, const AssetFiles& files) {
  for (NamedMap& map : maps) {
    const Asset* const asset = map.map->asset();
    if (asset == nullptr) continue;
    const auto found = files.find(asset->digest);
    if (found == files.end()) continue;
    std::unique_ptr<FeatureMap> copy = map.map->clone();
    copy->asset()->file = found->second;
    map.map = std::move(copy);
  }
}

bool is_map_name(std::string_view text) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && text.size() <= 32 && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

void MapSettings::declare(settings::Keys& keys) {
  keys.stage(settings::Stage::kRelease);
  keys.word(
      "kind", names_of(map_kinds()), "which feature map",
      [this](const std::string& kind) {
        if (!map || map->kind() != kind) map = make_map(kind);
      },
      [this] { return std::string(map ? map->kind() : ""); });
  keys.choice("role", role, {{"match", MapRole::kMatch}, {"proxy", MapRole::kProxy}},
              "match: generators are made from it; proxy: two models are compared by it");
  keys.number("weight", weight, {1e-6, 1e6},
              "scales the map beside others: the larger, the less of the noise falls on it");
  keys.flag("labelled", labelled,
            "false: one mean over all classes, of maps that networks are trained on: a class's noise is the "
            "whole's");
  keys.count("minibatches", minibatches.batches, 0, Minibatches::kMostBatches,
             "N: the map's sums are released for each of N public minibatches of each epoch, as the first "
             "version of DP-MERF does, of networks' maps; 0: of all records together");
  keys.count("epochs", minibatches.epochs, 1, Minibatches::kMostEpochs,
             "with minibatches: how often each record is in one; each makes the noise sqrt(epochs) larger");
  keys.count("partition_seed", minibatches.seed, 0, INT64_MAX,
             "with minibatches: which records are together");
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

AssetFiles MapsSettings::assets(const schema::Schema& schema) const {
  AssetFiles files;
  for (const auto& [name, settings] : maps) {
    if (!settings.map) continue;
    const std::unique_ptr<FeatureMap> map = settings.map->clone();
    map->prepare(schema);
    const Asset* const asset = std::as_const(*map).asset();
    if (asset != nullptr && !asset->file.empty()) files[asset->digest] = asset->file;
  }
  return files;
}

std::vector<NamedMap> MapsSettings::resolved(const schema::Schema& schema) const {
  std::vector<NamedMap> out;
  settings::Problems problems;
  for (const auto& [name, settings] : maps) {
    problems.check(fmt::format("[map.{}]: ", name), [&, &name = name, &settings = settings] {
      if (!settings.map)
        throw ConfigError(fmt::format("it has no kind: write kind = {}.",
                                      names_where(map_kinds(), [](const MapKind&) { return true; })));
      std::unique_ptr<FeatureMap> map = settings.map->clone();
      map->resolve(schema);
      out.push_back({name, settings.role, settings.weight, std::move(map)});
      out.back().labelled = settings.labelled && out.back().map->steps() == nullptr;
      const Minibatches& m = out.back().minibatches = settings.minibatches;
      if (!m && m != Minibatches{})
        throw ConfigError("epochs and partition_seed are said of a map with minibatches: set them, too");
    });
  }
  if (!problems.empty()) throw ConfigError(fmt::format("{}.", fmt::join(problems.take(), "; ")));
  return out;
}

}  // namespace muffle::features
