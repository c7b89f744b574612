#include <fmt/format.h>

#include <algorithm>

#include "artifact_header.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/privacy/distributed_noise.hpp"
#include "muffle/privacy/site_noise.hpp"
#include "muffle/release/plan_json.hpp"

namespace muffle::release {
namespace {

using settings::Problems;

void check_hashes(const Artifact& a, Problems& wrong) {
  if (a.map_hashes.size() != a.maps.size()) {
    wrong.add("it has another number of maps than of their hashes");
    return;
  }
  const std::optional<std::size_t> proxy = a.proxy();
  for (std::size_t b = 0; b < a.maps.size(); ++b) {
    wrong.unless(is_hex(a.map_hashes[b], 64),
                 fmt::format("the hash of the map '{}' is not 64 hexadecimal digits", a.maps[b].name));
    if (proxy && b != *proxy && a.map_hashes[b] == a.map_hashes[*proxy])
      wrong.add("the proxy has the numbers of a map that generators are made from");
  }
}

void check_plan(const Artifact& a, Problems& wrong) {
  for (const std::string& problem : plan_contradictions(a)) wrong.add(problem);
}

void check_count(const Artifact& a, Problems& wrong) {
  const std::size_t expected = a.size();
  if (a.values.size() != expected) {
    wrong.add(fmt::format("it holds {} values, but its {} classes, maps{} need {}", a.values.size(),
                          a.classes(), a.counts ? " and counts" : "", expected));
  }
}

void check_aggregation(const Artifact& a, Problems& wrong) {
  privacy::require_valid(a.aggregation);
  const privacy::Apart* const apart = privacy::apart(a.aggregation);
  wrong.unless((apart != nullptr) == a.round.has_value(),
               "it is of a round between institutions without saying of which, or the other way round");
  if (apart != nullptr && a.round) {
    privacy::SiteNoisePlan(a.noise, apart->parties);
    wrong.unless(a.round->sites.size() == static_cast<std::size_t>(apart->sealed) &&
                     a.round->holders.size() == static_cast<std::size_t>(apart->parties.holders),
                 "it names other numbers of sites and key holders than its noise is of");
    const auto missing = std::ranges::count_if(
        a.round->holders, [](const RoundRecord::Holder& h) { return h.opening.empty(); });
    wrong.unless(missing == apart->stood_in,
                 "it names another number of key holders that were missing than its noise is of");
    wrong.unless(a.ledger_charge.empty() && a.data_id.empty(),
                 "it is charged to one ledger, and each site of a round charges its own");
  }
  if (const privacy::DistributedNoise* shares = privacy::distributed(a.aggregation))
    privacy::plan_distributed_noise(a.noise, shares->ranks, shares->colluding);
}

void check_values(const Artifact& a, Problems& wrong) {
  std::optional<privacy::SiteNoisePlan> sites;  // for all runs: it weighs every number of contributions
  const privacy::Apart* const apart = privacy::apart(a.aggregation);
  if (apart != nullptr) sites.emplace(a.noise, apart->parties);
  const auto carried = [&](std::size_t p, std::size_t r) {
    return sites ? sites->total_sigma(apart->sealed, apart->opened(), p, r)
                 : carried_sigma(a, a.aggregation, p, r);
  };
  if (const auto index = out_of_range(a, a.values, carried))
    wrong.add(fmt::format("value {} is larger than the records and the noise can make it", *index));
}

}  // namespace

std::vector<std::string> contradictions(const Artifact& artifact) {
  Problems wrong;
  for (const auto check : {check_count, check_plan, check_hashes, check_aggregation, check_values}) {
    if (wrong.empty()) wrong.check("", [&] { check(artifact, wrong); });
  }
  return wrong.take();
}

}  // namespace muffle::release
