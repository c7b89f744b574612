#include "artifact_header.hpp"

#include <fmt/format.h>

#include <limits>

#include "muffle/core/error.hpp"
#include "muffle/release/plan_json.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;

json aggregation_to_header(const privacy::AggregationMode& mode) {
  json header = {{"mode", privacy::name_of(mode)}, {"ranks", privacy::ranks_of(mode)}};
  if (const privacy::DistributedNoise* shares = privacy::distributed(mode))
    header["colluding_ranks"] = shares->colluding;
  if (const std::optional<privacy::SignedSites> sites = privacy::sites_of(mode))
    header["sites"] = {{"count", sites->count}, {"largest", sites->largest}};
  return header;
}

privacy::AggregationMode read_aggregation(const JsonFields& f) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
  const auto ranks = static_cast<int>(f.integer("ranks", 1, kMost));
  std::optional<privacy::SignedSites> sites;
  if (f.has("sites")) {
    const JsonFields s = f.object("sites");
    sites = {static_cast<int>(s.integer("count", 1, kMost)),
             static_cast<int>(s.integer("largest", 1, kMost))};
  }
  switch (f.choice("mode", {"single coordinator", "masked", "distributed noise"})) {
    case 0:
      return privacy::SingleCoordinator{ranks};
    case 1:
      return privacy::Masked{ranks, sites};
    default:
      return privacy::DistributedNoise{ranks, static_cast<int>(f.integer("colluding_ranks", 0, kMost)),
                                       sites};
  }
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
  json header = plan_json(a);
  json hashes = json::object();
  for (std::size_t b = 0; b < a.maps.size(); ++b) hashes[a.maps[b].name] = a.map_hashes.at(b);
  header.update({{"format", "muffle-release"},
                 {"version", kArtifactVersion},
                 {"muffle_version", a.muffle_version},
                 {"private", a.is_private},
                 {"map_sha256", std::move(hashes)},
                 {"aggregation", aggregation_to_header(a.aggregation)},
                 {"config_sha256", a.config_hash},
                 {"ledger", {{"data_id", a.data_id}, {"charge", a.ledger_charge}}},
                 {"values",
                  {{"count", a.values.size()},
                   {"type", "int64 little-endian"},
                   {"layout", "maps of classes x features, then counts"}}}});
  if (!a.is_private) header["warning"] = kNotPrivate;
  return header;
}

Artifact from_header(const json& header, const std::string& name) {
  const JsonDocument document{
      name, "a release that muffle can use",
      "Copy the file again from where it was made; a release must not be drawn again to replace it."};
  const JsonFields f(header, document);
  Artifact a;
  static_cast<ReleasePlan&>(a) = read_plan(f);
  const JsonFields hashes = f.object("map_sha256");
  for (const features::NamedMap& map : a.maps) a.map_hashes.push_back(hashes.text(map.name, 64));
  a.muffle_version = f.text("muffle_version", 64);
  a.is_private = f.flag("private");
  a.aggregation = read_aggregation(f.object("aggregation"));
  a.config_hash = f.text("config_sha256", 128);
  a.data_id = f.object("ledger").text("data_id", 128);
  a.ledger_charge = f.object("ledger").text("charge", 32);
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
