#include "coarse_margins.hpp"

#include <cstdint>
#include <map>
#include <utility>

namespace muffle::pair_graph {
namespace {

using Eigen::Index;

void refine(Groups& groups, const std::vector<std::size_t>& by) {
  std::map<std::pair<std::uint32_t, std::size_t>, std::uint32_t> number;
  for (std::size_t x = 0; x < groups.size(); ++x)
    groups[x] =
        number.try_emplace({groups[x], by[x]}, static_cast<std::uint32_t>(number.size())).first->second;
}

/// Groups of the column's codes, as groups of the groups.
std::vector<std::size_t> of_groups(const std::vector<std::size_t>& of_codes, const Groups& groups) {
  std::vector<std::size_t> out(group_count(groups));
  for (std::size_t x = 0; x < groups.size(); ++x) out[groups[x]] = of_codes[x];
  return out;
}

}  // namespace

CoarseMargins on_counted_groups(Margins margins, const std::vector<std::size_t>& grid_cells) {
  CoarseMargins out{std::move(margins), std::vector<Groups>(grid_cells.size())};
  Margins& m = out.margins;
  for (std::size_t j = 0; j < grid_cells.size(); ++j) {
    if (grid_cells[j] == 0) continue;
    Groups& groups = out.groups[j];
    groups.assign(m.codes[j], 0u);
    if (grid_cells[j] < groups.size()) groups.back() = 1;
    for (const PairCounts& pair : m.pairs) {
      if (pair.first == j) refine(groups, pair.first_group);
      if (pair.second == j) refine(groups, pair.second_group);
    }
    for (PairCounts& pair : m.pairs) {
      if (pair.first == j) pair.first_group = of_groups(pair.first_group, groups);
      if (pair.second == j) pair.second_group = of_groups(pair.second_group, groups);
    }
    m.codes[j] = group_count(groups);
    for (auto& of_class : m.column) {
      Eigen::VectorXd sum = Eigen::VectorXd::Zero(static_cast<Index>(m.codes[j]));
      for (std::size_t x = 0; x < groups.size(); ++x)
        sum(static_cast<Index>(groups[x])) += of_class[j](static_cast<Index>(x));
      of_class[j] = std::move(sum);
    }
  }
  return out;
}

}  // namespace muffle::pair_graph
