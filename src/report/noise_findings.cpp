#include <fmt/format.h>

#include <algorithm>

#include "sections.hpp"

namespace muffle::report {
namespace {

/// Of noise: total variation of a column, or the farthest difference of its distribution functions.
constexpr double kLittle = 0.03, kMuch = 0.10;
constexpr std::size_t kMostNamed = 6;

std::string names_of(const PublicMaterial& m, const std::vector<ColumnDistance>& some) {
  std::string out;
  for (std::size_t k = 0; k < std::min(some.size(), kMostNamed); ++k)
    out += (k > 0 ? ", " : "") + m.samples->columns[some[k].column].name;
  if (some.size() > kMostNamed) out += fmt::format(" and {} more", some.size() - kMostNamed);
  return out;
}

/// What the noise does to columns, in words: to shares of bins, or of learned bins to the distribution
/// function.
void quality_of(const PublicMaterial& m, const std::vector<ColumnDistance>& all, bool learned,
                std::vector<std::string>& good, std::vector<std::string>& bad) {
  if (all.empty()) return;
  std::vector<ColumnDistance> fine, noisy, off;
  for (const ColumnDistance& d : all) {
    if (d.known_to ? *d.known_to < kMuch : d.by_noise <= kLittle) fine.push_back(d);
    if (d.by_noise >= kMuch) noisy.push_back(d);
    if (d.distance > kLittle + 3 * d.by_noise) off.push_back(d);
  }
  const auto worst = [](auto field) {
    return [field](const auto& x, const auto& y) { return x.*field > y.*field; };
  };
  std::sort(noisy.begin(), noisy.end(), worst(&ColumnDistance::by_noise));
  std::sort(off.begin(), off.end(), worst(&ColumnDistance::distance));
  const std::string of_all =
      fmt::format("of {} columns with {}", all.size(), learned ? "learned bins" : "counts");
  const auto known_to = [&](const std::vector<ColumnDistance>& some) {
    double most = 0;
    for (const ColumnDistance& d : some) most = std::max(most, d.known_to.value_or(0.0));
    return fmt::format("{:.1f}", 100 * most);
  };
  if (!fine.empty())
    good.push_back(
        learned
            ? fmt::format("In {} {} the release tells the share of records below any value to {} percentage "
                          "points or better, each in 95 of 100 releases.",
                          fine.size(), of_all, known_to(fine))
            : fmt::format("In {} {} noise displaces less than {:.0f} % of the records.", fine.size(), of_all,
                          100 * kLittle));
  if (!noisy.empty())
    bad.push_back(fmt::format(
        "In {} {} the release's own noise {} {:.0f} {} or more{}: {}. The model smooths it, which is a "
        "guess.",
        noisy.size(), of_all, learned ? "moves the share of records below some value by" : "displaces",
        100 * kMuch, learned ? "percentage points" : "% of the records",
        learned ? "" : ", seen in bins as fine as those drawn", names_of(m, noisy)));
  const std::string explained =
      learned ? fmt::format(
                    "the share below any value differs by no more than {:.0f} percentage points, and three "
                    "times what noise moves it by",
                    100 * kLittle)
              : fmt::format(
                    "no more than {:.0f} % of the synthetic records, and three times what its noise "
                    "displaces, lie elsewhere than the release says",
                    100 * kLittle);
  if (!off.empty())
    bad.push_back(fmt::format(
        "Synthetic records depart from the release by more than its noise explains ({}) in {} {}: {}.",
        learned ? fmt::format(
                      "{:.0f} percentage points of the share below some value, and three times what noise "
                      "moves it by",
                      100 * kLittle)
                : fmt::format("{:.0f} % of them and three times what it displaces", 100 * kLittle),
        off.size(), of_all, names_of(m, off)));
  // Where noise is all there is, that samples follow the release is no praise.
  if (off.empty() && noisy.size() < all.size())
    good.push_back(fmt::format("In {} {} samples follow the release: {}.", all.size() - noisy.size(), of_all,
                               explained));
}

}  // namespace

void quality_by_noise(const PublicMaterial& m, std::vector<std::string>& good,
                      std::vector<std::string>& bad) {
  std::vector<ColumnDistance> counted, learned;
  for (const ColumnDistance& d : released_distances(m)) (d.known_to ? learned : counted).push_back(d);
  quality_of(m, learned, true, good, bad);
  quality_of(m, counted, false, good, bad);
}

}  // namespace muffle::report
