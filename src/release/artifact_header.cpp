#include "artifact_header.hpp"

#include <fmt/format.h>

#include <limits>

#include "message_fields.hpp"
#include "muffle/core/error.hpp"
#include "muffle/crypto/site_keys.hpp"
#include "muffle/release/plan_json.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;

json apart_to_header(const privacy::Apart& mode) {
  const privacy::RoundParties& p = mode.parties;
  json out{{"mode", privacy::name_of(mode)},
           {"invited", p.sites},
           {"expected", p.expected},
           {"least", p.least},
           {"sealed", mode.sealed},
           {"colluding_sites", p.colluding},
           {"holders", p.holders},
           {"colluding_holders", p.colluding_holders},
           {"missing_holders", p.missing_holders},
           {"stood_in", mode.stood_in}};
  if (!mode.stood_in_before.empty()) out["stood_in_before"] = mode.stood_in_before;
  return out;
}

json round_to_header(const RoundRecord& r) {
  json sites = json::array(), holders = json::array();
  for (const RoundRecord::Site& s : r.sites)
    sites.push_back({{"name", s.name},
                     {"key", s.key},
                     {"contribution", s.contribution},
                     {"charge", s.charge},
                     {"data_id", s.data_id}});
  for (const RoundRecord::Holder& h : r.holders) {
    holders.push_back({{"name", h.name}, {"key", h.key}});
    if (h.opening.empty()) {
      holders.back()["stand_ins"] = h.stand_ins;
    } else {
      holders.back()["opening"] = h.opening;
    }
  }
  return {{"id", r.id},     {"title", r.title},          {"coordinator", r.coordinator},
          {"seal", r.seal}, {"sites", std::move(sites)}, {"holders", std::move(holders)}};
}

RoundRecord read_round(const JsonFields& f) {
  RoundRecord r{f.hex("id", 64), f.text("title", 256), f.hex("coordinator", 64), f.hex("seal", 64), {}, {}};
  for (const JsonFields& s : f.objects("sites", std::size_t{1} << 16))
    r.sites.push_back({s.text("name", 64), s.hex("key", 64), s.hex("contribution", 64), s.hex("charge", 32),
                       read_data_id(s)});
  for (const JsonFields& h : f.objects("holders", 16)) {
    RoundRecord::Holder& holder = r.holders.emplace_back();
    holder.name = h.text("name", 64);
    holder.key = h.hex("key", 64);
    if (!h.has("stand_ins")) {
      holder.opening = h.hex("opening", 64);
      continue;
    }
    const json& ids = h.at("stand_ins");
    if (!ids.is_array() || ids.empty() || ids.size() > 16) h.fail("stand_ins", "is no list of 1 to 16");
    for (const json& id : ids) {
      const auto* text = id.get_ptr<const std::string*>();
      if (text == nullptr || !is_hex(*text, 64)) h.fail("stand_ins", "has an entry that is no id");
      holder.stand_ins.push_back(*text);
    }
  }
  for (const RoundRecord::Site& s : r.sites) {
    if (!crypto::valid_site_name(s.name)) f.fail("sites", "has a name that is none of a site");
  }
  for (const RoundRecord::Holder& h : r.holders) {
    if (!crypto::valid_site_name(h.name)) f.fail("holders", "has a name that is none of a site");
  }
  return r;
}

json parts_to_header(const std::vector<PartRecord>& parts) {
  json out = json::array();
  for (const PartRecord& p : parts) {
    out.push_back({{"sha256", p.sha256},
                   {"config_sha256", p.config_hash},
                   {"ledger", {{"data_id", p.data_id}, {"charge", p.ledger_charge}}},
                   {"signer", p.signer},
                   {"records", p.records},
                   {"private", p.is_private}});
    if (p.round) out.back()["round"] = round_to_header(*p.round);
  }
  return out;
}

PartRecord read_part(const JsonFields& f) {
  PartRecord out{f.hex("sha256", 64),
                 f.text("config_sha256", 128),
                 f.object("ledger").text("data_id", 128),
                 f.object("ledger").text("charge", 32),
                 f.text("signer", 64),
                 f.integer("records", 0, std::uint64_t{1} << 62),
                 f.flag("private"),
                 {}};
  if (!out.signer.empty() && !is_hex(out.signer, 64)) f.fail("signer", "is no public key");
  if (f.has("round")) out.round = read_round(f.object("round"));
  return out;
}

