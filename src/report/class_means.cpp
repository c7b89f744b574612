#include "class_means.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace muffle::report {
namespace {

constexpr std::size_t kMostClassesCompared = 20, kMostGapsNamed = 6;
/// Standard deviations that noise alone exceeds in one of 30,000 pairs, at most.
constexpr double kToldApart = 4.0;

/// Each class's records, at least one and one standard deviation of their noise. Empty: unknown.
std::vector<double> class_sizes(const PublicMaterial& m) {
  const release::Artifact& a = m.artifact();
  if (const auto noisy = release::noisy_counts(a)) {
    std::vector<double> out = noisy->counts;
    for (double& n : out) n = std::max({1.0, noisy->sigma, n});
    return out;
  }
  if (!m.records) return {};
  return std::vector<double>(a.classes(), std::max(1.0, *m.records / static_cast<double>(a.classes())));
}

/// Of map b. Every coordinate is measured in its own noise.
ClassGap gap_by(const release::Artifact& a, std::size_t b, const std::vector<double>& sizes, std::size_t one,
                std::size_t other) {
  const std::size_t width = a.features(b);
  const std::int64_t* first = a.values.data() + a.offset(b) + one * width;
  const std::int64_t* second = a.values.data() + a.offset(b) + other * width;
  const double of_one = 1 / sizes[one], of_other = 1 / sizes[other];
  const std::vector<features::CoordinateRun> runs = a.maps[b].map->coordinates(a.lattice);
  double squares = 0;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const double sigma = release::carried_sigma(a, a.aggregation, b, r);
    const double variance = sigma * sigma * (of_one * of_one + of_other * of_other);
    for (std::uint64_t j = 0; j < runs[r].count; ++j) {
      const double apart = static_cast<double>(*first++) * of_one - static_cast<double>(*second++) * of_other;
      squares += apart * apart / variance;
    }
  }
  const auto n = static_cast<double>(width);
  return {one, other, a.maps[b].name, std::sqrt(squares / n), (squares - n) / std::sqrt(2 * n)};
}

}  // namespace

std::vector<ClassGap> class_gaps(const PublicMaterial& m) {
  const release::Artifact& a = m.artifact();
  const std::vector<double> sizes = class_sizes(m);
  std::vector<ClassGap> out;
  if (sizes.empty()) return out;
  for (std::size_t one = 0; one < std::min(a.classes(), kMostClassesCompared); ++one) {
    for (std::size_t other = one + 1; other < std::min(a.classes(), kMostClassesCompared); ++other) {
      std::optional<ClassGap> best;
      for (std::size_t b = 0; b < a.maps.size(); ++b) {
        if (!a.maps[b].labelled || a.maps[b].minibatches || a.maps[b].map->tables()) continue;
        ClassGap gap = gap_by(a, b, sizes, one, other);
        if (!best || gap.surplus > best->surplus) best = std::move(gap);
      }
      if (best) out.push_back(std::move(*best));
    }
  }
  return out;
}

void judge_classes_by_noise(const PublicMaterial& m, std::vector<std::string>& good,
                            std::vector<std::string>& bad) {
  if (m.artifact().schema.table) return;
  std::vector<ClassGap> all = class_gaps(m);
  if (all.empty()) return;
  std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.surplus < y.surplus; });
  const ClassGap& closest = all.front();
  const std::string of_all = fmt::format("{} pairs of classes{}", all.size(),
                                         m.artifact().classes() > kMostClassesCompared
                                             ? fmt::format(" (of the first {} classes)", kMostClassesCompared)
                                             : "");
  if (closest.surplus >= kToldApart) {
    good.push_back(fmt::format(
        "The release itself tells all {} apart: the means of the closest two, {} and {}, lie {:.2f} times as "
        "far from each other as its noise alone would set those of one class.",
        of_all, closest.one, closest.other, closest.times));
    return;
  }
  std::string named;
  std::size_t hidden = 0;
  for (const ClassGap& gap : all) {
    if (gap.surplus >= kToldApart) break;
    if (hidden++ < kMostGapsNamed)
      named += fmt::format("{}{} and {}", named.empty() ? "" : "; ", gap.one, gap.other);
  }
  if (hidden > kMostGapsNamed) named += fmt::format("; and {} more", hidden - kMostGapsNamed);
  bad.push_back(
      fmt::format("Of {} the release's noise hides how {} differ{}: {}. Their means lie no farther from each "
                  "other than noise alone would set those of one class.",
                  of_all, hidden, hidden == 1 ? "s" : "", named));
}

}  // namespace muffle::report
