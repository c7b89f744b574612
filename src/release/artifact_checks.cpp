#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

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

/// The rounds of one release are by the same parties, under the same charges.
bool same_parties(const RoundRecord& a, const RoundRecord& b) {
  return a.coordinator == b.coordinator && a.title == b.title &&
         std::ranges::equal(a.sites, b.sites,
                            [](const RoundRecord::Site& x, const RoundRecord::Site& y) {
                              return x.key == y.key && x.name == y.name && x.charge == y.charge &&
                                     x.data_id == y.data_id;
                            }) &&
         std::ranges::equal(a.holders, b.holders,
                            [](const RoundRecord::Holder& x, const RoundRecord::Holder& y) {
                              return x.key == y.key && x.name == y.name;
                            });
}

int missing_in(const RoundRecord& round) {
  return static_cast<int>(
      std::ranges::count_if(round.holders, [](const RoundRecord::Holder& h) { return h.opening.empty(); }));
}

/// Of a release, or of one of those that it was combined from.
void check_summed(const Artifact& a, const privacy::AggregationMode& mode,
                  const std::optional<RoundRecord>& round, Problems& wrong) {
  const privacy::Apart* const apart = privacy::apart(mode);
  wrong.unless((apart != nullptr) == round.has_value(),
               "it is of a round between institutions without saying of which, or the other way round");
  if (apart != nullptr && round) {
    privacy::SiteNoisePlan(a.noise, apart->parties);
    wrong.unless(round->sites.size() == static_cast<std::size_t>(apart->sealed) &&
                     round->holders.size() == static_cast<std::size_t>(apart->parties.holders),
                 "it names other numbers of sites and key holders than its noise is of");
    std::vector<int> missing;
    for (const RoundRecord& before : a.rounds_before) missing.push_back(missing_in(before));
    missing.push_back(missing_in(*round));
    wrong.unless(*apart == privacy::apart_of(apart->parties, apart->sealed, missing),
                 "it names another number of key holders that were missing than its noise is of");
  }
  if (apart != nullptr && round && a.parts.empty())
    wrong.unless(a.rounds_before.size() + 1 == a.rounds() &&
                     std::ranges::all_of(a.rounds_before,
                                         [&](const RoundRecord& r) { return same_parties(r, *round); }),
                 "it names other rounds than it is of, or others that took part in them");
  wrong.unless(apart != nullptr || a.rounds_before.empty(),
               "it names rounds between institutions, and is of none");
  if (const privacy::DistributedNoise* shares = privacy::distributed(mode))
    privacy::plan_distributed_noise(a.noise, shares->ranks, shares->colluding);
}

void check_parts(const Artifact& a, Problems& wrong) {
  const privacy::Combined* const several = privacy::combined(a.aggregation);
  wrong.unless((several != nullptr) == !a.parts.empty() &&
                   (several == nullptr || several->parts.size() == a.parts.size()),
               "it names other releases that it was combined from than its noise is of");
  if (several == nullptr || !wrong.empty()) return;
  std::uint64_t records = 0;
  bool is_private = true;
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    const PartRecord& part = a.parts[i];
    check_summed(a, privacy::mode_of(several->parts[i]), part.round, wrong);
    wrong.unless(!__builtin_add_overflow(records, part.records, &records), "it has too many records");
    is_private = is_private && part.is_private;
  }
  wrong.unless(
      records == a.records && is_private == a.is_private,
      "it says something else of its records or its noise than the releases that it was combined from");
  wrong.unless(promise_of(a).has_value(), "it promises nothing to a person who is in all its parts");
  wrong.unless(!a.round && a.rounds_before.empty(), "it is of a round, and combined from several releases");
}

void check_aggregation(const Artifact& a, Problems& wrong) {
  privacy::require_valid(a.aggregation);
  check_parts(a, wrong);
  if (a.parts.empty()) check_summed(a, a.aggregation, a.round, wrong);
  wrong.unless((!a.round && a.parts.empty()) || (a.ledger_charge.empty() && a.data_id.empty()),
               "it is charged to one ledger, and each site of a round charges its own");
}

/// sigma of one release's noise, run by run. What weighs every number of contributions is made once.
std::function<double(std::size_t, std::size_t)> carried_by(const Artifact& a,
                                                           const privacy::AggregationMode& mode) {
  const privacy::Apart* const apart = privacy::apart(mode);
  if (apart == nullptr)
    return [&a, whole = std::make_shared<const privacy::AggregationMode>(mode)](
               std::size_t p, std::size_t r) { return carried_sigma(a, *whole, p, r); };
  const auto sites = std::make_shared<privacy::SiteNoisePlan>(a.noise, apart->parties);
  return [&a, sites, round = *apart](std::size_t p, std::size_t r) {
    return sites->total_sigma(round.sealed, round.opened(a.round_of(p)), p, r);
  };
}

void check_values(const Artifact& a, Problems& wrong) {
  std::vector<std::function<double(std::size_t, std::size_t)>> parts;
  if (const privacy::Combined* several = privacy::combined(a.aggregation)) {
    for (const privacy::Summed& part : several->parts) parts.push_back(carried_by(a, privacy::mode_of(part)));
  } else {
    parts.push_back(carried_by(a, a.aggregation));
  }
  const auto carried = [&](std::size_t p, std::size_t r) {
    if (parts.size() == 1) return parts.front()(p, r);
    double squares = 0.0;
    for (const auto& part : parts) squares += part(p, r) * part(p, r);
    return std::sqrt(squares);
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
