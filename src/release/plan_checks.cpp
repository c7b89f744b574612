#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "muffle/core/round_up.hpp"
#include "muffle/core/text.hpp"
#include "muffle/features/stepped.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/release/plan_json.hpp"

namespace muffle::release {
namespace {

/// Logarithm and exponential may differ in their last digits between machines; the noise multiplier is
/// recomputed to this relative accuracy (the accountant promises 1e-9). Everything else is IEEE basic
/// arithmetic and must agree exactly.
constexpr double kCalibrationTolerance = 1e-9;

using settings::Problems;

void check_one_map(const ReleasePlan& plan, std::size_t b, Problems& wrong) {
  const features::NamedMap& map = plan.maps[b];
  if (!features::is_map_name(map.name) || (b > 0 && plan.maps[b - 1].name >= map.name)) {
    wrong.add("the maps are not in the order of their names, each named once");
    return;
  }
  if (map.role == features::MapRole::kProxy && *plan.proxy() != b) wrong.add("two maps are proxies");
  if (!map.labelled &&
      (map.map->second_moments() || map.map->tables() || map.map->counts_inside(plan.lattice)))
    wrong.add(fmt::format("the map '{}' is of each class, and stated to be without labels", map.name));
  if (const std::string problem = plan.minibatches_problem(b); !problem.empty())
    wrong.add(fmt::format("the map '{}': {}", map.name, problem));
  if (map.labelled && map.map->steps())
    wrong.add(fmt::format("the map '{}' is of all classes together, and stated to be of each", map.name));
  const auto goes_on = [&](const features::NamedMap& before) {
    if (before.round + 1 != map.round) return false;
    if (map.map->steps() && map.round == map.map->steps()->first_round())
      return before.map->second_moments() != nullptr;  // whose axes it goes by
    return before.map->kind() == map.map->kind() && (map.map->tables() || map.map->steps());
  };
  if (map.round > 1 && std::none_of(plan.maps.begin(), plan.maps.end(), goes_on))
    wrong.add(fmt::format("the map '{}' is of round {}, which follows from no numbers before it", map.name,
                          map.round));
  // What the release states is resolved already: resolving it for the schema changes nothing.
  const std::unique_ptr<features::FeatureMap> again = map.map->clone();
  again->resolve(plan.schema);
  if (again->to_json() != map.map->to_json() || map.map->dims() != plan.schema.dims())
    wrong.add(fmt::format("the map '{}' is of other records than the schema's, or leaves something open",
                          map.name));
}

void check_maps(const ReleasePlan& plan, Problems& wrong) {
  plan.schema.validate();
  if (plan.lattice.bits < 8 || plan.lattice.bits > 24)
    wrong.add(fmt::format("the lattice has {} bits, not 8 to 24", plan.lattice.bits));
  if (plan.schema.classes > std::uint64_t{1} << 20)
    wrong.add(fmt::format("{} classes are too many", plan.schema.classes));
  if (plan.maps.empty()) wrong.add("it holds no feature map");
  for (std::size_t b = 0; b < plan.maps.size() && wrong.empty(); ++b) check_one_map(plan, b, wrong);
}

void check_records(const ReleasePlan& plan, Problems& wrong) {
  const bool replace = plan.adjacency == privacy::Adjacency::kReplaceOne;
  if (replace && plan.records < 1) wrong.add("the public number of records is 0");
  for (const features::NamedMap& map : plan.maps) map.map->require_no_overflow(plan.records, plan.lattice);
  if (!replace && (plan.records != 0 || !plan.tells_counts())) {
    wrong.add(
        "under add/remove-one the number of records is private, and noisy counts or the trace of second "
        "moments take its place");
  }
  if (plan.counts && !(plan.counts_weight <= 1 && std::ldexp(plan.counts_weight, plan.lattice.bits) >= 1))
    wrong.add(fmt::format("the counts' weight {} is out of range", exact_text(plan.counts_weight)));
}

/// The bounds are those of the feature maps, and the noise's units those in which their numbers are held.
void check_bounds(const ReleasePlan& plan, Problems& wrong) {
  const privacy::SensitivityInput& input = plan.noise.sensitivity_input;
  if (input.blocks.size() != plan.maps.size()) {
    wrong.add("the sensitivity was derived for another number of feature maps");
    return;
  }
  for (std::size_t b = 0; b < plan.maps.size(); ++b) {
    const features::BlockBound bound = plan.maps[b].bound();
    if (input.blocks[b].labelled != bound.labelled)
      wrong.add(fmt::format("the sensitivity was derived for the map '{}' {} labels", plan.maps[b].name,
                            bound.labelled ? "without" : "with"));
    if (input.blocks[b].epochs != bound.epochs)
      wrong.add(
          fmt::format("the sensitivity was derived for other epochs of the map '{}'", plan.maps[b].name));
    if (input.blocks[b].norm != bound.norm ||
        input.blocks[b].nonnegative_kernel != bound.nonnegative_kernel) {
      wrong.add(fmt::format(
          "the sensitivity was derived for a {} map of norm {}, but map '{}' is a {} one of norm {}",
          input.blocks[b].nonnegative_kernel ? "non-negative" : "signed", exact_text(input.blocks[b].norm),
          plan.maps[b].name, bound.nonnegative_kernel ? "non-negative" : "signed", exact_text(bound.norm)));
    }
  }
}

/// The guarantee, derived once more from what it is claimed to follow from.
void check_guarantee(const ReleasePlan& plan, Problems& wrong) {
  const privacy::NoisePlan& noise = plan.noise;
  const privacy::SensitivityInput& input = noise.sensitivity_input;
  if (input.adjacency != plan.adjacency || input.counts != plan.counts ||
      (plan.counts && input.counts_weight != plan.counts_weight) ||
      input.max_records_per_person != plan.max_records_per_person) {
    wrong.add("the noise was planned for another adjacency, counts or records per person");
    return;
  }
  check_bounds(plan, wrong);
  if (!wrong.empty()) return;
  if (const double value = privacy::combined_sensitivity(input).value; value != noise.sensitivity.value) {
    wrong.add(fmt::format("the sensitivity is stated as {} and derived as {}",
                          exact_text(noise.sensitivity.value), exact_text(value)));
  }
  const double multiplier = privacy::noise_multiplier_for(noise.epsilon, noise.delta);
  if (!(std::fabs(noise.noise_multiplier / multiplier - 1.0) <= kCalibrationTolerance)) {
    wrong.add(fmt::format("a noise multiplier of {} is stated, but epsilon {} at delta {} means {}",
                          exact_text(noise.noise_multiplier), exact_text(noise.epsilon),
                          exact_text(noise.delta), exact_text(multiplier)));
  }
  if (noise.sigma != multiply_up(noise.noise_multiplier, noise.sensitivity.value)) {
    wrong.add(fmt::format("sigma is stated as {}, which is not noise multiplier x sensitivity",
                          exact_text(noise.sigma)));
  }
  if (wrong.empty() && privacy::drawn_parts(noise.sigma, plan.coordinates()) != noise.parts)
    wrong.add(fmt::format("the noise that was drawn is not sigma {} in the units of the maps' numbers",
                          exact_text(noise.sigma)));
}

}  // namespace

std::vector<std::string> plan_contradictions(const ReleasePlan& plan) {
  Problems wrong;
  for (const auto check : {check_maps, check_guarantee, check_records}) {
    if (wrong.empty()) wrong.check("", [&] { check(plan, wrong); });
  }
  return wrong.take();
}

}  // namespace muffle::release
