#include "muffle/release/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/core/json_text.hpp"
#include "muffle/features/stepped.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the file's integers are copied as they are");

constexpr char kFormat[] = "muffle-rounds";
constexpr int kVersion = 2;  // 1 did not say how the sums came together
/// Of the tables' JSON.
constexpr std::size_t kMostText = std::size_t{1} << 28;

JsonDocument document_of(const std::string& name) {
  return {name, "what a release of several rounds keeps",
          "Move it away: the same command then makes a new release, for a new charge."};
}

/// Of a map that may be released in rounds.
bool is_of_rounds(const features::FeatureMap& map) { return map.tables() || map.steps(); }

json tables_json(const ReleasePlan& plan, std::size_t last) {
  json maps = json::array();
  for (const features::NamedMap& map : plan.maps) {
    if (is_of_rounds(*map.map) && map.round <= last)
      maps.push_back({{"name", map.name},
                      {"kind", map.map->kind()},
                      {"weight", map.weight},
                      {"map", map.map->to_json()}});
  }
  return maps;
}

/// What a text says that a map of the plan is in its round. @throws ConfigError  it is no such map.
std::shared_ptr<const features::FeatureMap> read_map(const JsonFields& entry, const ReleasePlan& plan,
                                                     const features::FeatureMap& planned) {
  std::shared_ptr<features::FeatureMap> map = features::make_map(planned.kind());
  map->read_json(entry.object("map"));
  map->resolve(plan.schema);
  if (map->tables()) return planned.tables()->counting(map->tables()->counted().tables);
  json stated = map->to_json(), wanted = planned.to_json();
  stated.erase(features::SteppedFeatures::kState);
  wanted.erase(features::SteppedFeatures::kState);
  if (stated != wanted) throw ConfigError("has other settings than this release");
  return map;
}

/// The plan of the maps of the first `last` rounds.
ReleasePlan first_rounds(const ReleasePlan& plan, std::size_t last) {
  ReleasePlan out = plan;
  out.maps.clear();
  out.noise.parts.clear();
  for (std::size_t b = 0; b < plan.maps.size(); ++b) {
    if (plan.maps[b].round > last) continue;
    out.maps.push_back(plan.maps[b]);
    out.noise.parts.push_back(plan.noise.parts[b]);
  }
  if (plan.counts) out.noise.parts.push_back(plan.noise.parts.back());
  return out;
}

/// How far a round's released vector has been read.
struct RoundReader {
  const std::vector<std::int64_t>& values;
  std::size_t next = 0;
};

}  // namespace

std::string summed_by(const privacy::AggregationMode& mode, const std::string& roster) {
  std::string out = privacy::name_of(mode);
  if (!privacy::is_masked(mode)) return out;
  out += fmt::format(", ranks {}", privacy::ranks_of(mode));
  if (const privacy::DistributedNoise* shares = privacy::distributed(mode))
    out += fmt::format(", colluding {}", shares->colluding);
  if (const auto sites = privacy::sites_of(mode))
    out += fmt::format(", sites {} of at most {}", sites->count, sites->largest);
  return roster.empty() ? out : out + ", roster " + roster;
}

std::string rounds_bytes(const KeptRounds& kept) {
  Container container;
  json counts = json::array();
  for (const std::vector<std::int64_t>& values : kept.values) {
    counts.push_back({{"count", values.size()}});
    const auto bytes = std::as_bytes(std::span(values));
    container.payload.insert(container.payload.end(), bytes.begin(), bytes.end());
  }
  container.header = {{"format", kFormat},          {"version", kVersion},
                      {"charge", kept.charge},      {"config_sha256", kept.config_hash},
                      {"private", kept.is_private}, {"tables", kept.tables},
                      {"summed", kept.summed},      {"rounds", std::move(counts)}};
  return serialize(container);
}

KeptRounds parse_rounds(std::string_view bytes, const std::string& name) {
  const Container container = parse_container(bytes, kFormat, kVersion, name);
  const JsonDocument document = document_of(name);
  const JsonFields f(container.header, document);
  f.only({"format", "version", "charge", "config_sha256", "private", "tables", "summed", "rounds"});
  KeptRounds out{f.hex("charge", 32),         f.text("config_sha256", 128), f.flag("private"),
                 f.text("tables", kMostText), f.text("summed", 256),        {}};
  std::size_t next = 0;
  for (const JsonFields& round : f.objects("rounds", privacy::kMostRounds)) {
    round.only({"count"});
    const std::size_t left = (container.payload.size() - next) / sizeof(std::int64_t);
    if (left == 0) round.fail("count", "is of more numbers than the file holds");
    std::vector<std::int64_t>& values = out.values.emplace_back(round.integer("count", 1, left));
    std::memcpy(values.data(), container.payload.data() + next, values.size() * sizeof(std::int64_t));
    next += values.size() * sizeof(std::int64_t);
  }
  if (next != container.payload.size()) f.fail("rounds", "are of fewer numbers than the file holds");
  return out;
}

