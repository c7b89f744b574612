#include "muffle/model/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "muffle/core/error.hpp"
#include "muffle/model/pair_rounds.hpp"
#include "muffle/release/noisy_tables.hpp"

namespace muffle::model {
namespace {

bool is_counted(const features::NamedMap& map) {
  return map.role == features::MapRole::kMatch && map.map->has_tables();
}

/// The place of the one map that is released in rounds.
std::size_t place_of_counts(const std::vector<features::NamedMap>& maps) {
  const auto held = std::count_if(maps.begin(), maps.end(), is_counted);
  if (held != 1)
    throw ConfigError(
        fmt::format("privacy.rounds releases one map of counts in rounds, and there are {} with kind = {}: "
                    "leave it at 1, or configure one such map",
                    held, features::tables_maps()));
  return static_cast<std::size_t>(std::find_if(maps.begin(), maps.end(), is_counted) - maps.begin());
}

}  // namespace

release::ReleaseSettings in_rounds(release::ReleaseSettings settings) {
  if (settings.privacy.rounds == 1) return settings;
  const bool any = std::any_of(settings.maps.begin(), settings.maps.end(), is_counted);
  if (settings.privacy.rounds == 0 && !any) return settings;
  const std::size_t at = place_of_counts(settings.maps);
  const features::NamedMap whole = settings.maps[at];
  // The bound, and so the noise, is that of the one map: the rounds' weights have its square.
  const double sigma = release::make_plan(settings).noise.sigma / whole.weight;
  const features::CountTables& workload = *whole.map->tables();
  const std::vector<double> shares =
      round_shares(workload, settings.schema.classes, static_cast<double>(settings.records), sigma,
                   settings.privacy.rounds);
  if (shares.size() == 1) return settings;
  settings.maps.erase(settings.maps.begin() + static_cast<std::ptrdiff_t>(at));
  for (std::size_t r = 0; r < shares.size(); ++r) {
    features::NamedMap& map = settings.maps.emplace_back(whole);
    map.name = fmt::format("{}-{}", whole.name, r + 1);
    if (!features::is_map_name(map.name))
      throw ConfigError(fmt::format(
          "map.{}: with privacy.rounds above 1 its name has at most 30 letters: rounds add -1, -2, ...",
          whole.name));
    map.weight = whole.weight * std::sqrt(shares[r]);
    map.round = r + 1;
  }
  features::NamedMap& first = *(settings.maps.end() - static_cast<std::ptrdiff_t>(shares.size()));
  first.map = first.map->counting(
      tables_of_round(workload, {}, settings.schema.classes, 0, shares, sigma / std::sqrt(shares.front())));
  return settings;
}

std::vector<double> shares_of_rounds(const release::ReleasePlan& plan) {
  std::vector<double> shares(plan.rounds(), 0.0);
  double sum = 0;
  for (const features::NamedMap& map : plan.maps) {
    if (!is_counted(map)) continue;
    shares[map.round - 1] += map.weight * map.weight;
    sum += map.weight * map.weight;
  }
  for (double& share : shares) share /= sum > 0 ? sum : 1.0;
  return shares;
}

std::vector<features::CountTable> tables_of_next_round(const release::ReleasePlan& plan, std::size_t b,
                                                       const release::Artifact& so_far) {
  const features::NamedMap& map = plan.maps.at(b);
  const double sigma = release::carried_sigma(plan, so_far.aggregation, b, 0) /
                       plan.noise.parts.at(b).runs.front().unit / map.weight;
  return tables_of_round(*map.map->tables(), release::make_noisy_tables(so_far), plan.classes(),
                         map.round - 1, shares_of_rounds(plan), sigma);
}

}  // namespace muffle::model
