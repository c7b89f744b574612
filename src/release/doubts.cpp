#include <fmt/format.h>

#include "muffle/core/text.hpp"
#include "muffle/release/plan.hpp"

namespace muffle::release {
namespace {

/// A mean kernel value that a class of real records may well not reach.
constexpr double kDoubtfulKernel = 0.1;
/// Of a class's records: what its noisy count may be off by.
constexpr double kRoughCount = 0.1;
constexpr double kWeakEpsilon = 10.0;

void doubt_map(const MapForecast& map, std::vector<std::string>& out) {
  constexpr const char* kRemedy =
      "more records, fewer classes or a larger epsilon help; so do fewer features, as the noise's length "
      "grows with their square root";
  if (map.signal_to_noise_most < 1) {
    out.push_back(fmt::format(
        "map {}: the noise dominates whatever the data are: a class's mean embedding is at most {:.3g} "
        "long and its noise {:.3g}; {}",
        map.name, map.signal_most, map.noise_per_class, kRemedy));
  } else if (map.kernel_where_equal > kDoubtfulKernel) {
    out.push_back(fmt::format(
        "map {}: the noise may dominate: a class's mean embedding is longer than its noise only if two "
        "of its records have a kernel value above {:.3g} on average; {}",
        map.name, map.kernel_where_equal, kRemedy));
  }
}

}  // namespace

std::vector<std::string> doubts(const ReleasePlan& plan, std::span<const MapForecast> maps,
                                std::optional<double> count_noise, std::optional<double> records) {
  std::vector<std::string> out;
  if (records) {
    for (std::size_t b = 0; b < maps.size(); ++b) {
      if (plan.maps.at(b).map->steps() == nullptr) doubt_map(maps[b], out);  // their outlook says it
    }
    const double per_class = *records / static_cast<double>(plan.classes());
    if (count_noise && *count_noise > kRoughCount * per_class)
      out.push_back(fmt::format(
          "counts: their noise of {:.3g} records is above a tenth of a class's {:.3g}, so the class shares "
          "will be rough",
          *count_noise, per_class));
    if (plan.noise.delta * *records >= 1)
      out.push_back(fmt::format("delta {} is not below 1 / {:.0f} records: use a smaller one",
                                exact_text(plan.noise.delta), *records));
  }
  if (plan.noise.epsilon > kWeakEpsilon)
    out.push_back(
        fmt::format("epsilon {} is a weak promise: odds about one person may change by a factor e^{}",
                    exact_text(plan.noise.epsilon), exact_text(plan.noise.epsilon)));
  return out;
}

}  // namespace muffle::release
