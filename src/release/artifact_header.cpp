#include "artifact_header.hpp"

#include <fmt/format.h>

#include <limits>

#include "muffle/core/error.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxMaps = 64, kMaxRuns = 16;
constexpr char kMechanism[] = "rounded Gaussian on the integer lattice";

const char* name_of(features::MapRole role) { return role == features::MapRole::kProxy ? "proxy" : "match"; }

/// A run of the noise's parts, {count, unit, sigma_lattice}.
json run_to_header(const privacy::NoiseRun& run) {
  return {{"count", run.count}, {"unit", run.unit}, {"sigma_lattice", run.sigma_lattice}};
}

privacy::NoiseRun read_run(const JsonFields& f) {
  return {f.integer("count", 1, std::uint64_t{1} << 40), f.number("unit"),
          f.integer("sigma_lattice", 1, privacy::kMaxSigmaLattice)};
}

/// The map of this kind that `key` describes. @throws ProtocolError.
std::shared_ptr<const features::FeatureMap> read_description(const JsonFields& f, const char* key,
                                                             const std::string& kind,
                                                             const schema::Schema& schema) {
  std::unique_ptr<features::FeatureMap> map;
  try {
    map = features::make_map(kind);
  } catch (const ConfigError& e) {
    f.fail("kind", e.what());
  }
  map->read_json(f.object(key));
  // What a release states is resolved already: resolving it changes nothing.
  try {
    map->resolve(schema);
  } catch (const ConfigError& e) {
    f.fail(key, std::string("describes no map of such records: ") + e.what());
  }
  if (map->to_json() != f.at(key))
    f.fail(key, "is of other records than the schema's, or leaves something open");
  return map;
}

features::Workload read_workload(const JsonFields& f, const std::string& kind, const schema::Schema& schema) {
  f.only({"map", "weight", "rule"});
  features::Workload out{read_description(f, "map", kind, schema), f.number("weight"),
                         f.integer("rule", 1, 1 << 16)};
  if (!out.map->has_tables()) f.fail("map", "is no map of counts");
  return out;
}

/// Reads an entry of `maps` into the maps, their hashes, the bounds and the noise parts, by the schema.
void read_map(const JsonFields& f, Artifact& a) {
  features::NamedMap named;
  named.name = f.text("name", 32);
  named.role =
      f.choice("role", {"match", "proxy"}) == 0 ? features::MapRole::kMatch : features::MapRole::kProxy;
  named.weight = f.number("weight");
  if (f.has("round")) named.round = f.integer("round", 2, privacy::kMostRounds);
  const std::string kind = f.text("kind", 64);
  named.map = read_description(f, "map", kind, a.schema);
  if (f.has("chosen_from")) named.workload = read_workload(f.object("chosen_from"), kind, a.schema);
  a.map_hashes.push_back(f.text("map_sha256", 64));
  const JsonFields bound = f.object("bound");
  a.noise.sensitivity_input.blocks.push_back(
      {bound.number("norm"), bound.flag("nonnegative_kernel"), bound.text("theorem", 1 << 12)});
  privacy::NoisePart part{{}, a.classes()};
  for (const JsonFields& run : f.objects("numbers", kMaxRuns)) part.runs.push_back(read_run(run));
  a.noise.parts.push_back(std::move(part));
  a.maps.push_back(std::move(named));
}

void read_aggregation(const JsonFields& f, Artifact& a) {
  privacy::AggregationMode& mode = a.aggregation;
  const std::size_t which = f.choice("mode", {"single coordinator", "masked", "distributed noise"});
  mode.masked = which >= 1;
  mode.distributed = which == 2;
  mode.signed_keys = f.flag("signed_keys");
  mode.colluding = static_cast<int>(f.integer("colluding_ranks", 0, std::numeric_limits<int>::max()));
  mode.ranks = a.ranks;
  mode.sites = static_cast<int>(f.integer("sites", 0, std::numeric_limits<int>::max()));
  mode.largest_site = static_cast<int>(f.integer("largest_site", 0, std::numeric_limits<int>::max()));
}

void read_privacy(const JsonFields& f, Artifact& a) {
  (void)f.choice("mechanism", {kMechanism});
  a.adjacency = f.choice("adjacency", {to_string(privacy::Adjacency::kReplaceOne),
                                       to_string(privacy::Adjacency::kAddRemoveOne)}) == 0
                    ? privacy::Adjacency::kReplaceOne
                    : privacy::Adjacency::kAddRemoveOne;
  a.max_records_per_person = f.integer("max_records_per_person", 1, privacy::kMaxRecordsPerPerson);
  privacy::NoisePlan& noise = a.noise;
  noise.epsilon = f.number("epsilon");
  noise.delta = f.number("delta");
  noise.noise_multiplier = f.number("noise_multiplier");
  noise.sensitivity.value = f.number("sensitivity");
  noise.sensitivity.derivation = f.text("sensitivity_derivation", 1 << 16);
  noise.sigma = f.number("sigma");
}

void read_counts(const JsonFields& f, Artifact& a) {
  a.counts = f.flag("released");
  a.counts_weight = f.number("weight");
  if (a.counts) a.noise.parts.push_back({{read_run(f.object("numbers"))}, 1});
}

