#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/sampling/sampler.hpp"

namespace muffle::sampling {
namespace {

/// Cumulative shares; the last class with one takes the rest, so that rounding leaves no gap.
std::vector<double> cumulative(const std::vector<double>& share) {
  double sum = 0.0;
  for (const double p : share) {
    require(p >= 0.0 && p <= 1.0 + 1e-9, fmt::format("class share {} is not in [0, 1]", p));
    sum += p;
  }
  require(std::fabs(sum - 1.0) < 1e-6, fmt::format("class shares sum to {}, not to 1", sum));
  std::vector<double> bounds(share.size());
  std::partial_sum(share.begin(), share.end(), bounds.begin());
  const auto last =
      std::find_if(share.rbegin(), share.rend(), [](double p) { return p > 0.0; }).base() - share.begin() - 1;
  bounds.resize(static_cast<std::size_t>(last) + 1);
  bounds.back() = HUGE_VAL;
  return bounds;
}

std::int64_t class_at(const std::vector<double>& bounds, double position) {
  return std::upper_bound(bounds.begin(), bounds.end(), position) - bounds.begin();
}

/// A step near total / golden ratio without a common factor: i -> i step mod total visits every place once,
/// and any run of consecutive samples is spread evenly over the classes.
std::uint64_t spreading_step(std::uint64_t total) {
  auto step =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(0.6180339887498949 * static_cast<double>(total)));
  while (std::gcd(step, total) != 1) ++step;
  return step;
}

}  // namespace

std::vector<std::int64_t> draw_labels(std::uint64_t seed, bool training, std::uint32_t substream,
                                      std::uint64_t first, std::size_t n, std::uint64_t total,
                                      const std::vector<double>& class_share, bool stratified) {
  require(first + n <= total,
          fmt::format("samples {}..{} lie outside the {} to be labelled", first, first + n, total));
  const CounterStream stream(seed, training ? Stream::kTrainLabels : Stream::kSampleLabels, substream);
  const std::vector<double> bounds = cumulative(class_share);
  std::vector<std::int64_t> labels(n);
  if (!stratified) {
    for (std::size_t i = 0; i < n; ++i) labels[i] = class_at(bounds, stream.uniform(first + i));
    return labels;
  }
  if (n == 0) return labels;
  // Systematic sampling: the points (place + u) / total, one u for all, so class c gets floor or ceil of
  // total p_c.
  const double u = stream.uniform(0);
  const std::uint64_t shift = stream.below(1, total), step = spreading_step(total);
  auto place = static_cast<std::uint64_t>((static_cast<unsigned __int128>(first) * step + shift) % total);
  for (std::size_t i = 0; i < n; ++i) {
    labels[i] = class_at(bounds, (static_cast<double>(place) + u) / static_cast<double>(total));
    place = place >= total - step ? place - (total - step) : place + step;
  }
  return labels;
}

}  // namespace muffle::sampling
