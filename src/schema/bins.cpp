#include "bins.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "muffle/schema/table_text.hpp"

namespace muffle::schema {
namespace {

/// The column's grid, with these bins, or one.
Grid grid_with(Column column, std::vector<double> edges = {}) {
  column.edges = edges.empty() ? std::vector{column.lo, column.hi} : std::move(edges);
  return Grid(column);
}

/// An edge is the value that its bin begins with, to the last bit, or the one behind the last: the quotients
/// of decimals are rounded, and an edge beside its value would leave a bin without one.
/// @param firsts  of each bin, ascending, and count() at the end
std::vector<double> edges_at(const Column& column, const Grid& grid,
                             const std::vector<std::uint64_t>& firsts) {
  std::vector<double> edges;
  for (const std::uint64_t index : firsts) edges.push_back(grid.value(index));
  edges.front() = std::min(edges.front(), column.lo);
  return edges;
}

/// Of a number whose bins are learned: how many values each have a cell of their own, in how many equal parts
/// others are cut, and by which factor the cells grow with the distance from 0.
constexpr std::uint64_t kMostSingleValues = 256, kEqualParts = 128, kEqualPartsOfTime = 256;
constexpr std::uint64_t kFiveMinutes = 288;  // of a day: whole hours and their quarters begin cells
constexpr double kGrowth = 1.1;

/// Where cells begin that grow by a factor with the distance from a place, on either side; it has one of its
/// own.
void add_growing(double zero, double last, std::set<std::uint64_t>& firsts) {
  const auto add = [&](double at) {
    if (at > 0 && at <= last) firsts.insert(static_cast<std::uint64_t>(at));
  };
  add(zero);
  add(zero + 1);
  for (double apart = 1; apart <= std::max(std::fabs(zero), std::fabs(last - zero)); apart *= kGrowth) {
    add(zero + std::round(apart));
    add(zero - std::round(apart) + 1);
  }
}

/// Of a column that counts_days(): the day of the other date is cut as any difference is, and behind it are
/// whole days, which are cut so themselves.
std::vector<double> fine_bins_of_days(const Column& column) {
  Column days = column;
  days.apart.reset();
  days.lo = 0.0;
  days.step = kSecondsADay;
  days.decimals = 0;
  days.hi = std::floor(column.hi / kSecondsADay) * kSecondsADay;
  const std::vector<double> later = fine_bins(days);  // the first one is of one day
  Column within = column;
  within.hi = kSecondsADay - column.step;
  const Grid grid = grid_with(within);
  std::set<std::uint64_t> firsts{0};
  if (grid.count() <= kMostSingleValues) {
    for (std::uint64_t i = 1; i < grid.count(); ++i) firsts.insert(i);
  } else {
    add_growing(std::round(-column.lo / column.step), static_cast<double>(grid.count() - 1), firsts);
  }
  std::vector<double> edges;
  for (const std::uint64_t first : firsts) edges.push_back(grid.value(first));
  edges.insert(edges.end(), later.begin() + 1, later.end());
  return edges;
}

}  // namespace

std::vector<double> fine_bins(const Column& column) {
  if (column.counts_days()) return fine_bins_of_days(column);
  const Grid grid = grid_with(column);
  const std::uint64_t values = grid.count();
  if (values <= kMostSingleValues) return equal_bins(column, values);
  if (column.is_temporal() && !column.since)
    return equal_bins(column, column.type == ColumnType::kTime ? kFiveMinutes : kEqualPartsOfTime);
  std::set<std::uint64_t> firsts{0, 1, values - 1, values};
  for (std::uint64_t i = 1; i < kEqualParts; ++i)
    firsts.insert(static_cast<std::uint64_t>(static_cast<unsigned __int128>(i) * values / kEqualParts));
  // Zero's place among the values, where it is one of them or would be.
  add_growing(std::round(-column.lo / column.step), static_cast<double>(values - 1), firsts);
  return edges_at(column, grid, {firsts.begin(), firsts.end()});
}

std::vector<double> equal_bins(const Column& column, std::size_t count) {
  const Grid grid = grid_with(column);
  const std::uint64_t values = grid.count(), n = std::min<std::uint64_t>(count, values);
  std::vector<std::uint64_t> firsts;
  for (std::uint64_t i = 0; i <= n; ++i)
    firsts.push_back(static_cast<std::uint64_t>((static_cast<unsigned __int128>(i) * values + n - 1) / n));
  return edges_at(column, grid, firsts);
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
  if (from >= end) return equal_bins(column, 1);
  for (std::size_t i = 0; i < count; ++i)
    edges.push_back(from * std::pow(end / from, static_cast<double>(i) / static_cast<double>(count)));
  edges.push_back(end);
  const Grid grid = grid_with(column, edges);
  std::vector<std::uint64_t> firsts{0};
  for (std::uint32_t b = 1; b < edges.size(); ++b) {  // bins without a value go
    if (grid.first(b) > firsts.back()) firsts.push_back(grid.first(b));
  }
  return edges_at(column, grid, firsts);
}

}  // namespace muffle::schema
