#include "stepped_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/features/stepped.hpp"
#include "muffle/pair_graph/rounds.hpp"

namespace muffle::pair_graph {
namespace {

using features::NamedMap;

/// NAME of the map NAME-r of round r; empty: it has no such name.
std::string name_of_all(const NamedMap& map) {
  const std::string ending = name_of_round("", map.round);
  return map.name.ends_with(ending) ? map.name.substr(0, map.name.size() - ending.size()) : "";
}

const NamedMap* find_round(const std::vector<NamedMap>& maps, const std::string& name, std::size_t round) {
  const auto at = std::ranges::find_if(maps, [&](const NamedMap& map) {
    return map.map->steps() != nullptr && map.round == round && name_of_all(map) == name;
  });
  return at == maps.end() ? nullptr : &*at;
}

/// A round's noisy sums, divided by the number of records.
std::vector<double> mean_of(const release::Artifact& a, const NamedMap& map, double records) {
  const auto b = static_cast<std::size_t>(&map - a.maps.data());
  const double each = map.map->scale(a.lattice) * records;
  const auto first = a.values.begin() + static_cast<std::ptrdiff_t>(a.offset(b));
  std::vector<double> out(a.features(b));
  std::transform(first, first + static_cast<std::ptrdiff_t>(out.size()), out.begin(),
                 [&](std::int64_t value) { return static_cast<double>(value) / each; });
  return out;
}

/// Of the rounds 1 to `rounds` of the map NAME. @throws ProtocolError  one is not in the release.
std::vector<std::vector<double>> means_of(const release::Artifact& a, const std::string& name,
                                          std::size_t rounds) {
  std::vector<std::vector<double>> out;
  if (rounds == 0) return out;
  // Where noise leaves none, 1: nothing of use can be learned then.
  const double records = std::max(1.0, release::believed_records(a));
  for (std::size_t round = 1; round <= rounds; ++round) {
    const NamedMap* const map = find_round(a.maps, name, round);
    if (map == nullptr)
      throw ProtocolError(
          fmt::format("the release has no map {}, one of the rounds that its map says it has: it is not "
                      "whole. Ask whoever "
                      "made it for the file again.",
                      name_of_round(name, round)));
    out.push_back(mean_of(a, *map, records));
  }
  return out;
}

/// What is otherwise than it follows; empty: nothing.
std::string wrong_steps(const release::Artifact& a, const std::string& name, const NamedMap& first) {
  const features::SteppedFeatures& rule = *first.map->steps();
  for (std::size_t round = 1; round <= rule.rounds(); ++round) {
    const NamedMap* const map = find_round(a.maps, name, round);
    if (map == nullptr) return fmt::format("it has no map {}", name_of_round(name, round));
    if (map->weight != first.weight) return "its rounds have other weights than equal ones";
  }
  const std::vector<std::vector<double>> means = means_of(a, name, rule.rounds() - 1);
  for (std::size_t round = 1; round <= rule.rounds(); ++round) {
    const std::vector<std::vector<double>> before(means.begin(),
                                                  means.begin() + static_cast<std::ptrdiff_t>(round - 1));
    if (rule.after(before)->to_json() != find_round(a.maps, name, round)->map->to_json())
      return fmt::format("round {} sums something else than follows from the noisy numbers before it", round);
  }
  return {};
}

}  // namespace

std::string name_of_round(const std::string& name, std::size_t round) {
  return fmt::format("{}-{}", name, round);
}

void steps_in_rounds(std::vector<NamedMap>& maps) {
  std::vector<NamedMap> out;
  for (const NamedMap& map : maps) {
    const features::SteppedFeatures* const steps = map.map->steps();
    if (steps == nullptr) {
      out.push_back(map);
      continue;
    }
    for (std::size_t round = 1; round <= steps->rounds(); ++round) {
      NamedMap& own = out.emplace_back(map);
      own.name = name_of_round(map.name, round);
      if (!features::is_map_name(own.name))
        throw ConfigError(fmt::format(
            "map.{}: rounds add -1, -2, ... to its name, which is then too long: 28 letters at most",
            map.name));
      own.weight = map.weight / std::sqrt(static_cast<double>(steps->rounds()));
      own.round = round;
    }
  }
  maps = std::move(out);
}

std::shared_ptr<const features::FeatureMap> next_step(const release::ReleasePlan& plan, std::size_t b,
                                                      const release::Artifact& so_far) {
  const NamedMap& map = plan.maps.at(b);
  return map.map->steps()->after(means_of(so_far, name_of_all(map), map.round - 1));
}

std::shared_ptr<const features::FeatureMap> last_step(const release::Artifact& a) {
  for (const NamedMap& map : a.maps) {
    if (map.map->steps() != nullptr && map.round == 1)
      return map.map->steps()->after(means_of(a, name_of_all(map), map.map->steps()->rounds()));
  }
  return nullptr;
}

std::optional<release::Check> repeat_steps(const release::Artifact& a) {
  std::map<std::string, const NamedMap*> firsts;
  std::size_t of_rounds = 0, held = 0;
  std::string wrong;
  for (const NamedMap& map : a.maps) {
    if (map.map->steps() == nullptr) continue;
    ++held;
    if (map.round != 1) continue;
    firsts.emplace(name_of_all(map), &map);
    of_rounds += map.map->steps()->rounds();
  }
  if (held == 0) return std::nullopt;
  if (of_rounds != held) wrong = "its maps are not the rounds that they say";
  for (const auto& [name, first] : firsts) {
    if (wrong.empty())
      wrong = name.empty() ? "a round has another name than rounds have" : wrong_steps(a, name, *first);
  }
  using Outcome = release::Check::Outcome;
  if (!wrong.empty()) return release::Check{release::kRounds, Outcome::kFail, wrong};
  return release::Check{
      release::kRounds, Outcome::kPass,
      fmt::format("what each of {} rounds sums, worked out again from the noisy numbers before it: the same "
                  "bits, and equal weights",
                  a.rounds())};
}

}  // namespace muffle::pair_graph
