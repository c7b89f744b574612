#include "muffle/core/ranks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace muffle {

std::vector<double> ranks(std::span<const double> values) {
  std::vector<double> out(values.begin(), values.end());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t k) { return values[i] < values[k]; });
  for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
    while (to < order.size() && values[order[to]] == values[order[from]]) ++to;
    for (std::size_t k = from; k < to; ++k) out[order[k]] = static_cast<double>(from + to - 1) / 2;
  }
  return out;
}

double rank_correlation(std::span<const double> one, std::span<const double> other) {
  double n = 0, a = 0, b = 0;
  const auto both = [&](std::size_t i) { return !std::isnan(one[i]) && !std::isnan(other[i]); };
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (both(i)) ++n, a += one[i], b += other[i];
  }
  if (n < 2) return 0.0;
  a /= n;
  b /= n;
  double aa = 0, bb = 0, ab = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (!both(i)) continue;
    const double x = one[i] - a, y = other[i] - b;
    aa += x * x, bb += y * y, ab += x * y;
  }
  return aa > 0 && bb > 0 ? std::clamp(ab / std::sqrt(aa * bb), -1.0, 1.0) : 0.0;
}

}  // namespace muffle
