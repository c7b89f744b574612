#include "muffle/release/noisy_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "muffle/core/error.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::release {
namespace {

bool counts_tables(const features::NamedMap& map) {
  return map.role == features::MapRole::kMatch && map.map->tables();
}

/// Of map b.
void add_tables(const Artifact& a, std::size_t b, NoisyTables& out) {
  const features::CountTables& all = a.maps[b].map->tables()->counted();
  const std::vector<std::int64_t> units = all.units(a.lattice);
  const double sigma = carried_sigma(a, a.aggregation, b, 0);
  const std::size_t features = a.features(b);
  for (std::size_t t = 0; t < all.tables.size(); ++t) {
    const features::CountTable& from = all.tables[t];
    const auto unit = static_cast<double>(units[t]);
    NoisyTable table{from.columns, from.groups, {}, {}, sigma / unit};
    for (std::size_t c = 0; c < from.columns.size(); ++c) table.sizes.push_back(from.size(c, all.codes));
    table.counts.reserve(out.classes * from.cells);
    for (std::size_t c = 0; c < out.classes; ++c) {
      const std::int64_t* const values = a.values.data() + a.offset(b) + c * features + from.first;
      for (std::size_t i = 0; i < from.cells; ++i)
        table.counts.push_back(static_cast<double>(values[i]) / unit);
    }
    out.tables.push_back(std::move(table));
  }
}

struct Estimate {
  double value = 0.0, sigma = 0.0;
};

/// The tables' totals, by inverse variance: every record is in one cell of each, noise is in all.
Estimate estimated_records(const NoisyTables& all) {
  double sum = 0.0, weights = 0.0;
  for (const NoisyTable& table : all.tables) {
    const double weight = 1.0 / (table.sigma * table.sigma * static_cast<double>(table.counts.size()));
    sum += weight * std::accumulate(table.counts.begin(), table.counts.end(), 0.0);
    weights += weight;
  }
  return {sum / weights, std::sqrt(1.0 / weights)};
}

}  // namespace

std::size_t NoisyTable::cells() const {
  return std::accumulate(sizes.begin(), sizes.end(), std::size_t{1}, std::multiplies<>());
}

std::vector<Combination> combinations_of(const schema::Table& table) {
  const std::vector<std::size_t> features = table.features();
  const auto number = [&](std::size_t column) {
    const auto at = std::ranges::find(features, column);
    return at == features.end() ? Combination::kLabel : static_cast<std::size_t>(at - features.begin());
  };
  std::vector<Combination> out;
  for (const schema::Constraint& rule : table.constraints) {
    if (rule.kind != schema::Constraint::Kind::kAmong) continue;
    const bool turned = number(rule.columns[0]) > number(rule.columns[1]);
    const std::size_t first = rule.columns[turned ? 1 : 0], second = rule.columns[turned ? 0 : 1];
    const schema::Column &a = table.columns[first], &b = table.columns[second];
    Combination& made =
        out.emplace_back(Combination{number(first), number(second), {a.codes(), b.codes()}, {}});
    made.allowed.assign(a.codes() * b.codes(), false);
    for (const schema::CodePair& pair : rule.allowed) {
      const auto [x, y] = turned ? schema::CodePair(pair.second, pair.first) : pair;
      made.allowed[x * b.codes() + y] = true;
    }
    for (std::size_t x = 0; x < a.codes(); ++x) {
      for (std::size_t y = 0; y < b.codes(); ++y) {
        if (x >= a.bins() || y >= b.bins()) made.allowed[x * b.codes() + y] = true;
      }
    }
  }
  return out;
}

std::vector<std::vector<double>> cell_values_of(const schema::Table& table) {
  std::vector<std::vector<double>> out;
  for (const std::size_t j : table.features()) {
    std::vector<double>& values = out.emplace_back();
    if (!table.columns[j].learned) continue;
    const schema::Grid grid(table.columns[j]);
    for (std::uint32_t b = 0; b < table.columns[j].bins(); ++b)
      values.push_back(static_cast<double>(grid.first(b + 1) - grid.first(b)));
  }
  return out;
}

NoisyTables without_row_number(NoisyTables tables) {
  if (!tables.row_number) return tables;
  const std::size_t gone = *std::exchange(tables.row_number, std::nullopt);
  const auto erase = [gone](auto& of_columns) {
    if (!of_columns.empty()) of_columns.erase(of_columns.begin() + static_cast<std::ptrdiff_t>(gone));
  };
  const auto renumber = [gone](std::size_t& column) {
    if (column != Combination::kLabel && column > gone) --column;
  };
  std::erase_if(tables.tables,
                [gone](const NoisyTable& table) { return std::ranges::count(table.columns, gone) > 0; });
  for (NoisyTable& table : tables.tables) std::ranges::for_each(table.columns, renumber);
  for (Combination& which : tables.combinations) {
    renumber(which.first);
    renumber(which.second);
  }
  erase(tables.codes);
  erase(tables.grid_cells);
  erase(tables.cell_values);
  return tables;
}

NoisyTables make_noisy_tables(const Artifact& a) {
  NoisyTables out;
  out.classes = a.classes();
  for (std::size_t b = 0; b < a.maps.size(); ++b) {
    if (!counts_tables(a.maps[b])) continue;
    check_map(a, b);
    out.codes = a.maps[b].map->tables()->counted().codes;
    out.grid_cells = a.maps[b].map->tables()->counted().grid_cells;
    out.row_number = a.maps[b].map->tables()->counted().row_number;
    add_tables(a, b, out);
  }
  if (a.schema.table) {
    out.combinations = combinations_of(*a.schema.table);
    out.cell_values = cell_values_of(*a.schema.table);
  }
  if (out.tables.empty())
    throw ConfigError(
        fmt::format("tables of counts are needed, and the release holds none. A release is made once: add a "
                    "section [map.NAME] with kind = {} before the next one.",
                    features::tables_maps()));
  // Records beyond a person's, and those that cannot be used, count as nothing, so of m public ones fewer may
  // be in the tables. m stands unless the totals say otherwise: noise alone does so once in 700 releases.
  const Estimate told = estimated_records(out);
  const auto most = static_cast<double>(a.records);
  out.records_known = a.adjacency == privacy::Adjacency::kReplaceOne && told.value > most - 3.0 * told.sigma;
  out.records = std::max(1.0, out.records_known ? most : told.value);
  return out;
}

}  // namespace muffle::release
