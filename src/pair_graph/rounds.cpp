#include "muffle/pair_graph/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/features/pairs.hpp"
#include "muffle/pair_graph/pair_rounds.hpp"
#include "muffle/release/noisy_tables.hpp"
#include "stepped_rounds.hpp"

namespace muffle::pair_graph {
namespace {

using features::NamedMap;

bool is_counted(const NamedMap& map) { return map.role == features::MapRole::kMatch && map.map->tables(); }

/// Of any role: its tables learn the bins of some column.
bool learns_bins(const NamedMap& map) { return map.map->tables() && map.map->tables()->counted().learns(); }

/// The place of the one map that is released in rounds.
std::size_t place_of_counts(const std::vector<NamedMap>& maps, bool learns) {
  const auto held = std::count_if(maps.begin(), maps.end(), is_counted);
  if (learns && (held != 1 || std::count_if(maps.begin(), maps.end(), learns_bins) != 1))
    throw ConfigError(fmt::format(
        "numbers without bins are learned in the first round of one map of counts, and there are {} "
        "with kind = {}: configure one such map, of role \"match\", or write bins in the schema",
        std::count_if(maps.begin(), maps.end(), [](const auto& m) { return m.map->tables() != nullptr; }),
        features::tables_maps()));
  if (held != 1)
    throw ConfigError(
        fmt::format("privacy.rounds releases one map of counts in rounds, and there are {} with kind = {}: "
                    "leave it at 1, or configure one such map",
                    held, features::tables_maps()));
  return static_cast<std::size_t>(std::find_if(maps.begin(), maps.end(), is_counted) - maps.begin());
}

double weight_of_round(double weight, double share) { return weight * std::sqrt(share); }

/// What the name of a first round's map ends with.
constexpr std::string_view kFirst = "-1";

/// Whether the maps have the names of the rounds of one map.
bool named_as_rounds(const std::vector<const NamedMap*>& maps) {
  const std::string& first = maps.front()->name;
  for (std::size_t r = 0; r < maps.size(); ++r) {
    if (maps[r]->name != name_of_round(first.substr(0, first.size() - kFirst.size()), r + 1)) return false;
  }
  return true;
}

/// What tells that maps of counts are the rounds of one map, though they say nothing of rounds; empty: they
/// may well be of one round. No configuration leads to such maps in one round.
std::string sign_of_rounds(const std::vector<NamedMap>& maps) {
  std::vector<const NamedMap*> counted;
  std::map<std::vector<std::size_t>, std::string> counts;  // columns -> the map that counts them
  for (const NamedMap& map : maps) {
    if (map.map->tables() == nullptr) continue;
    counted.push_back(&map);
    for (const features::CountTable& table : map.map->tables()->counted().tables) {
      if (!table.groups.empty())
        return fmt::format("the map '{}' counts groups of codes in a first round", map.name);
      const auto [at, first] = counts.try_emplace(table.columns, map.name);
      if (!first)
        return fmt::format("the maps '{}' and '{}' count the same columns in one round", at->second,
                           map.name);
    }
  }
  if (counted.size() > 1 && named_as_rounds(counted))
    return fmt::format("the maps '{}' and '{}' have names that rounds of one map have", counted[0]->name,
                       counted[1]->name);
  return {};
}

/// What map b counts, chosen from `workload`. @param sigma  carried by each of its numbers, lattice units
Choice choose(const features::FeatureMap& workload, const release::ReleasePlan& plan, std::size_t b,
              const release::NoisyTables& so_far, const privacy::AggregationMode& mode) {
  const NamedMap& map = plan.maps.at(b);
  const double sigma =
      release::carried_sigma(plan, mode, b, 0) / plan.noise.parts.at(b).runs.front().unit / map.weight;
  return tables_of_round(workload.tables()->counted(), so_far, plan.classes(), map.round - 1, plan.rounds(),
                         sigma);
}

/// Repeats the choices of a release that says what it chose from.
class Repetition {
 public:
  Repetition(const release::Artifact& a, std::size_t first)
      : a_(a), workload_(*a.maps[first].workload), name_(a.maps[first].name) {}

