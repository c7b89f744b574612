#include "bins.hpp"

#include <algorithm>
#include <cmath>

#include "muffle/schema/table_text.hpp"

namespace muffle::schema {
namespace {

/// How many values the grid has, without its bins.
double values_between(const Column& column) {
  return std::floor((column.hi - column.lo) / column.step + 0.5) + 1;
}

}  // namespace

std::vector<double> equal_bins(const Column& column, std::size_t count) {
  const double values = values_between(column);
  const auto n = static_cast<std::size_t>(std::min(static_cast<double>(count), values));
  std::vector<double> edges;
  for (std::size_t i = 0; i <= n; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(n);
    edges.push_back(i == n ? column.lo + values * column.step : column.lo + share * values * column.step);
  }
  return edges;
}

std::vector<double> logarithmic_bins(const Column& column, std::size_t count) {
  if (column.lo < 0) return {};
  const double end = column.hi + column.step;
  std::vector<double> edges;
  double from = column.lo;
  if (from == 0) {
    edges.push_back(0.0);
    from = column.step;
    count = std::max<std::size_t>(count, 2) - 1;
  }
  if (from >= end) return {column.lo, end};
  for (std::size_t i = 0; i < count; ++i)
    edges.push_back(from * std::pow(end / from, static_cast<double>(i) / static_cast<double>(count)));
  edges.push_back(end);
  // Bins without a value go.
  Column with = column;
  with.edges = edges;
  const Grid grid(with);
  std::vector<double> kept{edges.front()};
  for (std::uint32_t b = 0; b + 1 < edges.size(); ++b) {
    if (grid.first(b + 1) > grid.first(b)) kept.push_back(edges[b + 1]);
  }
  kept.back() = end;
  return kept;
}

}  // namespace muffle::schema
