#include "muffle/release/aggregation_json.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/privacy/release.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;

json apart_json(const privacy::Apart& mode) {
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

}  // namespace

json aggregation_json(const privacy::AggregationMode& mode) {
  if (const privacy::Combined* several = privacy::combined(mode)) {
    json parts = json::array();
    for (const privacy::Summed& part : several->parts)
      parts.push_back(aggregation_json(privacy::mode_of(part)));
    return {
        {"mode", privacy::name_of(mode)}, {"same_people", several->same_people}, {"parts", std::move(parts)}};
  }
  if (const privacy::Apart* round = privacy::apart(mode)) return apart_json(*round);
  json header = {{"mode", privacy::name_of(mode)}, {"ranks", privacy::ranks_of(mode)}};
  if (const privacy::DistributedNoise* shares = privacy::distributed(mode))
    header["colluding_ranks"] = shares->colluding;
  if (const std::optional<privacy::SignedSites> sites = privacy::sites_of(mode))
    header["sites"] = {{"count", sites->count}, {"largest", sites->largest}};
  return header;
}

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

}  // namespace muffle::release
