#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/features/dyadic.hpp"
#include "muffle/release/noisy_tables.hpp"

namespace muffle::release {

/// A release of one column's tree: all levels, two classes, a missing value if asked for, noise of a standard
/// deviation.
inline NoisyTables tree_release(const std::vector<double>& cells, double missing, bool may_miss, double sigma,
                                std::uint32_t seed) {
  const features::DyadicTree tree(cells.size());
  NoisyTables all;
  all.classes = 2;
  all.codes = {cells.size() + (may_miss ? 1 : 0)};
  all.grid_cells = {cells.size()};
  const CounterStream random(5, Stream::kTest, seed);
  std::uint64_t next = 0;
  for (std::size_t m = 1; m <= tree.levels; ++m) {
    NoisyTable table{{0}, {tree.level(m, all.codes[0])}, {}, {}, sigma};
    table.sizes = {*std::max_element(table.groups[0].begin(), table.groups[0].end()) + std::size_t{1}};
    table.counts.assign(2 * table.sizes[0], 0.0);
    for (std::size_t code = 0; code < all.codes[0]; ++code) {
      const double records = code < cells.size() ? cells[code] : missing;
      table.counts[table.groups[0][code]] += 0.25 * records;
      table.counts[table.sizes[0] + table.groups[0][code]] += 0.75 * records;
    }
    for (double& count : table.counts) count += sigma * random.normal(next++);
    all.tables.push_back(std::move(table));
  }
  all.records = missing + std::accumulate(cells.begin(), cells.end(), 0.0);
  return all;
}

inline std::vector<double> falling(std::size_t cells) {
  std::vector<double> out;
  for (std::size_t x = 0; x < cells; ++x)
    out.push_back(std::floor(3000 * std::exp(-static_cast<double>(x) / 9)));
  return out;
}

}  // namespace muffle::release