std::string tables_text(const ReleasePlan& plan, std::size_t last) {
  return json{{"maps", tables_json(plan, last)}}.dump();
}

std::vector<std::string> states_of(const ReleasePlan& plan, std::size_t round) {
  std::vector<std::string> out;
  for (const features::NamedMap& map : plan.maps) {
    if (map.round == round && map.map->steps()) out.push_back(map.map->steps()->state());
  }
  return out;
}

void take_states(ReleasePlan& plan, std::size_t round, const std::vector<std::string>& states) {
  std::size_t next = 0;
  for (std::size_t b = 0; b < plan.maps.size(); ++b) {
    const features::NamedMap& map = plan.maps[b];
    if (map.round == round && map.map->steps())
      plan.go_on_with(b, map.map->steps()->with_state(states.at(next++)));
  }
}

void read_tables(ReleasePlan& plan, const std::string& text, const std::string& name) {
  const json parsed = parse_json(text);
  const JsonDocument document = document_of(name);
  const JsonFields f(parsed, document);
  f.only({"maps"});
  if (f.at("maps").is_array() && f.at("maps").empty()) return;
  for (const JsonFields& entry : f.objects("maps", privacy::kMostRounds)) {
    entry.only({"name", "kind", "weight", "map"});
    const std::string own = entry.text("name", 32);
    const auto at = std::find_if(plan.maps.begin(), plan.maps.end(),
                                 [&](const features::NamedMap& map) { return map.name == own; });
    if (at == plan.maps.end() || !is_of_rounds(*at->map) || entry.number("weight") != at->weight ||
        entry.text("kind", 64) != at->map->kind())
      entry.fail("name", "is no map of this release's rounds");
    try {
      plan.go_on_with(static_cast<std::size_t>(at - plan.maps.begin()), read_map(entry, plan, *at->map));
    } catch (const ConfigError& e) {
      entry.fail("map", e.what());
    }
  }
}

std::vector<std::int64_t> joined(const ReleasePlan& plan,
                                 const std::vector<std::vector<std::int64_t>>& rounds) {
  std::vector<RoundReader> readers;
  for (const std::vector<std::int64_t>& values : rounds) readers.push_back({values});
  std::vector<std::int64_t> out;
  out.reserve(plan.size());
  const auto take = [&](std::size_t round, std::size_t count) {
    require(round <= readers.size() && readers[round - 1].values.size() - readers[round - 1].next >= count,
            "a round released another number of values than was planned: this is a bug in muffle.");
    RoundReader& reader = readers[round - 1];
    const auto first = reader.values.begin() + static_cast<std::ptrdiff_t>(reader.next);
    out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(count));
    reader.next += count;
  };
  for (std::size_t b = 0; b < plan.maps.size(); ++b)
    take(plan.maps[b].round, plan.rows(b) * plan.features(b));
  if (plan.counts) take(1, plan.classes());
  for (const RoundReader& reader : readers)
    require(reader.next == reader.values.size(),
            "a round released another number of values than was planned: this is a bug in muffle.");
  return out;
}

Artifact released_so_far(const ReleasePlan& plan, const privacy::AggregationMode& mode,
                         const std::vector<std::vector<std::int64_t>>& rounds) {
  Artifact out;
  static_cast<ReleasePlan&>(out) = first_rounds(plan, rounds.size());
  for (const features::NamedMap& map : out.maps) out.map_hashes.push_back(map.map->hash());
  out.aggregation = mode;
  out.values = joined(out, rounds);
  return out;
}

Artifact rounds_before(const Artifact& whole, std::size_t round) {
  Artifact out = whole;
  static_cast<ReleasePlan&>(out) = first_rounds(whole, round - 1);
  if (const privacy::Apart* const apart = privacy::apart(whole.aggregation)) {
    std::vector<int> missing;  // what the later ones came to was not known then
    for (std::size_t r = 1; r < round; ++r) missing.push_back(apart->parties.holders - apart->opened(r));
    out.aggregation = privacy::apart_of(apart->parties, apart->sealed, std::move(missing));
  }
  out.map_hashes.clear();
  out.values.clear();
  for (std::size_t part = 0; part < whole.noise.parts.size(); ++part) {  // the maps', then the counts'
    const bool of_map = part < whole.maps.size();
    if (of_map && whole.maps[part].round >= round) continue;
    if (of_map) out.map_hashes.push_back(whole.map_hashes[part]);
    const auto values = whole.values.begin();
    out.values.insert(
        out.values.end(), values + static_cast<std::ptrdiff_t>(whole.offset(part)),
        of_map ? values + static_cast<std::ptrdiff_t>(whole.offset(part + 1)) : whole.values.end());
  }
  return out;
}

}  // namespace muffle::release
