#include "neighbours.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace muffle::report {
namespace {

/// Of a missing value, or between two categories: further than 1 from everything else.
constexpr float kApart = 2.0F;

void add_column(const std::vector<float>& to, float place, std::vector<float>& sums, float sign) {
  const float* const other = to.data();
  float* const sum = sums.data();
  const std::size_t n = sums.size();
  for (std::size_t i = 0; i < n; ++i) {
    const float apart = std::fabs(place - other[i]);
    sum[i] += sign * (apart < 1.0F ? apart : 1.0F);
  }
}

void add_all(const Places::Set& from, std::size_t row, const Places::Set& to, std::vector<float>& sums) {
  std::fill(sums.begin(), sums.end(), 0.0F);
  for (std::size_t j = 0; j < to.columns(); ++j) add_column(to.of[j], from.of[j][row], sums, 1.0F);
}

}  // namespace

Places::Places(const Rows& scale) : sorted_(scale.columns.size()) {
  for (std::size_t j = 0; j < sorted_.size(); ++j) {
    if (!scale.columns[j].is_number || !scale.columns[j].schema) continue;
    for (const double v : scale.values[j]) {
      if (!std::isnan(v)) sorted_[j].push_back(v);
    }
    std::sort(sorted_[j].begin(), sorted_[j].end());
  }
}

Places::Set Places::of(const Rows& rows, std::span<const std::size_t> at) const {
  Set out;
  for (std::size_t j = 0; j < rows.columns.size(); ++j) {
    const Column& column = rows.columns[j];
    if (column.follows) break;  // the last ones: what they say was said
    const auto& sorted = sorted_[j];
    const auto place = [&](double v) -> double {
      if (std::isnan(v)) return -static_cast<double>(kApart);
      if (!column.is_number) return kApart * v;
      if (!column.schema) return v;
      if (sorted.empty()) return 0.0;
      const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), v);
      return static_cast<double>((low - sorted.begin()) + (high - sorted.begin())) /
             (2.0 * static_cast<double>(sorted.size()));
    };
    std::vector<float>& places = out.of.emplace_back();
    places.reserve(at.size());
    for (const std::size_t i : at) places.push_back(static_cast<float>(place(rows.values[j][i])));
  }
  return out;
}

std::vector<Nearest> nearest(const Places::Set& from, const Places::Set& to, const Heartbeat& heartbeat) {
  std::vector<Nearest> out;
  std::vector<float> sums(to.size());
  for (std::size_t row = 0; row < from.size(); ++row) {
    beat(heartbeat);
    add_all(from, row, to, sums);
    const auto least = std::min_element(sums.begin(), sums.end());
    out.push_back({static_cast<double>(*least) / static_cast<double>(to.columns()),
                   static_cast<std::size_t>(least - sums.begin())});
  }
  return out;
}

std::vector<std::vector<std::uint32_t>> guess(const Places::Set& from, const Places::Set& to,
                                              std::span<const std::size_t> targets,
                                              std::span<const std::vector<std::uint32_t>> answers,
                                              const Heartbeat& heartbeat) {
  std::vector<std::vector<std::uint32_t>> out(targets.size());
  std::vector<float> sums(to.size()), without(to.size());
  std::vector<std::size_t> order(to.size());
  const std::size_t k = std::min(kNeighbours, to.size());
  for (std::size_t row = 0; row < from.size(); ++row) {
    beat(heartbeat);
    add_all(from, row, to, sums);
    for (std::size_t t = 0; t < targets.size(); ++t) {
      without = sums;
      add_column(to.of[targets[t]], from.of[targets[t]][row], without, -1.0F);
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k) - 1, order.end(),
                       [&](std::size_t a, std::size_t b) {
                         return without[a] < without[b] || (without[a] == without[b] && a < b);
                       });
      std::map<std::uint32_t, std::size_t> votes;
      for (std::size_t i = 0; i < k; ++i) ++votes[answers[t][order[i]]];
      out[t].push_back(std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
                         return a.second < b.second;
                       })->first);
    }
  }
  return out;
}

}  // namespace muffle::report
