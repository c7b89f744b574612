#include "muffle/features/pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "muffle/core/error.hpp"

namespace muffle::features {
namespace {

/// More than any double sum of kMostCountTables squares can be wrong by: units stay within the norm.
constexpr double kBelowRounding = 1.0 - 0x1p-32;
static_assert(kMostCountTables <= std::size_t{1} << 16);

std::int64_t unit_of(double share, const Lattice& lattice) {
  return static_cast<std::int64_t>(std::ldexp(share * kBelowRounding, lattice.bits));
}

}  // namespace

bool CountTables::learns() const {
  return std::ranges::any_of(grid_cells, [](std::size_t cells) { return cells > 0; });
}

double CountTables::rows_weight(double others, double share) {
  constexpr double kParts = 64.0;
  return others > 0 ? std::max(1.0, std::round(kParts * std::sqrt(share * others))) / kParts : 1.0;
}

double CountTables::sum_of_squares() const {
  double sum = 0.0;
  for (const CountTable& table : tables) sum += table.weight * table.weight;
  return sum;
}

std::size_t CountTable::size(std::size_t c, const std::vector<std::size_t>& codes) const {
  if (groups.empty() || groups[c].empty()) return codes[columns[c]];
  return std::size_t{1} + *std::ranges::max_element(groups[c]);
}

void CountTables::lay_out() {
  std::size_t next = 0;
  for (CountTable& table : tables) {
    table.first = next;
    table.cells = 1;
    for (std::size_t c = 0; c < table.columns.size(); ++c) table.cells *= table.size(c, codes);
    next += table.cells;
  }
}

void CountTables::place() {
  lay_out();
  const auto noise = [](const CountTable& t) { return static_cast<double>(t.cells) / (t.weight * t.weight); };
  const auto best = std::ranges::min_element(tables, {}, noise);
  std::rotate(tables.begin(), best, best + 1);
  lay_out();
}

std::int64_t CountTables::first_unit(const Lattice& lattice) const {
  return unit_of(tables.front().weight / std::sqrt(sum_of_squares()), lattice);
}

std::vector<std::int64_t> CountTables::units(const Lattice& lattice) const {
  const double root = std::sqrt(sum_of_squares());
  std::vector<std::int64_t> out;
  for (const CountTable& table : tables) {
    out.push_back(unit_of(table.weight / root, lattice));
    if (out.back() >= 1) continue;
    throw ConfigError(
        fmt::format("a lattice of {} bits is too coarse for {} tables of such weights: use more bits, fewer "
                    "tables, or weights that are nearer to one another",
                    lattice.bits, tables.size()));
  }
  return out;
}

}  // namespace muffle::features
