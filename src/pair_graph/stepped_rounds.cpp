#include "stepped_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/features/stepped.hpp"
#include "muffle/pair_graph/rounds.hpp"

namespace muffle::pair_graph {
namespace {

using features::NamedMap;

/// D of the most coefficients of which axes are found.
constexpr std::size_t kMostSecondMoments =
    (features::PrincipalAxes::kMostCoefficients + 1) * (features::PrincipalAxes::kMostCoefficients + 2) / 2;

/// Of a map that goes on step by step: which of its own rounds it is, 1 the first; 0: one before that.
std::size_t step_of(const NamedMap& map) {
  const std::size_t first = map.map->steps()->first_round();
  return map.round < first ? 0 : map.round - first + 1;
}

/// NAME of the map NAME-r of step r; empty: it has no such name.
std::string name_of_all(const NamedMap& map) {
  const std::string ending = name_of_round("", step_of(map));
  return map.name.ends_with(ending) ? map.name.substr(0, map.name.size() - ending.size()) : "";
}

const NamedMap* find_step(const std::vector<NamedMap>& maps, const std::string& name, std::size_t step) {
  const auto at = std::ranges::find_if(maps, [&](const NamedMap& map) {
    return map.map->steps() != nullptr && step_of(map) == step && name_of_all(map) == name;
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

/// The principal axes that the map goes by. @throws Error  the release's second moments do not have them.
std::shared_ptr<const features::PrincipalAxes> axes_of(const release::Artifact& a,
                                                       const features::SteppedFeatures& rule) {
  if (rule.axes() == 0) return nullptr;
  const std::size_t b = release::require_second_moments(a, "a decoder along principal components");
  const std::size_t numbers = a.features(b);
  // Of many coefficients not even the lift is built.
  const features::SecondMoments* const found =
      numbers > kMostSecondMoments ? nullptr : &a.maps[b].map->second_moments()->moments();
  if (found == nullptr || found->lift->affine() == nullptr || rule.axes() > found->lift->coefficients())
    throw ProtocolError(
        fmt::format("the release's second moments do not have the {} principal components that a decoder's "
                    "codes lie along: the file was made or changed by something else than muffle.",
                    rule.axes()));
  const features::SecondMoments& moments = *found;
  const std::size_t q = moments.order();
  const double scale = a.maps[b].map->scale(a.lattice);
  std::vector<double> all(q * q, 0.0);
  for (std::size_t c = 0; c < a.rows(b); ++c) {
    const std::int64_t* const values = a.values.data() + a.offset(b) + c * numbers;
    for (std::size_t i = 0; i < q; ++i) {
      for (std::size_t j = 0; j < q; ++j)
        all[i * q + j] += static_cast<double>(values[features::SecondMoments::index(q, i, j)]) / scale;
    }
  }
  return std::make_shared<const features::PrincipalAxes>(
      features::PrincipalAxes::of(moments, all, rule.axes()));
}

/// What is known before step `steps` + 1 of the map NAME. @throws ProtocolError  something is missing.
/// @param axes  that the map goes by; null: they are worked out
features::SteppedFeatures::Before before_step(const release::Artifact& a, const std::string& name,
                                              const features::SteppedFeatures& rule, std::size_t steps,
                                              std::shared_ptr<const features::PrincipalAxes> axes = nullptr) {
  if (!axes) axes = axes_of(a, rule);
  features::SteppedFeatures::Before out{std::move(axes), {}};
  if (steps == 0) return out;
  // Where noise leaves none, 1: nothing of use can be learned then.
  const double records = std::max(1.0, release::believed_records(a));
  for (std::size_t step = 1; step <= steps; ++step) {
    const NamedMap* const map = find_step(a.maps, name, step);
    if (map == nullptr)
      throw ProtocolError(
          fmt::format("the release has no map {}, one of the rounds that its map says it has: it is not "
                      "whole. Ask whoever "
                      "made it for the file again.",
                      name_of_round(name, step)));
    out.means.push_back(mean_of(a, *map, records));
  }
  return out;
}

/// What is otherwise than it follows; empty: nothing.
std::string wrong_steps(const release::Artifact& a, const std::string& name, const NamedMap& first) {
  const features::SteppedFeatures& rule = *first.map->steps();
  for (std::size_t step = 1; step <= rule.rounds(); ++step) {
    const NamedMap* const map = find_step(a.maps, name, step);
    if (map == nullptr) return fmt::format("it has no map {}", name_of_round(name, step));
    if (map->weight != first.weight) return "its rounds have other weights than equal ones";
  }
  const features::SteppedFeatures::Before all = before_step(a, name, rule, rule.rounds() - 1);
  for (std::size_t step = 1; step <= rule.rounds(); ++step) {
    const std::vector<std::vector<double>> means(all.means.begin(),
                                                 all.means.begin() + static_cast<std::ptrdiff_t>(step - 1));
    const NamedMap& stated = *find_step(a.maps, name, step);
    if (rule.after({all.axes, means})->to_json() != stated.map->to_json())
      return fmt::format("round {} sums something else than follows from the noisy numbers before it",
                         stated.round);
  }
  return {};
}

/// @throws ConfigError  the maps have no second moments with so many principal components.
void check_axes(const std::vector<NamedMap>& maps, const NamedMap& map) {
  const std::size_t axes = map.map->steps()->axes();
  if (axes == 0) return;
  const auto moments = std::ranges::find_if(maps, [](const NamedMap& other) {
    return other.map->second_moments() != nullptr && other.role == features::MapRole::kMatch;
  });
  if (moments == maps.end())
    throw ConfigError(fmt::format(
        "map.{}: components are of noisy second moments: add a map with kind = {}, of role \"match\"",
        map.name, features::second_moments_maps()));
  const features::Lift& lift = *moments->map->second_moments()->moments().lift;
  if (lift.affine() == nullptr)
    throw ConfigError(
        fmt::format("map.{}: components are of second moments that lead back to records: give map.{} a lift "
                    "that does, such as {}",
                    map.name, moments->name, features::affine_lifts()));
  if (lift.coefficients() > features::PrincipalAxes::kMostCoefficients)
    throw ConfigError(fmt::format(
        "map.{}: components are found of at most {} coefficients, and the second moments of map.{} are of "
        "{}: "
        "give it fewer",
        map.name, features::PrincipalAxes::kMostCoefficients, moments->name, lift.coefficients()));
  if (axes > lift.coefficients())
    throw ConfigError(fmt::format(
        "map.{}: components = {}, and the second moments of map.{} are of {} coefficients: use as many "
        "components at most",
        map.name, axes, moments->name, lift.coefficients()));
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
    check_axes(maps, map);
    for (std::size_t step = 1; step <= steps->rounds(); ++step) {
      NamedMap& own = out.emplace_back(map);
      own.name = name_of_round(map.name, step);
      if (!features::is_map_name(own.name))
        throw ConfigError(fmt::format(
            "map.{}: rounds add -1, -2, ... to its name, which is then too long: 28 letters at most",
            map.name));
      own.weight = map.weight / std::sqrt(static_cast<double>(steps->rounds()));
      own.round = steps->first_round() + step - 1;
    }
  }
  maps = std::move(out);
}

std::shared_ptr<const features::FeatureMap> next_step(const release::ReleasePlan& plan, std::size_t b,
                                                      const release::Artifact& so_far) {
  const NamedMap& map = plan.maps.at(b);
  const features::SteppedFeatures& rule = *map.map->steps();
  const std::size_t before = step_of(map) - 1;
  // Of a job that goes on they are not known.
  const NamedMap* const last = find_step(so_far.maps, name_of_all(map), before);
  return rule.after(before_step(so_far, name_of_all(map), rule, before,
                                last == nullptr ? nullptr : last->map->steps()->known_axes()));
}

std::shared_ptr<const features::FeatureMap> last_step(const release::Artifact& a) {
  for (const NamedMap& map : a.maps) {
    const features::SteppedFeatures* const rule = map.map->steps();
    if (rule != nullptr && step_of(map) == 1)
      return rule->after(before_step(a, name_of_all(map), *rule, rule->rounds()));
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
    if (step_of(map) != 1) continue;
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
