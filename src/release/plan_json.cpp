#include "muffle/release/plan_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "artifact_header.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/json_text.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxRuns = 16;
constexpr char kMechanism[] = "rounded Gaussian on the integer lattice";

const char* name_of(features::MapRole role) { return role == features::MapRole::kProxy ? "proxy" : "match"; }

/// A run of the noise's parts, {count, unit, sigma_lattice}.
json run_json(const privacy::NoiseRun& run) {
  return {{"count", run.count}, {"unit", run.unit}, {"sigma_lattice", run.sigma_lattice}};
}

privacy::NoiseRun read_run(const JsonFields& f) {
  return {f.integer("count", 1, std::uint64_t{1} << 40), f.number("unit"),
          f.integer("sigma_lattice", 1, privacy::kMaxSigmaLattice)};
}

json map_json(const ReleasePlan& plan, std::size_t b) {
  const features::NamedMap& map = plan.maps.at(b);
  const features::BlockBound& bound = plan.noise.sensitivity_input.blocks.at(b);
  json runs = json::array();
  for (const privacy::NoiseRun& run : plan.noise.parts.at(b).runs) runs.push_back(run_json(run));
  json out = {{"name", map.name},
              {"kind", map.map->kind()},
              {"role", name_of(map.role)},
              {"map", map.map->to_json()},
              {"weight", map.weight},
              {"bound", {{"norm", bound.norm}, {"nonnegative_kernel", bound.nonnegative_kernel}}},
              {"numbers", runs}};
  if (!map.labelled) out["labelled"] = false;
  if (const features::Minibatches& m = map.minibatches)
    out["minibatches"] = {{"batches", m.batches}, {"epochs", m.epochs}, {"seed", m.seed}};
  if (map.round > 1) out["round"] = map.round;
  if (map.workload) {
    const features::Workload& from = *map.workload;
    out["chosen_from"] = {{"map", from.map->to_json()}, {"weight", from.weight}, {"rule", from.rule}};
  }
  return out;
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
  if (!out.map->tables()) f.fail("map", "is no map of counts");
  return out;
}

features::Minibatches read_minibatches(const JsonFields& f) {
  using features::Minibatches;
  f.only({"batches", "epochs", "seed"});
  return {f.integer("batches", 1, Minibatches::kMostBatches),
          f.integer("epochs", 1, Minibatches::kMostEpochs), f.integer("seed", 0, INT64_MAX)};
}

/// Reads an entry of `maps` into the maps, the bounds and the noise parts, by the schema.
void read_map(const JsonFields& f, ReleasePlan& plan) {
  features::NamedMap named;
  named.name = f.text("name", 32);
  named.role =
      f.choice("role", {"match", "proxy"}) == 0 ? features::MapRole::kMatch : features::MapRole::kProxy;
  named.weight = f.number("weight");
  if (f.has("labelled")) named.labelled = f.flag("labelled");
  if (f.has("minibatches")) named.minibatches = read_minibatches(f.object("minibatches"));
  if (f.has("round")) named.round = f.integer("round", 2, privacy::kMostRounds);
  const std::string kind = f.text("kind", 64);
  named.map = read_description(f, "map", kind, plan.schema);
  if (f.has("chosen_from")) named.workload = read_workload(f.object("chosen_from"), kind, plan.schema);
  const JsonFields bound = f.object("bound");
  plan.noise.sensitivity_input.blocks.push_back({bound.number("norm"),
                                                 bound.flag("nonnegative_kernel"),
                                                 {},
                                                 1.0,
                                                 named.labelled,
                                                 named.minibatches ? named.minibatches.epochs : 0});
  privacy::NoisePart part{{}, named.rows(plan.classes())};
  for (const JsonFields& run : f.objects("numbers", kMaxRuns)) part.runs.push_back(read_run(run));
  plan.noise.parts.push_back(std::move(part));
  plan.maps.push_back(std::move(named));
}

void read_privacy(const JsonFields& f, ReleasePlan& plan) {
  (void)f.choice("mechanism", {kMechanism});
  plan.adjacency = f.choice("adjacency", {to_string(privacy::Adjacency::kReplaceOne),
                                          to_string(privacy::Adjacency::kAddRemoveOne)}) == 0
                       ? privacy::Adjacency::kReplaceOne
                       : privacy::Adjacency::kAddRemoveOne;
  plan.max_records_per_person = f.integer("max_records_per_person", 1, privacy::kMaxRecordsPerPerson);
  privacy::NoisePlan& noise = plan.noise;
  noise.epsilon = f.number("epsilon");
  noise.delta = f.number("delta");
  noise.noise_multiplier = f.number("noise_multiplier");
  noise.sensitivity.value = f.number("sensitivity");
  noise.sigma = f.number("sigma");
}

