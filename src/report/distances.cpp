#include "distances.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace muffle::report {

std::vector<double> values_in_order(const std::vector<double>& values) {
  std::vector<double> out;
  std::copy_if(values.begin(), values.end(), std::back_inserter(out),
               [](double v) { return !std::isnan(v); });
  std::sort(out.begin(), out.end());
  return out;
}

namespace {

Shape of_numbers(const std::vector<double>& a, const std::vector<double>& b, double width) {
  const std::vector<double> one = values_in_order(a), other = values_in_order(b);
  if (one.empty() || other.empty()) {
    const double far = one.empty() == other.empty() ? 0.0 : 1.0;
    return {far, far};
  }
  std::vector<double> steps(one);  // where either function has a step
  steps.insert(steps.end(), other.begin(), other.end());
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  Shape out;
  auto i = one.begin(), j = other.begin();
  for (std::size_t k = 0; k < steps.size(); ++k) {
    i = std::upper_bound(i, one.end(), steps[k]);
    j = std::upper_bound(j, other.end(), steps[k]);
    const double apart =
        std::fabs(static_cast<double>(i - one.begin()) / static_cast<double>(one.size()) -
                  static_cast<double>(j - other.begin()) / static_cast<double>(other.size()));
    out.distance = std::max(out.distance, apart);
    if (k + 1 < steps.size() && width > 0) out.wasserstein += apart * (steps[k + 1] - steps[k]) / width;
  }
  return out;
}

Shape of_categories(const std::vector<double>& a, const std::vector<double>& b, std::size_t categories) {
  std::vector<double> apart(categories + 1, 0.0);
  const auto add = [&](const std::vector<double>& values, double sign) {
    for (const double v : values)
      apart[std::isnan(v) ? categories : static_cast<std::size_t>(v)] +=
          sign / static_cast<double>(values.size());
  };
  add(a, 1.0);
  add(b, -1.0);
  Shape out;
  for (const double share : apart) out.distance += std::fabs(share) / 2;
  return out;
}

}  // namespace

double mean_distance_from_even(const Rows& rows) {
  double sum = 0;
  for (std::size_t j = 0; j < rows.columns.size(); ++j) {
    const Column& column = rows.columns[j];
    if (!column.is_number) {
      std::vector<double> even(column.categories.size());
      std::iota(even.begin(), even.end(), 0.0);
      if (column.may_be_missing) even.push_back(std::numeric_limits<double>::quiet_NaN());
      sum += of_categories(rows.values[j], even, column.categories.size()).distance;
      continue;
    }
    const std::vector<double> sorted = values_in_order(rows.values[j]);
    const auto n = static_cast<double>(sorted.size());
    double farthest = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const double below = column.hi > column.lo
                               ? std::clamp((sorted[i] - column.lo) / (column.hi - column.lo), 0.0, 1.0)
                               : 0.5;
      const auto rank = static_cast<double>(i);
      farthest = std::max({farthest, std::fabs(below - rank / n), std::fabs(below - (rank + 1) / n)});
    }
    sum += farthest;
  }
  return rows.columns.empty() ? 0.0 : sum / static_cast<double>(rows.columns.size());
}

double distance_at(const std::vector<double>& one, const std::vector<double>& other,
                   const std::vector<double>& cuts) {
  const std::vector<double> a = values_in_order(one), b = values_in_order(other);
  if (a.empty() || b.empty()) return a.empty() == b.empty() ? 0.0 : 1.0;
  const auto below = [](const std::vector<double>& values, double cut) {
    return static_cast<double>(std::lower_bound(values.begin(), values.end(), cut) - values.begin()) /
           static_cast<double>(values.size());
  };
  double out = 0;
  for (const double cut : cuts) out = std::max(out, std::fabs(below(a, cut) - below(b, cut)));
  return out;
}

std::vector<Shape> shapes_of(const Rows& one, const Rows& other) {
  std::vector<Shape> out;
  for (std::size_t j = 0; j < one.columns.size(); ++j) {
    const Column& column = one.columns[j];
    out.push_back(column.is_number ? of_numbers(one.values[j], other.values[j], column.hi - column.lo)
                                   : of_categories(one.values[j], other.values[j], column.categories.size()));
  }
  return out;
}

}  // namespace muffle::report
