#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "muffle/schema/table.hpp"

namespace muffle::schema {

/// Edges of `count` bins that hold equally many of the column's values, as nearly as can be: only bounds and
/// step of the column are looked at.
std::vector<double> equal_bins(const Column& column, std::size_t count);
/// Edges whose ratios are equal, from the bound lo > 0; of lo = 0 the first bin holds 0 alone. Bins without a
/// value are left out, so there may be fewer. Empty: lo is below 0.
std::vector<double> logarithmic_bins(const Column& column, std::size_t count);

}  // namespace muffle::schema