void read_counts(const JsonFields& f, ReleasePlan& plan) {
  plan.counts = f.flag("released");
  plan.counts_weight = f.number("weight");
  if (plan.counts) plan.noise.parts.push_back({{read_run(f.object("numbers"))}, 1});
}

}  // namespace

void own_proof(ReleasePlan& plan) {
  privacy::NoisePlan& noise = plan.noise;
  for (std::size_t b = 0; b < plan.maps.size(); ++b) {
    const features::BlockBound own = plan.maps[b].bound();
    noise.sensitivity_input.blocks[b].theorem = own.theorem;
    noise.sensitivity_input.blocks[b].scale = own.scale;
  }
  noise.sensitivity = privacy::combined_sensitivity(noise.sensitivity_input);
}

json plan_json(const ReleasePlan& plan) {
  json maps = json::array();
  for (std::size_t b = 0; b < plan.maps.size(); ++b) maps.push_back(map_json(plan, b));
  json counts = {{"released", plan.counts}, {"weight", plan.counts_weight}};
  if (plan.counts) counts["numbers"] = run_json(plan.noise.parts.back().runs.front());
  return {{"maps", std::move(maps)},
          {"schema", schema::to_json(plan.schema)},
          {"lattice_bits", plan.lattice.bits},
          {"counts", std::move(counts)},
          {"records", plan.records},
          {"privacy",
           {{"mechanism", kMechanism},
            {"adjacency", to_string(plan.adjacency)},
            {"max_records_per_person", plan.max_records_per_person},
            {"epsilon", plan.noise.epsilon},
            {"delta", plan.noise.delta},
            {"noise_multiplier", plan.noise.noise_multiplier},
            {"sensitivity", plan.noise.sensitivity.value},
            {"sigma", plan.noise.sigma}}}};
}

ReleasePlan read_plan(const JsonFields& f) {
  ReleasePlan plan;
  plan.schema = schema::read_schema(f.object("schema"));
  plan.lattice.bits = static_cast<int>(f.integer("lattice_bits", 8, 24));
  for (const JsonFields& entry : f.objects("maps", kMostMaps)) read_map(entry, plan);
  read_counts(f.object("counts"), plan);
  plan.records = f.integer("records", 0, std::uint64_t{1} << 62);
  read_privacy(f.object("privacy"), plan);
  plan.noise.sensitivity_input.adjacency = plan.adjacency;
  plan.noise.sensitivity_input.counts = plan.counts;
  plan.noise.sensitivity_input.counts_weight = plan.counts_weight;
  plan.noise.sensitivity_input.max_records_per_person = plan.max_records_per_person;
  const auto person = plan.schema.table ? plan.schema.table->counted_person() : std::nullopt;
  if (person && plan.schema.table->columns[*person].rows > plan.max_records_per_person)
    f.fail("schema", "counts more rows of a person than privacy.max_records_per_person");
  return plan;
}

std::string plan_text(const ReleasePlan& plan) { return plan_json(plan).dump(); }

ReleasePlan parse_plan(std::string_view text, const std::string& name) {
  const json parsed = parse_json(text);
  const JsonDocument document{name, "a release plan that muffle can use",
                              "Copy it again from where it was made, or use the muffle that made it."};
  const JsonFields f(parsed, document);
  ReleasePlan plan = read_plan(f);
  // No field more, which readers would show or ignore as they please, and none left out.
  if (plan_text(plan) != text) f.fail("", "has fields that this muffle does not know, or another spelling");
  if (const std::vector<std::string> wrong = plan_contradictions(plan); !wrong.empty())
    f.fail("", fmt::format("contradicts itself: {}", fmt::join(wrong, "; ")));
  own_proof(plan);
  return plan;
}

std::string plan_hash(const ReleasePlan& plan) {
  json own = plan_json(plan);
  for (json& map : own["maps"]) {
    if (!map.contains("round")) continue;
    map.erase("map");
    map.erase("numbers");
  }
  return to_hex(sha256(PublicBytes("muffle release plan 1\n" + own.dump())));
}

}  // namespace muffle::release
