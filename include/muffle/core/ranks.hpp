#pragma once

#include <span>
#include <vector>

namespace muffle {

/// Ranks of values from 0, ties by their mean; NaN where a value is missing (NaN).
std::vector<double> ranks(std::span<const double> values);
/// Spearman's: of ranks of two columns, of the rows that have both; 0 where one of them is constant or fewer
/// than two rows have both.
double rank_correlation(std::span<const double> one, std::span<const double> other);

}  // namespace muffle