/// Whether the header is what this muffle would have written for what it says: no field more, which readers
/// would show or ignore as they please, and none left out. (None twice: parse_container().)
bool is_own_spelling(const json& header, std::uint64_t count, const Artifact& a) {
  json own = to_header(a);
  own["values"]["count"] = count;  // the values themselves are not read yet
  return own == header;
}

}  // namespace

json map_to_header(const Artifact& a, std::size_t b) {
  const features::NamedMap& map = a.maps.at(b);
  const features::BlockBound& bound = a.noise.sensitivity_input.blocks.at(b);
  json runs = json::array();
  for (const privacy::NoiseRun& run : a.noise.parts.at(b).runs) runs.push_back(run_to_header(run));
  json header = {
      {"name", map.name},
      {"kind", map.map->kind()},
      {"role", name_of(map.role)},
      {"map", map.map->to_json()},
      {"map_sha256", a.map_hashes.at(b)},
      {"weight", map.weight},
      {"bound",
       {{"norm", bound.norm}, {"nonnegative_kernel", bound.nonnegative_kernel}, {"theorem", bound.theorem}}},
      {"numbers", runs}};
  if (map.round > 1) header["round"] = map.round;
  if (map.workload) {
    const features::Workload& from = *map.workload;
    header["chosen_from"] = {{"map", from.map->to_json()}, {"weight", from.weight}, {"rule", from.rule}};
  }
  return header;
}

json to_header(const Artifact& a) {
  json maps = json::array();
  for (std::size_t b = 0; b < a.maps.size(); ++b) maps.push_back(map_to_header(a, b));
  json counts = {{"released", a.counts}, {"weight", a.counts_weight}};
  if (a.counts) counts["numbers"] = run_to_header(a.noise.parts.back().runs.front());
  json header = {
      {"format", "muffle-release"},
      {"version", kArtifactVersion},
      {"muffle_version", a.muffle_version},
      {"private", a.is_private},
      {"maps", maps},
      {"schema", schema::to_json(a.schema)},
      {"lattice_bits", a.lattice.bits},
      {"counts", counts},
      {"records", a.records},
      {"ranks", a.ranks},
      {"aggregation",
       {{"mode", privacy::name_of(a.aggregation)},
        {"signed_keys", a.aggregation.signed_keys},
        {"colluding_ranks", a.aggregation.colluding},
        {"sites", a.aggregation.sites},
        {"largest_site", a.aggregation.largest_site}}},
      {"config_sha256", a.config_hash},
      {"ledger", {{"data_id", a.data_id}, {"charge", a.ledger_charge}}},
      {"privacy",
       {{"mechanism", kMechanism},
        {"adjacency", to_string(a.adjacency)},
        {"max_records_per_person", a.max_records_per_person},
        {"epsilon", a.noise.epsilon},
        {"delta", a.noise.delta},
        {"noise_multiplier", a.noise.noise_multiplier},
        {"sensitivity", a.noise.sensitivity.value},
        {"sensitivity_derivation", a.noise.sensitivity.derivation},
        {"sigma", a.noise.sigma}}},
      {"values",
       {{"count", a.values.size()},
        {"type", "int64 little-endian"},
        {"layout", "maps of classes x features, then counts"}}},
  };
  if (!a.is_private) header["warning"] = kNotPrivate;
  return header;
}

Artifact from_header(const json& header, const std::string& name) {
  const JsonDocument document{
      name, "a release that muffle can use",
      "Copy the file again from where it was made; a release must not be drawn again to replace it."};
  const JsonFields f(header, document);
  Artifact a;
  a.muffle_version = f.text("muffle_version", 64);
  a.is_private = f.flag("private");
  a.schema = schema::read_schema(f.object("schema"));
  a.lattice.bits = static_cast<int>(f.integer("lattice_bits", 8, 24));
  for (const JsonFields& entry : f.objects("maps", kMaxMaps)) read_map(entry, a);
  read_counts(f.object("counts"), a);
  a.records = f.integer("records", 0, std::uint64_t{1} << 62);
  a.ranks = static_cast<int>(f.integer("ranks", 1, std::numeric_limits<int>::max()));
  read_aggregation(f.object("aggregation"), a);
  a.config_hash = f.text("config_sha256", 128);
  a.data_id = f.object("ledger").text("data_id", 128);
  a.ledger_charge = f.object("ledger").text("charge", 32);
  read_privacy(f.object("privacy"), a);
  a.noise.sensitivity_input.adjacency = a.adjacency;
  a.noise.sensitivity_input.counts = a.counts;
  a.noise.sensitivity_input.counts_weight = a.counts_weight;
  a.noise.sensitivity_input.max_records_per_person = a.max_records_per_person;
  const JsonFields values = f.object("values");
  (void)values.choice("type", {"int64 little-endian"});
  (void)values.choice("layout", {"maps of classes x features, then counts"});
  const std::uint64_t count = values.integer("count", 1, std::numeric_limits<std::uint64_t>::max());
  if (!is_own_spelling(header, count, a)) {
    throw ProtocolError(
        fmt::format("'{}' is not a release that muffle can use: its header has fields that this muffle does "
                    "not know, or lacks some that it writes. Copy the file again from where it was made, or "
                    "use the muffle that made it.",
                    name));
  }
  return a;
}

}  // namespace muffle::release