  release::Check judge() {
    if (workload_.rule != static_cast<std::uint64_t>(kRuleOfRounds))
      return not_repeated(
          fmt::format("its rounds were chosen by rule {}, and this muffle has rule {}: use one of version {}",
                      workload_.rule, kRuleOfRounds, a_.muffle_version));
    if (!name_.ends_with(kFirst)) return refused("its first round has another name than rounds have");
    name_.resize(name_.size() - kFirst.size());
    for (std::size_t round = 1; round <= a_.rounds(); ++round) places_.push_back(place_of(round));
    if (std::count_if(a_.maps.begin(), a_.maps.end(), is_counted) !=
            static_cast<std::ptrdiff_t>(places_.size()) ||
        std::find(places_.begin(), places_.end(), a_.maps.size()) != places_.end() || places_.size() < 2 ||
        !has_shares())
      return refused("its maps of counts are not the rounds of one map, with its shares of the budget");
    for (std::size_t round = 1; round <= places_.size(); ++round) {
      if (auto wrong = wrong_tables(round)) return *wrong;
    }
    return {release::kRounds, release::Check::Outcome::kPass,
            fmt::format("what each of {} rounds counts, chosen again from the tables that its owner wrote "
                        "down and the noisy numbers before it: the same tables, groups and weights",
                        places_.size())};
  }

 private:
  static release::Check refused(const std::string& why) {
    return {release::kRounds, release::Check::Outcome::kFail, why};
  }
  static release::Check not_repeated(const std::string& why) {
    return {release::kRounds, release::Check::Outcome::kSkipped, "not recomputed: " + why};
  }

  /// Of the map of this round; maps.size(): it is not there as rounds have it.
  std::size_t place_of(std::size_t round) const {
    const auto at = std::find_if(a_.maps.begin(), a_.maps.end(), [&](const NamedMap& map) {
      return is_counted(map) && map.name == name_of_round(name_, round) && map.round == round &&
             map.workload.has_value() == (round == 1);
    });
    return static_cast<std::size_t>(at - a_.maps.begin());
  }

  /// The rounds' weights are shares that rounds may have.
  bool has_shares() const {
    for (const std::vector<double>& shares :
         possible_shares(workload_.map->tables()->counted(), places_.size())) {
      bool same = true;
      for (std::size_t r = 0; r < places_.size(); ++r)
        same = same && a_.maps[places_[r]].weight == weight_of_round(workload_.weight, shares[r]);
      if (same) return true;
    }
    return false;
  }

  std::optional<release::Check> wrong_tables(std::size_t round) const {
    const std::size_t b = places_[round - 1];
    release::NoisyTables so_far;
    privacy::AggregationMode mode = a_.aggregation;
    if (round > 1) {
      const release::Artifact before = release::rounds_before(a_, round);
      so_far = release::make_noisy_tables(before);
      mode = before.aggregation;
    }
    const Choice choice = choose(*workload_.map, a_, b, so_far, mode);
    const auto is_stated = [&](const std::vector<features::CountTable>& tables) {
      return workload_.map->tables()->counting(tables)->to_json() == a_.maps[b].map->to_json();
    };
    if (is_stated(choice.tables)) return std::nullopt;
    if (is_stated(settled_as(a_.maps[b].map->tables()->counted().tables, choice,
                             workload_.map->tables()->counted(), so_far, round - 1, a_.rounds())))
      return not_repeated(
          fmt::format("round {} counts other tables than are chosen here, and two numbers that decide are so "
                      "near each other that another build may choose them: use the muffle that made it, "
                      "version {}",
                      round, a_.muffle_version));
    return refused(
        fmt::format("round {} counts other tables, groups or weights, or in another order, than follow from "
                    "what is known "
                    "before it",
                    round));
  }

