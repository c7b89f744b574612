#include "artifact_header.hpp"

#include <fmt/format.h>

#include <limits>

#include "map_header.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/schema/schema_json.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxMaps = 64;
constexpr char kMechanism[] = "rounded Gaussian on the integer lattice";

void read_aggregation(const JsonFields& f, Artifact& a) {
  privacy::AggregationMode& mode = a.aggregation;
  const std::size_t which = f.choice("mode", {"single coordinator", "masked", "distributed noise"});
  mode.masked = which >= 1;
  mode.distributed = which == 2;
  mode.signed_keys = f.flag("signed_keys");
  mode.colluding = static_cast<int>(f.integer("colluding_ranks", 0, std::numeric_limits<int>::max()));
  mode.ranks = a.ranks;
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
        {"colluding_ranks", a.aggregation.colluding}}},
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
