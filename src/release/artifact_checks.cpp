#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "artifact_header.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/distributed_noise.hpp"

namespace muffle::release {
namespace {

/// Logarithm and exponential may differ in their last digits between machines; the noise multiplier is
/// recomputed to this relative accuracy (the accountant promises 1e-9). Everything else is IEEE basic
/// arithmetic and must agree exactly.
constexpr double kCalibrationTolerance = 1e-9;

using settings::Problems;

void check_one_map(const Artifact& a, std::size_t b, Problems& wrong) {
  const features::NamedMap& map = a.maps[b];
  if (!features::is_map_name(map.name) || (b > 0 && a.maps[b - 1].name >= map.name)) {
    wrong.add("the maps are not in the order of their names, each named once");
    return;
  }
  wrong.unless(is_hex(a.map_hashes[b], 64),
               fmt::format("the hash of the map '{}' is not 64 hexadecimal digits", map.name));
  if (map.role == features::MapRole::kProxy) {
    if (*a.proxy() != b) wrong.add("two maps are proxies");
    for (std::size_t other = 0; other < a.maps.size(); ++other) {
      if (other != b && a.map_hashes[other] == a.map_hashes[b])
        wrong.add("the proxy has the numbers of a map that generators are made from");
    }
  }
  if (map.round > 1 &&
      (!map.map->has_tables() || std::none_of(a.maps.begin(), a.maps.end(), [&](const auto& m) {
        return m.round + 1 == map.round && m.map->has_tables();
      })))
    wrong.add(fmt::format("the map '{}' is of round {}, which follows from no numbers before it", map.name,
                          map.round));
  // What the release states is resolved already: resolving it for the schema changes nothing.
  const std::unique_ptr<features::FeatureMap> again = map.map->clone();
  again->resolve(a.schema);
  if (again->to_json() != map.map->to_json() || map.map->dims() != a.schema.dims())
    wrong.add(fmt::format("the map '{}' is of other records than the schema's, or leaves something open",
                          map.name));
}

void check_shapes(const Artifact& a, Problems& wrong) {
  a.schema.validate();
  if (a.ranks < 1) wrong.add(fmt::format("it was made by {} ranks", a.ranks));
  if (a.lattice.bits < 8 || a.lattice.bits > 24)
    wrong.add(fmt::format("the lattice has {} bits, not 8 to 24", a.lattice.bits));
  if (a.schema.classes > std::uint64_t{1} << 20)
    wrong.add(fmt::format("{} classes are too many", a.schema.classes));
  if (a.maps.empty()) wrong.add("it holds no feature map");
  if (a.map_hashes.size() != a.maps.size()) wrong.add("it has another number of maps than of their hashes");
  if (!wrong.empty()) return;
  for (std::size_t b = 0; b < a.maps.size(); ++b) check_one_map(a, b, wrong);
  if (!wrong.empty()) return;
  const std::size_t expected = a.size();
  if (a.values.size() != expected) {
    wrong.add(fmt::format("it holds {} values, but its {} classes, maps{} need {}", a.values.size(),
                          a.classes(), a.counts ? " and counts" : "", expected));
  }
}

void check_records(const Artifact& a, Problems& wrong) {
  const bool replace = a.adjacency == privacy::Adjacency::kReplaceOne;
  if (replace && a.records < 1) wrong.add("the public number of records is 0");
  for (const features::NamedMap& map : a.maps) map.map->require_no_overflow(a.records, a.lattice);
  if (!replace && (a.records != 0 || !a.tells_counts())) {
    wrong.add(
        "under add/remove-one the number of records is private, and noisy counts or the trace of second "
        "moments take its place");
  }
  if (a.counts && !(a.counts_weight <= 1 && std::ldexp(a.counts_weight, a.lattice.bits) >= 1))
    wrong.add(fmt::format("the counts' weight {} is out of range", exact_text(a.counts_weight)));
}

/// Noise beyond 100 sigma does not happen, and no record's number is above its block's norm bound.
void check_values(const Artifact& a, Problems& wrong) {
  const bool replace = a.adjacency == privacy::Adjacency::kReplaceOne;
  std::size_t next = 0;
  for (std::size_t p = 0; p < a.noise.parts.size(); ++p) {
    const privacy::NoisePart& part = a.noise.parts[p];
    const double norm = p < a.maps.size() ? a.noise.sensitivity_input.blocks[p].norm : a.counts_weight;
    std::vector<double> limits;
    for (std::size_t r = 0; r < part.runs.size(); ++r) {
      const double sum =
          replace ? static_cast<double>(a.records) * norm * part.runs[r].unit * (1 + 1e-12) : 0x1p62;
      limits.push_back(sum + 100.0 * carried_sigma(a, a.aggregation, p, r));
    }
    for (std::uint64_t i = 0; i < part.repeat; ++i) {
      for (std::size_t r = 0; r < part.runs.size(); ++r) {
        for (const std::size_t end = next + part.runs[r].count; next < end; ++next) {
          if (std::fabs(static_cast<double>(a.values[next])) <= limits[r]) continue;
          wrong.add(fmt::format("value {} is larger than the records and the noise can make it", next));
          return;
        }
      }
    }
  }
}

void check_aggregation(const Artifact& a, Problems& wrong) {
  if (a.aggregation.masked && a.aggregation.ranks != a.ranks)
    wrong.add("it was made by one number of ranks and aggregated over another");
  privacy::require_valid(a.aggregation);
  if (a.aggregation.distributed)
    privacy::plan_distributed_noise(a.noise, a.aggregation.ranks, a.aggregation.colluding);
}

/// The bounds are those of the feature maps, and the noise's units those in which their numbers are held.
void check_bounds(const Artifact& a, Problems& wrong) {
  const privacy::SensitivityInput& input = a.noise.sensitivity_input;
  if (input.blocks.size() != a.maps.size()) {
    wrong.add("the sensitivity was derived for another number of feature maps");
    return;
  }
  for (std::size_t b = 0; b < a.maps.size(); ++b) {
    const features::BlockBound bound = a.maps[b].bound();
    if (input.blocks[b].norm != bound.norm ||
        input.blocks[b].nonnegative_kernel != bound.nonnegative_kernel) {
      wrong.add(fmt::format(
          "the sensitivity was derived for a {} map of norm {}, but map '{}' is a {} one of norm {}",
          input.blocks[b].nonnegative_kernel ? "non-negative" : "signed", exact_text(input.blocks[b].norm),
          a.maps[b].name, bound.nonnegative_kernel ? "non-negative" : "signed", exact_text(bound.norm)));
    }
  }
}

/// The guarantee, derived once more from what it is claimed to follow from.
void check_guarantee(const Artifact& a, Problems& wrong) {
  const privacy::NoisePlan& noise = a.noise;
  const privacy::SensitivityInput& input = noise.sensitivity_input;
  if (input.adjacency != a.adjacency || input.counts != a.counts ||
      (a.counts && input.counts_weight != a.counts_weight) ||
      input.max_records_per_person != a.max_records_per_person) {
    wrong.add("the noise was planned for another adjacency, counts or records per person");
    return;
  }
  check_bounds(a, wrong);
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
  if (wrong.empty() && privacy::drawn_parts(noise.sigma, a.coordinates()) != noise.parts)
    wrong.add(fmt::format("the noise that was drawn is not sigma {} in the units of the maps' numbers",
                          exact_text(noise.sigma)));
}

}  // namespace

std::vector<std::string> contradictions(const Artifact& artifact) {
  Problems wrong;
  for (const auto check : {check_shapes, check_guarantee, check_aggregation, check_records, check_values}) {
    if (wrong.empty()) wrong.check("", [&] { check(artifact, wrong); });
  }
  return wrong.take();
}

}  // namespace muffle::release