std::vector<int> read_counts(const JsonFields& f, std::string_view key) {
  const json& list = f.at(key);
  if (!list.is_array() || list.empty() || list.size() > privacy::kMostRounds)
    f.fail(key, "is no list of a number for each round");
  std::vector<int> out;
  for (const json& entry : list) {
    if (!entry.is_number_unsigned() || entry.get<std::uint64_t>() > (1 << 16))
      f.fail(key, "has an entry that is no number of key holders");
    out.push_back(entry.get<int>());
  }
  return out;
}

privacy::AggregationMode read_apart(const JsonFields& f) {
  const auto count = [&](std::string_view key) { return static_cast<int>(f.integer(key, 0, 1 << 16)); };
  privacy::Apart mode{{.sites = count("invited"),
                       .expected = count("expected"),
                       .least = count("least"),
                       .colluding = count("colluding_sites"),
                       .holders = count("holders"),
                       .colluding_holders = count("colluding_holders"),
                       .missing_holders = count("missing_holders")},
                      count("sealed"),
                      count("stood_in")};
  if (f.has("stood_in_before")) mode.stood_in_before = read_counts(f, "stood_in_before");
  // Before anything is computed of these numbers.
  try {
    privacy::require_valid(privacy::AggregationMode(mode));
  } catch (const ConfigError& e) {
    f.fail("mode", fmt::format("is of a round that cannot be: {}", e.what()));
  }
  return mode;
}

json aggregation_to_header(const privacy::AggregationMode& mode) {
  if (const privacy::Combined* several = privacy::combined(mode)) {
    json parts = json::array();
    for (const privacy::Summed& part : several->parts)
      parts.push_back(aggregation_to_header(privacy::mode_of(part)));
    return {
        {"mode", privacy::name_of(mode)}, {"same_people", several->same_people}, {"parts", std::move(parts)}};
  }
  if (const privacy::Apart* round = privacy::apart(mode)) return apart_to_header(*round);
  json header = {{"mode", privacy::name_of(mode)}, {"ranks", privacy::ranks_of(mode)}};
  if (const privacy::DistributedNoise* shares = privacy::distributed(mode))
    header["colluding_ranks"] = shares->colluding;
  if (const std::optional<privacy::SignedSites> sites = privacy::sites_of(mode))
    header["sites"] = {{"count", sites->count}, {"largest", sites->largest}};
  return header;
}

constexpr std::size_t kMostParts = 1000;

privacy::AggregationMode read_aggregation(const JsonFields& f) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
  const std::size_t kind =
      f.choice("mode", {"single coordinator", "masked", "distributed noise", "apart", "combined"});
  if (kind == 3) return read_apart(f);
  if (kind == 4) {
    privacy::Combined several{{}, f.flag("same_people")};
    for (const JsonFields& part : f.objects("parts", kMostParts)) {
      const privacy::AggregationMode mode = read_aggregation(part);
      if (privacy::combined(mode) != nullptr) part.fail("mode", "is of several releases within several");
      several.parts.push_back(privacy::one_of(mode));
    }
    return several;
  }
  const auto ranks = static_cast<int>(f.integer("ranks", 1, kMost));
  std::optional<privacy::SignedSites> sites;
  if (f.has("sites")) {
    const JsonFields s = f.object("sites");
    sites = {static_cast<int>(s.integer("count", 1, kMost)),
             static_cast<int>(s.integer("largest", 1, kMost))};
  }
  switch (kind) {
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
  if (a.round) header["round"] = round_to_header(*a.round);
  for (const RoundRecord& r : a.rounds_before) header["rounds_before"].push_back(round_to_header(r));
  if (!a.parts.empty()) header["parts"] = parts_to_header(a.parts);
  if (a.without_noise) header["without_noise"] = true;
  if (!a.is_private) header["warning"] = not_private(a);
  return header;
}

const char* not_private(const Artifact& artifact) {
  return artifact.without_noise ? kWithoutNoise : kNotPrivate;
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
  a.without_noise = f.has("without_noise") && f.flag("without_noise");
  if (a.without_noise && a.is_private) f.fail("without_noise", "contradicts \"private\"");
  a.aggregation = read_aggregation(f.object("aggregation"));
  if (f.has("round")) a.round = read_round(f.object("round"));
  if (f.has("rounds_before")) {
    for (const JsonFields& r : f.objects("rounds_before", privacy::kMostRounds))
      a.rounds_before.push_back(read_round(r));
  }
  if (f.has("parts")) {
    for (const JsonFields& part : f.objects("parts", kMostParts)) a.parts.push_back(read_part(part));
  }
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
