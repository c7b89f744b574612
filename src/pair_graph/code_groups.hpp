// Merging a column's codes into groups that hold enough records against the noise of a table.
#pragma once

#include <cstdint>
#include <vector>

#include "whole_steps.hpp"

namespace muffle::pair_graph {

/// For each code its group, groups numbered from 0 in the order of their first codes.
using Groups = std::vector<std::uint32_t>;

/// Every code by itself.
Groups codes_themselves(std::size_t codes);
std::size_t group_count(const Groups& groups);

/// The smallest group is merged with the smaller of its neighbours until each holds `least` records, or is as
/// coarse as `within`; of equal ones the first.
/// @param counts  records of each code  @param within  codes of two of its groups are never merged
Groups merged_codes(const std::vector<Steps>& counts, const Steps& least, const Groups& within,
                    Comparisons& compare);

}  // namespace muffle::pair_graph