  const release::Artifact& a_;
  const features::Workload& workload_;
  std::string name_;
  std::vector<std::size_t> places_;  ///< round by round
};

std::optional<release::Check> repeat_counts(const release::Artifact& a) {
  const auto first = std::find_if(a.maps.begin(), a.maps.end(),
                                  [](const NamedMap& map) { return map.workload.has_value(); });
  if (first != a.maps.end()) return Repetition(a, static_cast<std::size_t>(first - a.maps.begin())).judge();
  const std::string hidden = sign_of_rounds(a.maps);
  const bool later = std::ranges::any_of(
      a.maps, [](const NamedMap& map) { return map.round > 1 && map.map->steps() == nullptr; });
  if (later || !hidden.empty())
    return release::Check{
        release::kRounds, release::Check::Outcome::kFail,
        fmt::format("the file does not say what its rounds chose from, as every release in rounds does{}",
                    later ? "" : fmt::format(": {}, which no configuration leads to", hidden))};
  if (std::count_if(a.maps.begin(), a.maps.end(), is_counted) < 2) return std::nullopt;
  return release::Check{
      release::kRounds, release::Check::Outcome::kPass,
      "one, as the file says: which tables its maps count, with which weights, is public by "
      "its owner's word. That it had more rounds, its ledger would say"};
}

}  // namespace

release::ReleaseSettings in_rounds(release::ReleaseSettings settings) {
  steps_in_rounds(settings.maps);
  if (settings.privacy.rounds == 1) {
    if (const std::string sign = sign_of_rounds(settings.maps); !sign.empty())
      throw ConfigError(fmt::format(
          "{}: such a release would be taken for one in several rounds. Let one map count each table "
          "(map.NAME.weights gives it more weight), and give maps other names than NAME-1, NAME-2",
          sign));
  }
  const bool any = std::any_of(settings.maps.begin(), settings.maps.end(), is_counted);
  const bool learns = std::any_of(settings.maps.begin(), settings.maps.end(), learns_bins);
  if (settings.privacy.rounds == 1 && !learns) return settings;
  if (settings.privacy.rounds == 0 && !any) return settings;
  const std::size_t at = place_of_counts(settings.maps, learns);
  const NamedMap whole = settings.maps[at];
  // The bound, and so the noise, is that of the one map: the rounds' weights have its square.
  const double sigma = release::make_plan(settings).noise.sigma / whole.weight;
  const features::CountTables& workload = whole.map->tables()->counted();
  const double records =
      static_cast<double>(settings.records > 0 ? settings.records : settings.expected_records);
  const std::vector<double> shares =
      round_shares(workload, settings.schema.classes, records, sigma, settings.privacy.rounds);
  if (shares.size() == 1) return settings;
  settings.maps.erase(settings.maps.begin() + static_cast<std::ptrdiff_t>(at));
  for (std::size_t r = 0; r < shares.size(); ++r) {
    NamedMap& map = settings.maps.emplace_back(whole);
    map.name = name_of_round(whole.name, r + 1);
    if (!features::is_map_name(map.name))
      throw ConfigError(fmt::format(
          "map.{}: with privacy.rounds above 1 its name has at most 30 letters: rounds add -1, -2, ...",
          whole.name));
    map.weight = weight_of_round(whole.weight, shares[r]);
    map.round = r + 1;
    // What a later round will count is thought to be like this until it is chosen.
    if (learns && r > 0)
      map.map =
          map.map->tables()->counting(tables_beforehand(workload, records, sigma / std::sqrt(shares[r])));
  }
  NamedMap& first = *(settings.maps.end() - static_cast<std::ptrdiff_t>(shares.size()));
  first.map = first.map->tables()->counting(tables_of_round(workload, {}, settings.schema.classes, 0,
                                                            shares.size(), sigma / std::sqrt(shares.front()))
                                                .tables);
  first.workload = {whole.map, whole.weight, kRuleOfRounds};
  return settings;
}

std::vector<double> shares_of_rounds(const release::ReleasePlan& plan) {
  std::vector<double> shares(plan.rounds(), 0.0);
  double sum = 0;
  for (const NamedMap& map : plan.maps) {
    shares[map.round - 1] += map.weight * map.weight;
    sum += map.weight * map.weight;
  }
  for (double& share : shares) share /= sum > 0 ? sum : 1.0;
  return shares;
}

std::shared_ptr<const features::FeatureMap> map_of_next_round(const release::ReleasePlan& plan, std::size_t b,
                                                              const release::Artifact& so_far) {
  const features::FeatureMap& map = *plan.maps.at(b).map;
  if (map.steps() != nullptr) return next_step(plan, b, so_far);
  return map.tables()->counting(
      choose(map, plan, b, release::make_noisy_tables(so_far), so_far.aggregation).tables);
}

std::optional<release::Check> repeat_choices(const release::Artifact& a) {
  try {
    const std::optional<release::Check> steps = repeat_steps(a), counts = repeat_counts(a);
    return steps && (!counts || steps->outcome == release::Check::Outcome::kFail) ? steps : counts;
  } catch (const Error& e) {
    return release::Check{release::kRounds, release::Check::Outcome::kFail, e.what()};
  }
}

}  // namespace muffle::pair_graph
