#include "map_header.hpp"

#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/privacy/gaussian.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxRuns = 16;

const char* name_of(features::MapRole role) { return role == features::MapRole::kProxy ? "proxy" : "match"; }

}  // namespace

json run_to_header(const privacy::NoiseRun& run) {
  return {{"count", run.count}, {"unit", run.unit}, {"sigma_lattice", run.sigma_lattice}};
}

privacy::NoiseRun read_run(const JsonFields& f) {
  return {f.integer("count", 1, std::uint64_t{1} << 40), f.number("unit"),
          f.integer("sigma_lattice", 1, privacy::kMaxSigmaLattice)};
}

json map_to_header(const Artifact& a, std::size_t b) {
  const features::NamedMap& map = a.maps.at(b);
  const features::BlockBound& bound = a.noise.sensitivity_input.blocks.at(b);
  json runs = json::array();
  for (const privacy::NoiseRun& run : a.noise.parts.at(b).runs) runs.push_back(run_to_header(run));
  return {
      {"name", map.name},
      {"kind", map.map->kind()},
      {"role", name_of(map.role)},
      {"map", map.map->to_json()},
      {"map_sha256", a.map_hashes.at(b)},
      {"weight", map.weight},
      {"bound",
       {{"norm", bound.norm}, {"nonnegative_kernel", bound.nonnegative_kernel}, {"theorem", bound.theorem}}},
      {"numbers", runs}};
}

void read_map(const JsonFields& f, Artifact& a) {
  features::NamedMap named;
  named.name = f.text("name", 32);
  named.role =
      f.choice("role", {"match", "proxy"}) == 0 ? features::MapRole::kMatch : features::MapRole::kProxy;
  named.weight = f.number("weight");
  std::unique_ptr<features::FeatureMap> map;
  try {
    map = features::make_map(f.text("kind", 64));
  } catch (const ConfigError& e) {
    f.fail("kind", e.what());
  }
  map->read_json(f.object("map"));
  // What a release states is resolved already: resolving it changes nothing.
  try {
    map->resolve(a.schema);
  } catch (const ConfigError& e) {
    f.fail("map", std::string("describes no map of such records: ") + e.what());
  }
  if (map->to_json() != f.at("map"))
    f.fail("map", "is of other records than the schema's, or leaves something open");
  named.map = std::move(map);
  a.map_hashes.push_back(f.text("map_sha256", 64));
  const JsonFields bound = f.object("bound");
  a.noise.sensitivity_input.blocks.push_back(
      {bound.number("norm"), bound.flag("nonnegative_kernel"), bound.text("theorem", 1 << 12)});
  privacy::NoisePart part{{}, a.classes()};
  for (const JsonFields& run : f.objects("numbers", kMaxRuns)) part.runs.push_back(read_run(run));
  a.noise.parts.push_back(std::move(part));
  a.maps.push_back(std::move(named));
}

}  // namespace muffle::release
