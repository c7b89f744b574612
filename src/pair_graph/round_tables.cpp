#include "round_tables.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "muffle/features/dyadic.hpp"

namespace muffle::pair_graph {
namespace {

/// A pair's table on these groups. Groups of one code each are left out.
features::CountTable table_of(const Candidate& pair, const Groups& first, const Groups& second) {
  const auto named = [](const Groups& groups) {
    return group_count(groups) == groups.size() ? Groups{} : groups;
  };
  return {{pair.first, pair.second}, {named(first), named(second)}, pair.weight};
}

}  // namespace

std::vector<Candidate> candidates(const features::CountTables& workload) {
  std::map<std::pair<std::size_t, std::size_t>, double> weight;
  for (const features::CountTable& table : workload.tables) {
    if (!(table.weight > 0)) continue;
    for (std::size_t a = 0; a < table.columns.size(); ++a) {
      for (std::size_t b = a + 1; b < table.columns.size(); ++b) {
        double& of = weight[{table.columns[a], table.columns[b]}];
        of = std::max(of, table.weight);
      }
    }
  }
  std::vector<Candidate> out;
  for (const auto& [pair, w] : weight) out.push_back({pair.first, pair.second, w});
  return out;
}

bool has_learned_bins(const features::CountTables& workload, std::size_t j) {
  return !workload.grid_cells.empty() && workload.grid_cells[j] > 0;
}

bool counts_all_pairs(const features::CountTables& workload, std::size_t round, std::size_t rounds) {
  return round + 1 < rounds || (workload.learns() && round == 1);
}

std::vector<features::CountTable> single_columns(const features::CountTables& workload) {
  std::map<std::size_t, double> weight;
  for (const features::CountTable& table : workload.tables) {
    if (!(table.weight > 0)) continue;
    for (const std::size_t j : table.columns) weight.try_emplace(j, 1.0);
  }
  std::vector<features::CountTable> out;
  for (const auto& [j, w] : weight) {
    const features::DyadicTree tree(has_learned_bins(workload, j) ? workload.grid_cells[j] : 1);
    if (tree.levels == 0) out.push_back({{j}, {}, w});
    for (std::size_t m = 1; m <= tree.levels; ++m) {
      Groups groups = tree.level(m, workload.codes[j]);
      if (m == tree.levels) groups.clear();  // every code by itself
      out.push_back({{j}, {}, w * features::tree_weight(tree.levels)});
      if (!groups.empty()) out.back().groups.push_back(std::move(groups));
    }
  }
  return out;
}

std::vector<features::CountTable> with_rows_counted(const features::CountTables& workload,
                                                    std::vector<features::CountTable> tables) {
  const auto squares = [](const std::vector<features::CountTable>& of) {
    double sum = 0;
    for (const features::CountTable& table : of) sum += table.weight * table.weight;
    return sum;
  };
  const auto stated = std::ranges::find_if(
      workload.tables, [&](const features::CountTable& table) { return workload.counts_rows(table); });
  if (stated == workload.tables.end()) return tables;
  std::erase_if(tables, [&](const features::CountTable& table) { return workload.counts_rows(table); });
  const double own = stated->weight * stated->weight, others = squares(workload.tables) - own;
  const double share = others > 0 ? own / others : features::CountTables::kRowsShare;
  tables.push_back({{*workload.row_number}, {}, features::CountTables::rows_weight(squares(tables), share)});
  return tables;
}

std::vector<Groups> bounds_of(const release::NoisyTables& so_far) {
  std::vector<Groups> out;
  for (const std::size_t k : so_far.codes) out.emplace_back(k, 0u);
  // A missing value is no neighbour of the largest number.
  for (std::size_t j = 0; j < so_far.grid_cells.size(); ++j) {
    if (so_far.grid_cells[j] > 0 && so_far.grid_cells[j] < so_far.codes[j]) out[j].back() = 1;
  }
  for (const release::NoisyTable& table : so_far.tables) {
    for (std::size_t k = 0; k < table.columns.size(); ++k) {
      if (table.columns.size() == 1) continue;
      Groups& bound = out[table.columns[k]];
      if (k >= table.groups.size() || table.groups[k].empty()) {
        bound = codes_themselves(bound.size());
        continue;
      }
      // The common refinement.
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> number;
      for (std::size_t x = 0; x < bound.size(); ++x)
        bound[x] =
            number.try_emplace({bound[x], table.groups[k][x]}, static_cast<std::uint32_t>(number.size()))
                .first->second;
    }
  }
  return out;
}

std::vector<features::CountTable> tables_on(const std::vector<Candidate>& pairs,
                                            const std::vector<Groups>& groups, bool more_than_one) {
  std::vector<features::CountTable> out;
  for (const Candidate& pair : pairs) {
    const Groups &first = groups[pair.first], &second = groups[pair.second];
    if (!more_than_one || std::min(group_count(first), group_count(second)) > 1)
      out.push_back(table_of(pair, first, second));
  }
  return out;
}

}  // namespace muffle::pair_graph
