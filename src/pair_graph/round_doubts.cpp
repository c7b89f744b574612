// What another build may choose in a later round, and what none can.
#include <algorithm>
#include <utility>

#include "muffle/pair_graph/pair_rounds.hpp"
#include "round_tables.hpp"

namespace muffle::pair_graph {
namespace {

/// Groups as merged_codes() gives them: numbered in the order of their first codes, none across a bound.
bool are_within(const Groups& groups, const Groups& bound) {
  if (groups.size() != bound.size()) return false;
  std::vector<std::uint32_t> bound_of;  // of each group
  for (std::size_t x = 0; x < groups.size(); ++x) {
    if (groups[x] > bound_of.size()) return false;
    if (groups[x] == bound_of.size()) bound_of.push_back(bound[x]);
    if (bound_of[groups[x]] != bound[x]) return false;
  }
  return true;
}

bool has_columns(const features::CountTable& table, const Candidate& pair) {
  return table.columns == std::vector{pair.first, pair.second};
}

}  // namespace

bool Choice::steady() const {
  return !pairs_in_doubt &&
         std::find(columns_in_doubt.begin(), columns_in_doubt.end(), true) == columns_in_doubt.end();
}

std::vector<features::CountTable> settled_as(const std::vector<features::CountTable>& stated,
                                             const Choice& own, const features::CountTables& workload,
                                             const release::NoisyTables& so_far, std::size_t round,
                                             std::size_t rounds) {
  if (own.steady()) return own.tables;
  const std::vector<Groups> bounds = bounds_of(so_far);
  std::vector<Groups> groups = own.groups;
  for (std::size_t j = 0; j < groups.size(); ++j) {
    if (own.in_doubt(j)) groups[j] = bounds[j];  // where no table says: so coarse that none counts it
  }
  for (const features::CountTable& table : stated) {
    for (std::size_t k = 0; k < table.columns.size() && table.columns.size() == 2; ++k) {
      const std::size_t j = table.columns[k];
      const bool merged = !table.groups.empty() && !table.groups[k].empty();
      const Groups of = merged ? table.groups[k] : codes_themselves(groups[j].size());
      if (own.in_doubt(j) && are_within(of, bounds[j])) groups[j] = of;
    }
  }
  const bool all = counts_all_pairs(workload, round, rounds);
  std::vector<Candidate> pairs = candidates(workload);
  const std::vector<features::CountTable>& counted = own.pairs_in_doubt ? stated : own.tables;
  if (!all) {
    std::erase_if(pairs, [&](const Candidate& pair) {
      return std::none_of(counted.begin(), counted.end(),
                          [&](const features::CountTable& table) { return has_columns(table, pair); });
    });
  }
  std::vector<features::CountTable> out = tables_on(pairs, groups, all);
  return with_rows_counted(workload, out.empty() ? single_columns(workload) : std::move(out));
}

}  // namespace muffle::pair_graph
